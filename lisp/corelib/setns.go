package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// setNS is clojure.set: sets, and relations, which are sets of maps.
func setNS() []Def {
	return []Def{
		{Name: "union", Arglists: "([] [s1] [s1 s2] [s1 s2 & sets])", Doc: "The set of the elements of any of the sets.", N: union},
		{Name: "intersection", Arglists: "([s1] [s1 s2] [s1 s2 & sets])", Doc: "The set of the elements of all of the sets.", N: intersection, Min: 1},
		{Name: "difference", Arglists: "([s1] [s1 s2] [s1 s2 & sets])", Doc: "The first set without the elements of the others.", N: difference, Min: 1},
		{Name: "subset?", Arglists: "([set1 set2])", Doc: "Tells whether set2 has every element of set1.", F2: func(t *Thread, a, b Value) Value { return value.Bool(subset(t, a, b)) }},
		{Name: "superset?", Arglists: "([set1 set2])", Doc: "Tells whether set1 has every element of set2.", F2: func(t *Thread, a, b Value) Value { return value.Bool(subset(t, b, a)) }},
		{Name: "select", Arglists: "([pred xset])", Doc: "The set of the elements of which pred is true.", F2: selectSet},
		{Name: "project", Arglists: "([xrel ks])", Doc: "The relation with only the keys ks.", F2: project},
		{Name: "rename-keys", Arglists: "([map kmap])", Doc: "A map with the keys of kmap renamed to its values.", F2: renameKeys},
		{Name: "rename", Arglists: "([xrel kmap])", Doc: "A relation with the keys of kmap renamed to its values.", F2: renameRel},
		{Name: "index", Arglists: "([xrel ks])", Doc: "A map from each combination of values of ks to the set of the maps that have it.", F2: index},
		{Name: "join", Arglists: "([xrel yrel] [xrel yrel km])", Doc: "The natural join of two relations, or the join by the key pairs of km.", F2: joinRels, F3: joinBy},
		{Name: "map-invert", Arglists: "([m])", Doc: "The map from values to keys.", F1: mapInvert},
	}
}

// bySize puts the set with more elements first.
func bySize(t *Thread, a, b Value) (Value, Value) {
	if value.Count(t, a) < value.Count(t, b) {
		return b, a
	}
	return a, b
}

func union(t *Thread, sets []Value) Value {
	if len(sets) == 0 {
		return value.EmptySet
	}
	out := sets[0]
	for _, s := range sets[1:] {
		big, small := bySize(t, out, s)
		out = into2(t, big, small)
	}
	return out
}

func intersection(t *Thread, sets []Value) Value {
	out := sets[0]
	for _, s := range sets[1:] {
		big, small := bySize(t, out, s)
		out = small
		value.Each(t, small, func(x Value) bool {
			if !value.Contains(t, big, x) {
				out = value.Disj(t, out, x)
			}
			return true
		})
	}
	return out
}

func difference(t *Thread, sets []Value) Value {
	out := sets[0]
	for _, s := range sets[1:] {
		if value.Count(t, out) < value.Count(t, s) {
			from := out
			value.Each(t, from, func(x Value) bool {
				if value.Contains(t, s, x) {
					out = value.Disj(t, out, x)
				}
				return true
			})
			continue
		}
		value.Each(t, s, func(x Value) bool {
			out = value.Disj(t, out, x)
			return true
		})
	}
	return out
}

func subset(t *Thread, a, b Value) bool {
	if value.Count(t, a) > value.Count(t, b) {
		return false
	}
	all := true
	value.Each(t, a, func(x Value) bool {
		all = value.Contains(t, b, x)
		return all
	})
	return all
}

func selectSet(t *Thread, pred, s Value) Value {
	out := s
	value.Each(t, s, func(x Value) bool {
		if !t.Call1(pred, x).Truthy() {
			out = value.Disj(t, out, x)
		}
		return true
	})
	return out
}

// eachOf makes the set of f of each element.
func eachOf(t *Thread, rel Value, f func(m Value) Value) Value {
	b := newCollector(t, value.EmptySet)
	value.Each(t, rel, func(m Value) bool {
		b.add(f(m))
		return true
	})
	return withMetaOf(t, b.done(), rel)
}

func project(t *Thread, rel, ks Value) Value {
	return eachOf(t, rel, func(m Value) Value { return selectKeys(t, m, ks) })
}

func renameRel(t *Thread, rel, kmap Value) Value {
	return eachOf(t, rel, func(m Value) Value { return renameKeys(t, m, kmap) })
}

func renameKeys(t *Thread, m, kmap Value) Value {
	out := m
	eachPair(t, kmap, func(from, _ Value) { out = value.Dissoc(t, out, from) })
	eachPair(t, kmap, func(from, to Value) {
		if v, ok := value.Get(t, m, from); ok {
			out = value.Assoc(t, out, to, v)
		}
	})
	return out
}

func index(t *Thread, rel, ks Value) Value {
	out := newCollector(t, value.EmptyMap)
	value.Each(t, rel, func(m Value) bool {
		k := selectKeys(t, m, ks)
		s, ok := out.get(k)
		if !ok {
			s = value.EmptySet
		}
		out.put(k, value.Conj(t, s, m))
		return true
	})
	return out.done()
}

func joinRels(t *Thread, a, b Value) Value {
	if isEmpty(t, a) || isEmpty(t, b) {
		return value.EmptySet
	}
	ks := intersection(t, []Value{toSet(t, value.Keys(t, value.First(t, a))), toSet(t, value.Keys(t, value.First(t, b)))})
	if value.Count(t, a) > value.Count(t, b) {
		a, b = b, a
	}
	return merged(t, b, index(t, a, ks), func(m Value) Value { return selectKeys(t, m, ks) })
}

// joinBy joins where the values of the keys of km in the one are those of its values in the other. The smaller relation
// is indexed.
func joinBy(t *Thread, a, b, km Value) Value {
	if value.Count(t, a) > value.Count(t, b) {
		a, b = b, a
	} else {
		km = mapInvert(t, km)
	}
	return merged(t, b, index(t, a, value.Vals(t, km)), func(m Value) Value {
		return renameKeys(t, selectKeys(t, m, value.Keys(t, km)), km)
	})
}

// merged merges each map of rel with those that idx has under its key.
func merged(t *Thread, rel, idx Value, keyOf func(m Value) Value) Value {
	t.Push(1)[0] = idx
	out := newCollector(t, value.EmptySet)
	value.Each(t, rel, func(m Value) bool {
		found, _ := value.Get(t, idx, keyOf(m))
		value.Each(t, found, func(x Value) bool {
			out.add(value.Conj(t, x, m))
			return true
		})
		return true
	})
	set := out.done()
	t.Pop(1)
	return set
}

func mapInvert(t *Thread, m Value) Value {
	out := newCollector(t, value.EmptyMap)
	eachPair(t, m, func(k, v Value) { out.put(v, k) })
	return out.done()
}
