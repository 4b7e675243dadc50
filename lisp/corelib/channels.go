package corelib

import (
	"sync"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/value"
)

// channels holds Joker's channels and go. As in that dialect, and other than in core.async, a go block is a thread of its
// own, <! and >! are plain functions that may stand anywhere, and an exception in a go block is thrown where its result
// is taken. Whoever waits at a channel stops waiting when the evaluation ends. An isolate has futures, which end with it.
func channels() []Def {
	defs := []Def{
		{Name: "chan", F0: func(t *Thread) Value { return newChannel(t, 0) }, F1: chanOf, Arglists: "([] [n])", Doc: "A channel that holds up to n values that nobody has taken yet; none without n. close! closes it."},
		{Name: "<!", F1: chanTake, Arglists: "([ch])", Doc: "Takes the next value of the channel, waiting for one; nil when it is closed and empty. Throws what a go block threw."},
		{Name: ">!", F2: chanPut, Arglists: "([ch val])", Doc: "Gives the channel a value, which is not nil, waiting until there is room or somebody takes it: true; false when it is closed."},
		{Name: "poll!", F1: chanPoll, Arglists: "([ch])", Doc: "As <!, but does not wait: nil when there is nothing to take at once."},
		{Name: "offer!", F2: chanOffer, Arglists: "([ch val])", Doc: "As >!, but does not wait: false when there is no room and nobody who takes at once."},
		hostMacro("go", 0, many, "([& body])", "Evaluates body on another thread. Gives a channel that gets the value, if it is not nil, and is then closed; what body throws is thrown by <!.", macGo),
		{Name: "go*", F1: goCall, Arglists: "([f])", Doc: "What go expands to: calls f on another thread and gives a channel of the result."},
	}
	for i := range defs {
		defs[i].Host = true
	}
	return defs
}

// channel is a queue with those who wait at it: takers while it is empty, putters while it is full.
type channel struct {
	mu      sync.Mutex
	room    int
	held    []message
	takers  []*waiting
	putters []*waiting
	closed  bool
}

// message is a value, or an exception to throw where it is taken.
type message struct {
	v  Value
	ex *value.Exception
}

// waiting is one who waits for a message to take, or for one to be taken.
type waiting struct {
	message
	ok   bool          // it happened; false: the channel was closed
	done chan struct{} // closed when the waiting is over
}

func newChannel(t *Thread, room int) Value {
	t.Charge(256)
	return value.NewHost("channel", &channel{room: room})
}

func chanOf(t *Thread, n Value) Value {
	if !n.IsInt() {
		panic(value.TypeError(t, "chan", n, "a number of values, 0 or more"))
	}
	if n.Int() < 0 {
		panic(value.ArgError("chan: got %d, want 0 or more: the buffer size must be non-negative", n.Int()))
	}
	return newChannel(t, int(n.Int()))
}

func channelOf(t *Thread, who string, v Value) *channel {
	c, ok := value.HostOf[*channel](v)
	if !ok {
		panic(value.TypeError(t, who, v, "a channel"))
	}
	return c
}

func chanTake(t *Thread, ch Value) Value {
	m, _ := channelOf(t, "<!", ch).take(t)
	if m.ex != nil {
		panic(m.ex)
	}
	return m.v
}

func chanPoll(t *Thread, ch Value) Value {
	c := channelOf(t, "poll!", ch)
	c.mu.Lock()
	var m message
	if len(c.held) > 0 || len(c.putters) > 0 {
		m = c.next()
	}
	c.mu.Unlock()
	if m.ex != nil {
		panic(m.ex)
	}
	return m.v
}

func chanPut(t *Thread, ch, v Value) Value {
	c := channelOf(t, ">!", ch)
	return value.Bool(c.put(t, messageOf(">!", v)))
}

func chanOffer(t *Thread, ch, v Value) Value {
	c := channelOf(t, "offer!", ch)
	m := messageOf("offer!", v)
	c.mu.Lock()
	taken, _ := c.offer(m)
	c.mu.Unlock()
	return value.Bool(taken)
}

