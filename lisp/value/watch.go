package value

// Watch counts what xs holds as alive until Unwatch. It is for Go code that gathers or walks values in a slice while it, or
// Lisp code that it calls, builds more: such a slice lies on no Lisp stack, where a measurement would see it. Watches nest,
// and Unwind ends those that a panic left. What it gives names the watch for Rewatch.
func (t *Thread) Watch(xs []Value) (at int) {
	if len(t.watched) == cap(t.watched) {
		old := t.watched
		t.watched = append(make([][]Value, 0, max(2*len(old), 8)), old...)
		clear(old) // it may be part of t, and would hold what it held
	}
	t.watched = append(t.watched, xs)
	return len(t.watched) - 1
}

// Rewatch watches xs instead, under the same name: a slice that has grown lies elsewhere.
func (t *Thread) Rewatch(at int, xs []Value) { t.watched[at] = xs }

// Unwatch ends the last Watch.
func (t *Thread) Unwatch() { t.unwatch(len(t.watched) - 1) }

func (t *Thread) unwatch(n int) {
	clear(t.watched[n:])
	t.watched = t.watched[:n]
}
