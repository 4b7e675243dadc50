package value

// Eduction is a collection behind a transducer: its elements are computed each time they are asked for. How, the library
// of transducers knows: it makes the function of no arguments that gives them as a lazy seq.
type Eduction struct {
	Header
	XF, Coll Value
	seq      func(*Thread) Value
}

// NewEduction makes an eduction. seq gives its elements as a seq.
func NewEduction(t *Thread, xf, coll Value, seq func(*Thread) Value) Value {
	t.Charge(2 * cellBytes)
	return Of(&Eduction{Header: Head(KindEduction), XF: xf, Coll: coll, seq: seq})
}

// seqOther gives a seq of what is seqable without being a collection or string.
func seqOther(t *Thread, v Value) Value {
	switch v.Kind() {
	case KindArray:
		t.Charge(cellBytes)
		return NewArraySeq(As[Array](v).Copy(t))
	case KindEduction:
		return Seq(t, As[Eduction](v).seq(t))
	}
	panic(notSeqable(t, "seq", v))
}
