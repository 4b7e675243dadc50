package value

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// measureEvery says how much is built, as a part of the limit, between two measurements of an evaluation that is close to
// its limit; it can pass the limit by twice as much before that is seen.
const measureEvery = 4

// measureFull is the same part once the limit is passed: what an agent keeps from one evaluation to the next may do so,
// and then it gets just enough to let go of it.
const measureFull = 64

// bytesPerStep is how many bytes are measured for the price of one step.
const bytesPerStep = 64

// liveMeter bounds what is kept alive. It adds up what is built and, when that could have reached the limit, marks what
// the environment's definitions and the stacks of all threads of the evaluation can still reach. An isolate has one for its whole life, since its
// definitions last; elsewhere each run has its own.
type liveMeter struct {
	mu    sync.Mutex
	known int64 // alive at the last measurement
	since int64 // built since
}

var epochs atomic.Uint32 // numbers the measurements, so that marks of one are not taken for another's

// meter is the meter that t's building counts for.
func (t *Thread) meter() *liveMeter {
	if t.Env != nil && t.Env.Isolate {
		return &t.Env.live
	}
	return &t.Run.live
}

// unbuilt takes back what add was told of and was not built after all.
func (l *liveMeter) unbuilt(n int64) {
	l.mu.Lock()
	l.since = max(l.since-n, 0)
	l.mu.Unlock()
}

// slack is how much may be built before the next measurement.
func (l *liveMeter) slack(most int64) int64 {
	if l.known > most {
		return most / measureFull
	}
	return max(most-l.known, most/measureEvery)
}

// add counts n bytes that t is about to build, and measures when they could reach the limit.
func (l *liveMeter) add(t *Thread, n int64) {
	if t.Limits.Bytes >= limit.Unlimited {
		return
	}
	t.asked = n // it will be there soon: whoever measures before it is counts it
	t.wanted()
	switch due, overdue := l.count(t, n); {
	case overdue:
		l.measureInTurn(t)
	case due:
		t.due = true
	}
	t.asked = 0
}

// Settle is called where all that Lisp code works with lies on its stack: at the start of a function and of a turn of a
// loop. It measures what is alive when that is due. Where memory is charged for is no place to do so, unless no better
// one comes: arguments whose last use is a call of Go code are in the hands of that code, and nowhere else.
func (t *Thread) Settle() {
	if t.due {
		t.settle()
	}
}

func (t *Thread) settle() {
	t.due, t.asks = false, 0
	t.pause()
	l := t.meter()
	if due, _ := l.count(t, 0); due {
		l.measureInTurn(t)
	}
}

// measureInTurn measures unless another thread has done so meanwhile.
func (l *liveMeter) measureInTurn(t *Thread) {
	t.Park()
	t.Run.crew.turn.Lock()
	t.Unpark()
	defer t.Run.crew.turn.Unlock()
	if due, _ := l.count(t, 0); due {
		l.measure(t)
	}
}

// count adds n to what is built and tells whether it is time to measure, and whether it is high time.
func (l *liveMeter) count(t *Thread, n int64) (due, overdue bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since += n
	slack := l.slack(t.Limits.Bytes)
	return l.since >= slack, l.since >= 2*slack
}

// measure finds what is alive while every other thread of t's evaluation stands still. The caller has the crew's turn.
func (l *liveMeter) measure(t *Thread) {
	m := &Marker{t: t, epoch: epochs.Add(1) << 8, max: t.Limits.Bytes}
	var away []*Thread
	var free func()
	m.still, away, free = t.Run.crew.others(t)
	func() {
		defer free()
		m.roots()
	}()
	for _, x := range away {
		m.total += x.held.Load()
	}
	l.mu.Lock()
	l.known, l.since = m.total, 0
	l.mu.Unlock()
	t.fuel -= m.total / bytesPerStep // measuring is work that the evaluation caused
	if m.total > t.Limits.Bytes {
		t.trip(limit.Bytes, t.Limits.Bytes, m.total)
	}
}

