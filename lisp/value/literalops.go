package value

import "cmp"

func equalLiteral(t *Thread, a, b Value) bool {
	switch a.Kind() {
	case KindUUID:
		x, y := As[UUID](a), As[UUID](b)
		return x.Hi == y.Hi && x.Lo == y.Lo
	case KindInst:
		x, y := As[Inst](a), As[Inst](b)
		return x.Millis == y.Millis && x.Nanos == y.Nanos
	case KindTaggedLiteral:
		x, y := As[TaggedLiteral](a), As[TaggedLiteral](b)
		t.Enter()
		defer t.Leave()
		return Equal(t, x.Tag, y.Tag) && Equal(t, x.Form, y.Form)
	}
	x, y := As[ReaderConditional](a), As[ReaderConditional](b)
	t.Enter()
	defer t.Leave()
	return x.Splicing == y.Splicing && Equal(t, x.Form, y.Form)
}

func hashLiteral(t *Thread, v Value) uint64 {
	switch v.Kind() {
	case KindUUID:
		return mix(As[UUID](v).Hi*31 + As[UUID](v).Lo)
	case KindInst:
		i := As[Inst](v)
		return mix(uint64(i.Millis) ^ 'i'<<56 ^ uint64(i.Nanos)<<36)
	}
	t.Enter()
	defer t.Leave()
	if v.Kind() == KindTaggedLiteral {
		return mix(Hash(t, As[TaggedLiteral](v).Tag)*31 + Hash(t, As[TaggedLiteral](v).Form))
	}
	return mix(Hash(t, As[ReaderConditional](v).Form) + '?')
}

// compareLiteral orders UUIDs as the JVM does, by signed halves, and instants by time.
func compareLiteral(a, b Value) int {
	if a.Kind() == KindInst {
		x, y := As[Inst](a), As[Inst](b)
		return cmp.Or(cmp.Compare(x.Millis, y.Millis), cmp.Compare(x.Nanos, y.Nanos))
	}
	x, y := As[UUID](a), As[UUID](b)
	if c := cmp.Compare(int64(x.Hi), int64(y.Hi)); c != 0 {
		return c
	}
	return cmp.Compare(int64(x.Lo), int64(y.Lo))
}
