package value

// smallStack and smallCalls are what a thread has from the start, in slots and frames.
const smallStack, smallCalls = 16, 4

// firstSegment and lastSegment are the sizes of the segments that come after, in slots: each is twice the one before.
const firstSegment, lastSegment = 64, 1 << 15

// Push reserves n slots, all nil, for a frame. They stay where they are until Pop.
func (t *Thread) Push(n int) []Value {
	sp := t.sp
	end := sp + n
	if end > len(t.stack) {
		return t.grow(n)
	}
	f := t.stack[sp:end:end]
	if end > t.high {
		t.high = end
	}
	t.sp = end
	return f
}

// Pop gives the n slots of the last Push back.
func (t *Thread) Pop(n int) {
	t.sp -= n
	if t.sp == 0 && len(t.segs) > 0 {
		t.shrink()
	}
}

// grow starts a new segment: frames never move, so slices of them stay valid.
func (t *Thread) grow(n int) []Value {
	next := t.spare // a call at the end of a segment that is made again and again must not allocate each time
	if len(next) < n {
		size := max(min(max(2*len(t.stack), firstSegment), lastSegment), n)
		t.Charge(size * valueBytes)
		next = make([]Value, size)
	}
	t.segs = append(t.segs, segment{t.stack, t.sp, t.high})
	t.stack, t.spare = next, nil
	t.sp, t.high = n, n
	return t.stack[:n:n]
}

// shrink goes back to the segment before. The one it leaves is emptied and kept for the next grow.
func (t *Thread) shrink() {
	last := len(t.segs) - 1
	s := t.segs[last]
	t.segs = t.segs[:last]
	clear(t.stack[:t.high])
	t.spare = t.stack
	t.stack, t.sp, t.high = s.stack, s.sp, s.high
}

// Mark is a point to unwind to.
type Mark struct {
	depth, sp, segs, calls, watched int
	pinned                          int64
	binds                           *Bindings
	pos                             *Pos
}

// Mark remembers where the thread is, for Unwind after a recovered panic.
func (t *Thread) Mark() Mark {
	return Mark{t.depth, t.sp, len(t.segs), len(t.calls), len(t.watched), t.pinned, t.Binds, t.Pos}
}

// Unwind takes the thread back to m.
func (t *Thread) Unwind(m Mark) {
	for len(t.segs) > m.segs {
		t.shrink()
	}
	t.depth, t.sp, t.pinned, t.Binds, t.Pos = m.depth, m.sp, m.pinned, m.binds, m.pos
	t.calls = t.calls[:m.calls]
	t.unwatch(m.watched)
}

// EnterCall opens a frame of n slots for a call of c: it charges the step and the depth, and notes the call for stack
// traces. LeaveCall closes it. This is the hot path of every call.
func (t *Thread) EnterCall(c *Code, n int) []Value {
	t.fuel--
	if t.fuel < 0 {
		t.refuel(1)
	}
	t.depth += c.Cost
	if t.depth > t.limit {
		t.tooDeep()
	}
	t.calls = append(t.calls, Frame{c, t.Pos})
	return t.Push(n)
}

// LeaveCall closes the frame of EnterCall.
func (t *Thread) LeaveCall(c *Code, n int) {
	t.depth -= c.Cost
	t.calls = t.calls[:len(t.calls)-1]
	t.Pop(n)
}

// Trace copies the Lisp stack, innermost first, at most max frames.
func (t *Thread) Trace(max int) []Frame {
	n := len(t.calls)
	out := make([]Frame, 0, min(n, max)+1)
	pos := t.Pos
	for i := n - 1; i >= 0 && len(out) < max; i-- {
		out = append(out, Frame{t.calls[i].Code, pos})
		pos = t.calls[i].Pos
	}
	return append(out, Frame{nil, pos})
}

// Holding runs f while v lies on the thread's stack, where the measurement of live bytes sees it. It is for Go code that
// keeps a lazy seq while it, or code it calls, realises it.
func (t *Thread) Holding(v Value, f func()) {
	t.Push(1)[0] = v
	f()
	t.Pop(1)
}
