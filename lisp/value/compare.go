package value

import (
	"cmp"
	"strings"
)

// Compare is compare: negative, zero or positive as a comes before, with or after b. nil is before everything; numbers
// compare across their kinds, vectors by length first; other values only with their like.
func Compare(t *Thread, a, b Value) int {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == KindInt && kb == KindInt:
		return cmp.Compare(a.Int(), b.Int())
	case a == b && ka != KindFloat && hasOrder(ka):
		return 0
	case ka == KindNil:
		return -1
	case kb == KindNil:
		return 1
	case ka.IsNumber() && kb.IsNumber():
		return NumCompare(t, a, b)
	case ka.IsVector() && kb.IsVector():
		return compareVectors(t, vectorOf(a), vectorOf(b))
	case ka != kb:
		panic(Errorf("ClassCastException", "compare: got %s (%s) and %s (%s), want two of a kind", Brief(t, a), ka, Brief(t, b), kb))
	}
	return compareAlike(t, a, b)
}

func hasOrder(k Kind) bool {
	return k <= KindKeyword || k.IsVector() || k == KindUUID || k == KindInst
}

func compareAlike(t *Thread, a, b Value) int {
	switch a.Kind() {
	case KindString:
		x, y := a.Text(), b.Text()
		t.Steps(min(len(x), len(y)) >> 6)
		return strings.Compare(x, y)
	case KindKeyword:
		x, y := As[Keyword](a), As[Keyword](b)
		return compareNames(x.NS, x.Name, y.NS, y.Name)
	case KindSymbol:
		x, y := As[Symbol](a), As[Symbol](b)
		return compareNames(x.NS, x.Name, y.NS, y.Name)
	case KindChar:
		return int(a.Char()) - int(b.Char())
	case KindBool:
		if a.Truthy() == b.Truthy() {
			return 0
		}
		if b.Truthy() {
			return -1
		}
		return 1
	case KindUUID, KindInst:
		return compareLiteral(a, b)
	}
	panic(TypeError(t, "compare", a, "something with an order: a number, string, keyword, symbol, char, boolean or vector"))
}

func compareNames(ns1, name1, ns2, name2 string) int {
	if c := strings.Compare(ns1, ns2); c != 0 {
		return c
	}
	return strings.Compare(name1, name2)
}

func compareVectors(t *Thread, a, b *Vector) int {
	if c := cmp.Compare(a.count, b.count); c != 0 {
		return c
	}
	t.Enter()
	defer t.Leave()
	for i := range a.Len() {
		t.Step()
		if c := Compare(t, a.Nth(i), b.Nth(i)); c != 0 {
			return c
		}
	}
	return 0
}

// SortStable sorts xs in place; elements of which neither is less stay in order. Every comparison is a step.
func SortStable(t *Thread, xs []Value, less func(a, b Value) bool) {
	if len(xs) < 2 {
		return
	}
	t.Charge(len(xs) * valueBytes)
	t.Pin(len(xs) * valueBytes)
	mergeSort(t, xs, make([]Value, len(xs)), less)
	t.Unpin(len(xs) * valueBytes)
}

const runLength = 8 // shorter stretches are sorted by insertion

func mergeSort(t *Thread, xs, buf []Value, less func(a, b Value) bool) {
	if len(xs) <= runLength {
		insertionSort(t, xs, less)
		return
	}
	m := len(xs) / 2
	mergeSort(t, xs[:m], buf[:m], less)
	mergeSort(t, xs[m:], buf[m:], less)
	t.Step()
	if !less(xs[m], xs[m-1]) {
		return
	}
	copy(buf, xs[:m])
	i, j, k := 0, m, 0
	for i < m && j < len(xs) {
		t.Step()
		if less(xs[j], buf[i]) {
			xs[k] = xs[j]
			j++
		} else {
			xs[k] = buf[i]
			i++
		}
		k++
	}
	copy(xs[k:], buf[i:m])
}

func insertionSort(t *Thread, xs []Value, less func(a, b Value) bool) {
	for i := 1; i < len(xs); i++ {
		x := xs[i]
		j := i
		for ; j > 0; j-- {
			t.Step()
			if !less(x, xs[j-1]) {
				break
			}
			xs[j] = xs[j-1]
		}
		xs[j] = x
	}
}
