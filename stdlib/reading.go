package stdlib

import "sync"

// reading is a source that several threads may read, one item at a time. What can be had at once is; what must be waited
// for is read beside the thread, and if the thread is called away meanwhile, the item is for whoever reads next.
type reading[T any] struct {
	read  func() (T, error)
	ready func() bool // read would not wait

	mu      sync.Mutex // held to take or start a read, never while waiting
	pending *attempt[T]
}

type attempt[T any] struct {
	done chan struct{}
	item T
	err  error
}

func (r *reading[T]) next(t *Thread) (T, error) {
	for {
		p := r.begin()
		t.Await(p.done, -1)
		if r.take(p) {
			return p.item, p.err
		}
	}
}

// begin starts a read, or joins the one under way.
func (r *reading[T]) begin() *attempt[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		return r.pending
	}
	p := &attempt[T]{done: make(chan struct{})}
	run := func() {
		defer close(p.done)
		defer crashed(&p.err)
		p.item, p.err = r.read()
	}
	r.pending = p
	if r.ready() {
		run()
	} else {
		go run()
	}
	return p
}

// take tells whether the caller is the one who gets the item.
func (r *reading[T]) take(p *attempt[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != p {
		return false
	}
	r.pending = nil
	return true
}
