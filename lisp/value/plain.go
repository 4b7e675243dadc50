package value

// IsPlain tells whether v is known to be plain data through and through: safe to hand to another environment.
func IsPlain(v Value) bool {
	return v.Kind().IsColl() && v.header().flags.Load()&flagPlain != 0
}

// MarkPlain notes that v, just made and not yet shared, is plain data through and through.
func MarkPlain(v Value) Value {
	if v.Kind().IsColl() && v.Kind() != KindEmptyList {
		h := v.header()
		h.flags.Store(h.flags.Load() | flagPlain)
	}
	return v
}
