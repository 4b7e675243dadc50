package oci

import (
	"fmt"
	"hash/fnv"
	"sort"
)

// plan divides packages into at most n layers, so that a small change moves few bytes: what is large has a layer of its
// own, the rest shares layers by name, and neither depends on versions. The order of layers is that of their names, and
// the result does not depend on that of the packages.
func plan(packages []Package, n int) [][]Package {
	all := append([]Package{}, packages...)
	sort.Slice(all, func(i, j int) bool { return before(all[i], all[j]) })
	if len(all) <= n {
		out := make([][]Package, len(all))
		for i, p := range all {
			out[i] = []Package{p}
		}
		return out
	}
	shared := max(1, 2*n/5) // of one third to a half of n, all move about as much
	large := append([]Package{}, all...)
	sort.SliceStable(large, func(i, j int) bool { return large[i].Size > large[j].Size })
	alone := map[string]bool{}
	for _, p := range large[:n-shared] {
		alone[p.Label+"\x00"+p.Key] = true
	}
	var out [][]Package
	var rest []Package
	for _, p := range all {
		if alone[p.Label+"\x00"+p.Key] {
			out = append(out, []Package{p})
		} else {
			rest = append(rest, p)
		}
	}
	for _, b := range share(rest, shared) {
		if len(b) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// share divides into n buckets of as many packages, by their names: each goes where it scores highest of where there is
// room, so that one more or one less leaves most of the others where they are.
func share(packages []Package, n int) [][]Package {
	room := (len(packages) + n - 1) / n
	in := make([]int, n)
	to := map[string]int{}
	order := append([]Package{}, packages...)
	sort.SliceStable(order, func(i, j int) bool { return score(order[i].Name, n) < score(order[j].Name, n) })
	for _, p := range order {
		best := -1
		for b := range n {
			if in[b] < room && (best < 0 || score(p.Name, b) > score(p.Name, best)) {
				best = b
			}
		}
		in[best]++
		to[p.Label+"\x00"+p.Key] = best
	}
	out := make([][]Package, n)
	for _, p := range packages {
		b := to[p.Label+"\x00"+p.Key]
		out[b] = append(out[b], p)
	}
	return out
}

func score(name string, bucket int) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", name, bucket)
	return mix(h.Sum32())
}

// mix spreads what differs in the last letters only: it is the end of murmur3.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

func before(a, b Package) bool {
	if a.Name != b.Name {
		return a.Name < b.Name
	}
	if a.Label != b.Label {
		return a.Label < b.Label
	}
	return a.Key < b.Key
}
