package oci

import (
	"fmt"
	"slices"
	"testing"
)

// manyPackages are sized as closures are: a few large, many small.
func manyPackages(n int) []Package {
	var out []Package
	for i := range n {
		out = append(out, Package{Name: fmt.Sprintf("p%03d", i), Label: fmt.Sprintf("p%03d-1", i), Key: fmt.Sprint(i), Size: int64(200<<20) / int64((i+1)*(i+1))})
	}
	return out
}

// Layers are as many as allowed, hold each package once, and do not depend on the order of the packages.
func TestPlan(t *testing.T) {
	all := manyPackages(134)
	first := plan(all, 60)
	slices.Reverse(all)
	if again := plan(all, 60); fmt.Sprint(labelsOf(first)) != fmt.Sprint(labelsOf(again)) {
		t.Error("another order gave other layers")
	}
	seen := map[string]int{}
	for _, l := range first {
		for _, p := range l {
			seen[p.Label]++
		}
	}
	if len(first) > 60 || len(seen) != 134 {
		t.Errorf("got %d layers with %d packages, want at most 60 with 134", len(first), len(seen))
	}
}

// A new version of one package, any one, moves at most a tenth more than what changed, by the bytes of all of them.
func TestPlanMovesLittle(t *testing.T) {
	all := manyPackages(134)
	had := map[string]bool{}
	for _, l := range plan(all, 60) {
		had[layerKey(l, nil)] = true
	}
	var least, moved int64
	for i := range all {
		next := slices.Clone(all)
		next[i].Label, next[i].Key = next[i].Name+"-2", next[i].Key+"'"
		least += next[i].Size
		for _, l := range plan(next, 60) {
			if had[layerKey(l, nil)] {
				continue
			}
			for _, p := range l {
				moved += p.Size
			}
		}
	}
	t.Logf("moved %.3f times the least", float64(moved)/float64(least))
	if float64(moved) > 1.1*float64(least) {
		t.Errorf("moved %d bytes, want at most 1.1 times %d", moved, least)
	}
}

func labelsOf(layers [][]Package) (out [][]string) {
	for _, l := range layers {
		var names []string
		for _, p := range l {
			names = append(names, p.Label)
		}
		out = append(out, names)
	}
	return out
}

// One package more, or one less, leaves most layers as they are.
func TestPlanStays(t *testing.T) {
	all := manyPackages(134)
	had := map[string]bool{}
	for _, l := range plan(all, 60) {
		had[layerKey(l, nil)] = true
	}
	stay := func(next []Package) (n int) {
		for _, l := range plan(next, 60) {
			if had[layerKey(l, nil)] {
				n++
			}
		}
		return n
	}
	least := 60
	for i := range 40 {
		more := append(slices.Clone(all), Package{Name: fmt.Sprint("new", i), Label: "new-1", Key: "new", Size: 1000})
		less := slices.Delete(slices.Clone(all), 133-i, 134-i)
		least = min(least, stay(more), stay(less))
	}
	if least < 45 {
		t.Errorf("got %d layers that stay, want 45 of 60", least)
	}
}
