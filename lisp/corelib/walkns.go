package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// walkNS is clojure.walk: functions that go through nested collections.
func walkNS() []Def {
	return []Def{
		{Name: "walk", Arglists: "([inner outer form])", Doc: "A collection of the same sort with inner of each element, handed to outer.", F3: walk},
		{Name: "postwalk", Arglists: "([f form])", Doc: "form with each part replaced by f of it, inner parts first.", F2: postwalk},
		{Name: "prewalk", Arglists: "([f form])", Doc: "form with each part replaced by f of it, outer parts first.", F2: prewalk},
		{Name: "postwalk-replace", Arglists: "([smap form])", Doc: "form with the parts that are keys of smap replaced by their values, inner parts first.",
			F2: func(t *Thread, smap, form Value) Value { return postwalk(t, substituting(t, smap), form) }},
		{Name: "prewalk-replace", Arglists: "([smap form])", Doc: "form with the parts that are keys of smap replaced by their values, outer parts first.",
			F2: func(t *Thread, smap, form Value) Value { return prewalk(t, substituting(t, smap), form) }},
		{Name: "postwalk-demo", Arglists: "([form])", Doc: "Prints each part of form as postwalk comes to it.",
			F1: func(t *Thread, form Value) Value { return postwalk(t, showing(t), form) }},
		{Name: "prewalk-demo", Arglists: "([form])", Doc: "Prints each part of form as prewalk comes to it.",
			F1: func(t *Thread, form Value) Value { return prewalk(t, showing(t), form) }},
		{Name: "keywordize-keys", Arglists: "([m])", Doc: "m with the keys of all maps that are strings made keywords.", F1: keywordizeKeys},
		{Name: "stringify-keys", Arglists: "([m])", Doc: "m with the keys of all maps that are keywords made strings.", F1: stringifyKeys},
		{Name: "macroexpand-all", Arglists: "([form])", Doc: "form with all macro calls in it expanded.", F1: macroexpandAll},
	}
}

// showing is the function of the demos: it prints what it gets.
func showing(t *Thread) Value {
	c := &closure{name: "walk-demo", f1: func(t *Thread, x Value) Value {
		show(t, []Value{value.Str("Walked: ")}, false, "")
		show(t, []Value{x}, true, "\n")
		return x
	}}
	return c.make(t)
}

// rebuilt makes a collection of the sort of form with f of each element; what is no collection stays as it is.
func rebuilt(t *Thread, form Value, f func(x Value) Value) Value {
	switch k := form.Kind(); {
	case k == value.KindList || k == value.KindEmptyList:
		return withMetaOf(t, value.NewList(t, mapped(t, form, f)...), form)
	case k == value.KindMapEntry:
		e := value.As[value.MapEntry](form)
		t.Charge(48)
		kv := t.Push(2)
		kv[0], kv[1] = f(e.Key()), e.Val()
		entry := value.NewMapEntry(kv[0], f(kv[1]))
		t.Pop(2)
		return entry
	case k.IsSeq():
		return withMetaOf(t, orElse(value.NewArraySeq(mapped(t, form, f)), value.EmptyList), form)
	case k == value.KindRecord:
		return value.Reduce(t, func(out, e Value) Value { return value.Conj(t, out, f(e)) }, form, form)
	case k.IsColl():
		b := newCollector(t, value.Empty(t, form))
		value.Each(t, form, func(x Value) bool {
			b.add(f(x))
			return true
		})
		return b.done()
	}
	return form
}

func mapped(t *Thread, coll Value, f func(x Value) Value) []Value {
	xs := value.ToSlice(t, coll)
	t.Watch(xs)
	for i, x := range xs {
		xs[i] = f(x)
	}
	t.Unwatch()
	return xs
}

func walk(t *Thread, inner, outer, form Value) Value {
	return t.Call1(outer, rebuilt(t, form, func(x Value) Value { return t.Call1(inner, x) }))
}

func postwalk(t *Thread, f, form Value) Value {
	t.Step()
	t.Enter()
	out := t.Call1(f, rebuilt(t, form, func(x Value) Value { return postwalk(t, f, x) }))
	t.Leave()
	return out
}

func prewalk(t *Thread, f, form Value) Value {
	t.Step()
	t.Enter()
	out := rebuilt(t, t.Call1(f, form), func(x Value) Value { return prewalk(t, f, x) })
	t.Leave()
	return out
}

func substituting(t *Thread, smap Value) Value {
	c := &closure{name: "replace", f1: func(t *Thread, x Value) Value {
		if value.Contains(t, smap, x) {
			return get2(t, smap, x)
		}
		return x
	}}
	return c.make(t, smap)
}

func keywordizeKeys(t *Thread, m Value) Value {
	return walkKeys(t, m, func(k Value) Value {
		if k.Kind() != value.KindString {
			return k
		}
		t.Charge(64 + len(k.Text()))
		return value.Of(value.NewKeyword(value.OwnName(t, k.Text())))
	})
}

func stringifyKeys(t *Thread, m Value) Value {
	return walkKeys(t, m, func(k Value) Value {
		if k.Kind() != value.KindKeyword {
			return k
		}
		name := value.As[value.Keyword](k).Name
		t.Charge(48 + len(name))
		return value.Str(name)
	})
}

// walkKeys replaces the keys of all maps.
func walkKeys(t *Thread, m Value, f func(k Value) Value) Value {
	t.Step()
	t.Enter()
	out := rebuilt(t, m, func(x Value) Value { return walkKeys(t, x, f) })
	t.Leave()
	if !out.Kind().IsMap() {
		return out
	}
	b := newCollector(t, value.EmptyMap)
	value.EachKV(t, out, func(k, v Value) bool {
		b.put(f(k), v)
		return true
	})
	return b.done()
}

func macroexpandAll(t *Thread, form Value) Value {
	if form.Kind().IsSeq() && t.Env.Macroexpand != nil {
		form = t.Env.Macroexpand(t, form)
	}
	t.Step()
	t.Enter()
	out := rebuilt(t, form, func(x Value) Value { return macroexpandAll(t, x) })
	t.Leave()
	return out
}
