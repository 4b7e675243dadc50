package value

// SeqFrom gives coll without its first n elements as a seq, at once; false where that needs a walk.
func SeqFrom(t *Thread, coll Value, n int64) (Value, bool) {
	if n <= 0 {
		return Nil, false
	}
	switch coll.Kind() {
	case KindVector, KindVecSeq, KindArraySeq, KindRange:
	default:
		return Nil, false
	}
	if n >= int64(Count(t, coll)) {
		return Nil, true
	}
	t.Charge(cellBytes)
	switch coll.Kind() {
	case KindVector:
		return newVecSeq(As[Vector](coll), int(n)), true
	case KindVecSeq:
		s := As[VecSeq](coll)
		return newVecSeq(s.v, s.at+int(n)), true
	case KindArraySeq:
		return NewArraySeq(As[ArraySeq](coll).xs[n:]), true
	}
	return As[Range](coll).from(n), true
}
