package oci

import (
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
	shared := max(1, n/3)
	large := all
	large = append([]Package{}, large...)
	sort.SliceStable(large, func(i, j int) bool { return large[i].Size > large[j].Size })
	alone := map[string]bool{}
	for _, p := range large[:n-shared] {
		alone[p.Label+"\x00"+p.Key] = true
	}
	var out [][]Package
	buckets := make([][]Package, shared)
	for _, p := range all {
		if alone[p.Label+"\x00"+p.Key] {
			out = append(out, []Package{p})
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(p.Name))
		b := h.Sum32() % uint32(shared)
		buckets[b] = append(buckets[b], p)
	}
	for _, b := range buckets {
		if len(b) > 0 {
			out = append(out, b)
		}
	}
	return out
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
