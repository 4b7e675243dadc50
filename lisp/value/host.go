package value

// Host is a Go value that Lisp code passes around without looking inside: a writer, a reader, a handle. Lisp code of
// an isolate never meets one.
type Host struct {
	Header
	Name string // what it is, for printing and messages
	X    any
}

// NewHost wraps x.
func NewHost(name string, x any) Value { return Of(&Host{Header: Head(KindHost), Name: name, X: x}) }

// HostOf gives the Go value behind v if it is a host object that holds a T.
func HostOf[T any](v Value) (T, bool) {
	var none T
	if v.Kind() != KindHost {
		return none, false
	}
	x, ok := As[Host](v).X.(T)
	return x, ok
}
