package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/oci"
)

// layersOfImages is how many layers an image has at most.
const layersOfImages = 60

// planSource gives the paths of the closure to a builder without their files: only how they are divided is looked at.
type planSource struct {
	all    []storePath
	layers *[][]storePath
}

// Realise implements oci.Source.
func (s planSource) Realise(context.Context, *oci.Spec, func(string)) (*oci.Closure, error) {
	c := &oci.Closure{}
	for _, p := range s.all {
		c.Packages = append(c.Packages, oci.Package{Name: p.short(), Label: p.name, Key: p.path(), Size: int64(p.kib) << 10,
			Files: func(context.Context, func(oci.File) error) error {
				last := len(*s.layers) - 1
				(*s.layers)[last] = append((*s.layers)[last], p)
				return nil
			}})
	}
	return c, nil
}

// layers gives how zeno divides the closure.
func layers(all []storePath) ([][]storePath, error) {
	var out [][]storePath
	b := &oci.Builder{Nix: planSource{all, &out}, Progress: func(text string) {
		if strings.Contains(text, "reading") { // the next layer begins
			out = append(out, nil)
		}
	}}
	built, err := b.Build(context.Background(), oci.Spec{Name: "agent", Packages: agentPackages, Layers: layersOfImages})
	if err != nil {
		return nil, err
	}
	built.Close()
	return out, nil
}

// popular divides as dockerTools does: what most others need has a layer of its own, the rest shares one.
func popular(all []storePath) ([][]storePath, error) {
	need := map[string]int{}
	for _, p := range all {
		for _, q := range below(all, p.short()) {
			need[q.short()]++
		}
	}
	sorted := slices.SortedFunc(slices.Values(all), func(p, q storePath) int {
		if d := need[q.short()] - need[p.short()]; d != 0 {
			return d
		}
		return strings.Compare(p.name, q.name)
	})
	var out [][]storePath
	for _, p := range sorted[:layersOfImages-2] { // one more is for links and accounts
		out = append(out, []storePath{p})
	}
	return append(out, sorted[layersOfImages-2:]), nil
}

// change is what becomes new with one path.
type change func(all []storePath, p storePath) map[string]bool

// alone: a package of Debian.
func alone(_ []storePath, p storePath) map[string]bool { return map[string]bool{p.short(): true} }

// withAbove: a path of nix, whose name is part of all that needs it.
func withAbove(all []storePath) change {
	above := map[string]map[string]bool{}
	for _, q := range all {
		for _, r := range below(all, q.short()) {
			if above[r.short()] == nil {
				above[r.short()] = map[string]bool{}
			}
			above[r.short()][q.short()] = true
		}
	}
	return func(_ []storePath, p storePath) map[string]bool { return above[p.short()] }
}

// name tells layers apart.
func name(l []storePath) string {
	var b strings.Builder
	for _, p := range l {
		fmt.Fprintf(&b, "%s %d\n", p.name, p.rev)
	}
	return b.String()
}

// moved gives the bytes of layers that are new after a change of each path in turn, beside the bytes of what changed, less
// than which no image moves.
func moved(all []storePath, divide func([]storePath) ([][]storePath, error), changed change) (float64, error) {
	had := map[string]bool{}
	before, err := divide(all)
	if err != nil {
		return 0, err
	}
	for _, l := range before {
		had[name(l)] = true
	}
	var sum, least int
	for _, p := range all {
		new := changed(all, p)
		next := slices.Clone(all)
		for i := range next {
			if new[next[i].short()] {
				next[i].rev++
				least += next[i].kib
			}
		}
		after, err := divide(next)
		if err != nil {
			return 0, err
		}
		for _, l := range after {
			if had[name(l)] {
				continue
			}
			for _, q := range l {
				sum += q.kib
			}
		}
	}
	return float64(sum) / float64(least), nil
}

// moves measures how much an update moves.
func moves() ([]measured, error) {
	all, err := closure()
	if err != nil {
		return nil, err
	}
	out := []measured{
		{fmt.Sprintf("bytes moved at %d layers after a new version of a path, any one, beside those that are new", layersOfImages), 0, 1.1, "x"},
		{"the same, layers by popularity as dockerTools", 0, 0, "x"},
		{"the same, where nothing above the path is new with it (Debian packages)", 0, 0, "x"},
		{"the same, layers by popularity as dockerTools", 0, 0, "x"},
	}
	above := withAbove(all)
	for i, m := range []struct {
		divide  func([]storePath) ([][]storePath, error)
		changed change
	}{{layers, above}, {popular, above}, {layers, alone}, {popular, alone}} {
		if out[i].value, err = moved(all, m.divide, m.changed); err != nil {
			return nil, err
		}
	}
	return append(out, measured{"the least that any division reaches there", best(all, layersOfImages-1), 0, "x"}), nil
}

// best is what the best division into n layers moves beside the least when one path changes: of paths by size, neighbours
// share a layer.
func best(all []storePath, n int) float64 {
	sizes := []int{}
	total := 0
	for _, p := range all {
		sizes = append(sizes, p.kib)
		total += p.kib
	}
	slices.Sort(sizes)
	sums := make([]int, len(sizes)+1)
	for i, s := range sizes {
		sums[i+1] = sums[i] + s
	}
	const never = 1 << 60
	cost := slices.Repeat([]int{never}, len(sums)) // of the first i in as many layers as there were turns
	cost[0] = 0
	for range n {
		next := slices.Repeat([]int{never}, len(sums))
		for j := 1; j < len(sums); j++ {
			for i := range j {
				if cost[i] < never {
					next[j] = min(next[j], cost[i]+(j-i)*(sums[j]-sums[i]))
				}
			}
		}
		cost = next
	}
	return float64(cost[len(cost)-1]) / float64(total)
}
