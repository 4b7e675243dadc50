package value

// Weight is how many bytes the number, regex or matcher v holds besides its cell; 0 for any other value. The count of what
// is alive adds it.
func Weight(v Value) int {
	switch v.Kind() {
	case KindBigInt:
		return 24 + 8*words(As[BigInt](v).X)
	case KindRatio:
		r := As[Ratio](v).X
		return 72 + 8*(words(r.Num())+words(r.Denom()))
	case KindBigDec:
		return 24 + 8*words(As[BigDec](v).Unscaled)
	case KindRegex:
		r := As[Regex](v)
		return 512 + len(r.Source) + len(r.Go) + 192*r.Size
	case KindMatcher:
		m := As[Matcher](v)
		return len(m.Text) + 16*m.Re.Groups + 96
	}
	return 0
}