func messageOf(who string, v Value) message {
	if v.IsNil() {
		panic(value.ArgError("%s: got nil, want a value that is not (Can't put nil on channel): nil is what <! gives of a closed one", who))
	}
	return message{v: v}
}

// offer gives m to whoever waits for it, or keeps it; neither when the channel is closed or has no room. The lock is held.
func (c *channel) offer(m message) (taken, closed bool) {
	switch {
	case c.closed:
		return false, true
	case len(c.takers) > 0:
		w := c.takers[0]
		c.takers = c.takers[1:]
		w.end(m, true)
		return true, false
	case len(c.held) < c.room:
		c.held = append(c.held, m)
		return true, false
	}
	return false, false
}

// put is offer, but waits for room; false when the channel is closed.
func (c *channel) put(t *Thread, m message) bool {
	c.mu.Lock()
	if taken, closed := c.offer(m); taken || closed {
		c.mu.Unlock()
		return taken
	}
	w := &waiting{message: m, done: make(chan struct{})}
	c.putters = append(c.putters, w)
	c.mu.Unlock()
	c.await(t, w, &c.putters)
	return w.ok
}

// take gives the next message, or waits for it; false when the channel is closed and empty.
func (c *channel) take(t *Thread) (message, bool) {
	c.mu.Lock()
	if len(c.held) > 0 || len(c.putters) > 0 {
		m := c.next()
		c.mu.Unlock()
		return m, true
	}
	if c.closed {
		c.mu.Unlock()
		return message{}, false
	}
	w := &waiting{done: make(chan struct{})}
	c.takers = append(c.takers, w)
	c.mu.Unlock()
	c.await(t, w, &c.takers)
	return w.message, w.ok
}

// next takes the oldest message and lets the putter that waits longest go on. c.mu is held.
func (c *channel) next() message {
	var m message
	if len(c.held) > 0 {
		m = c.held[0]
		c.held[0] = message{}
		c.held = c.held[1:]
		if len(c.putters) == 0 {
			return m
		}
	}
	w := c.putters[0]
	c.putters = c.putters[1:]
	if c.room > 0 {
		c.held = append(c.held, w.message)
	} else {
		m = w.message
	}
	w.end(w.message, true)
	return m
}

func (w *waiting) end(m message, ok bool) {
	w.message, w.ok = m, ok
	close(w.done)
}

// await waits at the channel; one whose evaluation ends meanwhile leaves the queue.
func (c *channel) await(t *Thread, w *waiting, queue *[]*waiting) {
	over := false
	defer func() {
		if over {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range *queue {
			if x == w {
				*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
				return
			}
		}
	}()
	t.Await(w.done, -1)
	over = true
}

// Close implements io.Closer, for close!: nothing more can be put, what is held can still be taken.
func (c *channel) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	for _, w := range append(c.takers, c.putters...) {
		w.end(message{}, false)
	}
	c.takers, c.putters = nil, nil
	return nil
}

func macGo(t *value.Thread, _, _ value.Value, body []value.Value) value.Value {
	return formOf(t, fnGo, formThunk(t, body))
}

// goCall calls f on a thread that ends with the environment.
func goCall(t *Thread, f Value) Value {
	ch := newChannel(t, 1)
	c := channelOf(t, "go", ch)
	run := &value.Builtin{Name: "go", F0: func(t *Thread) Value {
		defer func() { _ = c.Close() }() // for a limit and a defect as well
		m := called(t, f)
		if m.ex != nil || !m.v.IsNil() {
			c.put(t, m)
		}
		return value.Nil
	}}
	value.NewFuture(t, value.Of(value.NewBuiltin(coreName+"/go", run)))
	return ch
}

// called gives the value of (f), or what it threw.
func called(t *Thread, f Value) (m message) {
	mark := t.Mark()
	defer func() {
		if t.Unwinding() {
			return
		}
		if r := recover(); r != nil {
			m.ex = compile.Caught(t, r)
			t.Unwind(mark)
		}
	}()
	return message{v: t.Call(f)}
}
