package value

// regexSource gives the pattern of a regex, as written.
func regexSource(v Value) string { return As[Regex](v).Source }

// recordName gives ns.Name of a record.
func recordName(v Value) string { return v.Kind().String() }

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

// delay prints a delay, which printing does not force.
func (p *Printer) delay(t *Thread, d *Delay) {
	v, ok := d.Peek()
	p.cell(t, "Delay", ok, v)
}