// Trim forgets the definitions of an isolate that hold half as much again as t may keep alive, and tells whether it did.
// An agent that passes the limit is told so and has until then to let go of something.
func (e *Env) Trim(t *Thread) bool {
	l, most := &e.live, t.Limits.Bytes+t.Limits.Bytes/2
	if t.Limits.Bytes >= limit.Unlimited {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known <= most {
		return false
	}
	m := &Marker{t: t, epoch: epochs.Add(1) << 8, max: most}
	m.roots()
	t.fuel -= m.total / bytesPerStep
	l.known, l.since = m.total, 0
	if m.total <= most {
		return false
	}
	for _, n := range e.Namespaces() {
		for _, v := range n.Vars() {
			if !v.Sealed {
				n.Unmap(v.Name)
			}
		}
	}
	e.State.Clear()
	l.known = 0
	return true
}

// Lend counts n bytes, which may be less than 0, of what the evaluation's functions gave to code of the host.
func (t *Thread) Lend(n int64) { t.Run.lent.Add(n) }

// Pin counts n bytes that a Go builder holds outside the Lisp stack, until Unpin.
func (t *Thread) Pin(n int) { t.pinned += int64(n) }

// Unpin undoes Pin.
func (t *Thread) Unpin(n int) { t.pinned -= int64(n) }

// Pinned is what is pinned now: 0 when no builder is under way, or the limit of live bytes is off by it.
func (t *Thread) Pinned() int64 { return t.pinned }

// Marker adds up what is reachable. Structure that is shared within one environment counts once.
type Marker struct {
	t          *Thread
	still      []*Thread // other threads of the evaluation, which stand still
	epoch      uint32
	total, max int64
	work       []Value
}

func (m *Marker) roots() {
	t := m.t
	for _, n := range t.Env.Namespaces() {
		n.Each(func(v *Var) {
			m.total += 128
			if !v.Sealed {
				m.Value(Of(v))
			}
		})
	}
	m.state(t.Env)
	m.drain()
	m.total += t.Run.lent.Load()
	for _, x := range m.still {
		m.thread(x)
	}
	m.thread(t)
}

// thread marks what x has on its stack, and adds what its builders hold. What several threads hold counts once.
func (m *Marker) thread(x *Thread) {
	before := m.total
	for _, s := range x.segs {
		m.Slots(s.stack[:s.sp])
	}
	m.Slots(x.stack[:x.sp])
	m.Slots(x.roots)
	for _, xs := range x.watched {
		m.Slots(xs)
	}
	x.Binds.Mark(m)
	x.tx.mark(m)
	m.drain()
	m.total += x.pinned + x.asked
	x.held.Store(m.total - before)
}

// stands tells whether the thread x may be looked at: it is the one that measures, or stands still.
func (m *Marker) stands(x *Thread) bool { return x == m.t || slices.Contains(m.still, x) }

func (m *Marker) drain() {
	for len(m.work) > 0 && m.total <= m.max {
		v := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		m.object(v)
	}
}

// Value adds v to what is reachable.
func (m *Marker) Value(v Value) {
	if v.IsNil() || v.Kind() <= KindFloat || v.Kind() == KindChar {
		return
	}
	h := v.header()
	if h.flags.Load()&^0xff == m.epoch {
		return
	}
	h.mark(m.epoch)
	m.work = append(m.work, v)
}

func (h *Header) mark(epoch uint32) {
	for {
		old := h.flags.Load()
		if h.flags.CompareAndSwap(old, old&0xff|epoch) {
			return
		}
	}
}

// Slots adds each of vs.
func (m *Marker) Slots(vs []Value) {
	for _, v := range vs {
		m.Value(v)
	}
}

// Bytes adds n bytes.
func (m *Marker) Bytes(n int) { m.total += int64(n) }

// Seen tells whether a part with this mark was met before in this measurement, and marks it. Inner nodes of collections,
// which have no Header, use it.
func (m *Marker) Seen(mark *atomic.Uint32) bool { return mark.Swap(m.epoch) == m.epoch }
