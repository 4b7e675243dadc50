package value

// Identical tells whether a and b are one value. Keywords of one name are.
func Identical(a, b Value) bool {
	return a == b || a.Kind() == KindKeyword && b.Kind() == KindKeyword && As[Keyword](a).Same(As[Keyword](b))
}

// Equal is =: collections are equal by their elements, whatever they are made of; numbers within their category.
func Equal(t *Thread, a, b Value) bool {
	ka, kb := a.Kind(), b.Kind()
	if a == b {
		return ka != KindFloat || a.Float() == a.Float()
	}
	switch {
	case ka == KindNil || kb == KindNil:
		return false
	case ka.IsNumber():
		return kb.IsNumber() && NumEqual(t, a, b)
	case ka.IsSequential():
		return (kb.IsSequential() || kb == KindEduction) && equalSequential(t, a, b)
	case ka == KindEduction: // equal to what holds its elements, but to no other eduction
		return kb.IsSequential() && equalSequential(t, a, b)
	case ka == KindRecord || kb == KindRecord:
		return ka == kb && equalRecord(t, As[Record](a), As[Record](b))
	case ka.IsMap():
		return kb.IsMap() && equalMap(t, a, b)
	case ka.IsSet():
		return kb.IsSet() && equalSet(t, a, b)
	case ka != kb:
		return false
	}
	return equalScalar(t, a, b)
}

// equalScalar compares two values of one kind that have no elements.
func equalScalar(t *Thread, a, b Value) bool {
	switch a.Kind() {
	case KindString:
		x, y := a.Text(), b.Text()
		t.Steps(min(len(x), len(y)) >> 6)
		return x == y
	case KindSymbol:
		return As[Symbol](a).Same(As[Symbol](b))
	case KindKeyword:
		return As[Keyword](a).Same(As[Keyword](b))
	case KindUUID, KindInst, KindTaggedLiteral, KindReaderConditional:
		return equalLiteral(t, a, b)
	}
	return false
}

func equalSequential(t *Thread, a, b Value) bool {
	if a.Kind() == KindVector && b.Kind() == KindVector {
		x, y := As[Vector](a), As[Vector](b)
		if x.count != y.count {
			return false
		}
		if x.root == y.root && x.tail == y.tail {
			return true
		}
	} else if Counted(a) && Counted(b) && Count(t, a) != Count(t, b) {
		return false
	}
	t.Enter()
	defer t.Leave()
	i, j := NewIter(a), NewIter(b)
	for {
		x, more := i.Next(t)
		y, too := j.Next(t)
		if !more || !too {
			return more == too
		}
		if x != y || x.IsFloat() {
			if !Equal(t, x, y) {
				return false
			}
		}
	}
}

// equalMap compares two maps that are no records: every entry of one is in the other. The one that is looked into is
// not sorted if that can be helped, since a comparator may refuse a key.
func equalMap(t *Thread, a, b Value) bool {
	if mapLen(a) != mapLen(b) {
		return false
	}
	if a.Kind() == KindHashMap && b.Kind() == KindHashMap && As[HashMap](a).root == As[HashMap](b).root {
		return true
	}
	if b.Kind() == KindSortedMap {
		a, b = b, a
	}
	t.Enter()
	defer t.Leave()
	same := true
	EachKV(t, a, func(k, v Value) bool {
		_, w, ok := mapGet(t, b, k)
		same = ok && Equal(t, v, w)
		return same
	})
	return same
}

func equalSet(t *Thread, a, b Value) bool {
	if setLen(a) != setLen(b) {
		return false
	}
	if a.Kind() == KindHashSet && b.Kind() == KindHashSet && As[HashSet](a).root == As[HashSet](b).root {
		return true
	}
	if b.Kind() == KindSortedSet {
		a, b = b, a
	}
	t.Enter()
	defer t.Leave()
	same := true
	Each(t, a, func(x Value) bool {
		_, same = setGet(t, b, x)
		return same
	})
	return same
}

func equalRecord(t *Thread, a, b *Record) bool {
	if a.typ != b.typ {
		return false
	}
	t.Enter()
	defer t.Leave()
	for i := range a.vals {
		t.Step()
		if !Equal(t, a.vals[i], b.vals[i]) {
			return false
		}
	}
	return Equal(t, a.ext, b.ext)
}
