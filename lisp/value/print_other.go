package value

// regexSource gives the pattern of a regex, as written.
func regexSource(v Value) string { return As[Regex](v).Source }

// recordName gives ns.Name of a record.
func recordName(v Value) string { return As[Record](v).typ.FullName() }

// briefBits is the size of the largest number that Brief writes out.
const briefBits = 256

// tooBig tells whether writing a number out would take long.
func tooBig(v Value) bool {
	switch v.Kind() {
	case KindBigInt:
		return As[BigInt](v).X.BitLen() > briefBits
	case KindRatio:
		r := As[Ratio](v).X
		return r.Num().BitLen() > briefBits || r.Denom().BitLen() > briefBits
	case KindBigDec:
		d := As[BigDec](v)
		return d.Unscaled.BitLen() > briefBits || d.Scale > briefBits || d.Scale < -briefBits
	}
	return false
}

// held gives what a reference holds, without computing anything; ready is false while there is nothing.
func (p *Printer) held(v Value) (name string, val Value, ready, ok bool) {
	switch v.Kind() {
	case KindAtom:
		return "Atom", As[Atom](v).Get(), true, true
	case KindVolatile:
		return "Volatile", As[Volatile](v).Get(), true, true
	case KindRef:
		return "Ref", *As[Ref](v).p.Load(), true, true
	case KindAgent:
		return "Agent", As[Agent](v).Get(), true, true
	case KindReduced:
		return "Reduced", Unreduced(v), true, true
	case KindDelay:
		val, ready = As[Delay](v).Peek()
		return "Delay", val, ready, true
	case KindPromise:
		val, ready = As[Promise](v).Peek()
		return "Promise", val, ready, true
	case KindFuture:
		val, ready = As[Future](v).Peek()
		return "Future", val, ready, true
	}
	return "", Nil, false, false
}

// genericName gives the name of a multimethod; a protocol's method has none of its own.
func genericName(v Value) string {
	if m, ok := As[Generic](v).Impl.(*MultiFn); ok {
		return joinName(m.NS, m.Name)
	}
	return v.Kind().String()
}

// textFrom gives what the method toString of v gives, which must be a string: were it anything, it might be v again.
func textFrom(t *Thread, method, v Value) string {
	t.Enter()
	s := t.Call1(method, v)
	t.Leave()
	if s.Kind() != KindString {
		panic(TypeError(t, "toString", s, "a string"))
	}
	return s.Text()
}
