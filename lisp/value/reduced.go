package value

// Reduced marks the result of a reducing function as final.
type Reduced struct {
	Header
	V Value
}

// NewReduced marks v as the end of a reduction.
func NewReduced(v Value) Value { return Of(&Reduced{Header: Head(KindReduced), V: v}) }

// IsReduced tells whether v ends a reduction.
func IsReduced(v Value) bool { return v.Kind() == KindReduced }

// Unreduced takes the mark off, if there is one.
func Unreduced(v Value) Value {
	if v.Kind() == KindReduced {
		return As[Reduced](v).V
	}
	return v
}
