package journal

import "sync"

// hub hands events to those who watch.
type hub struct {
	mu   sync.Mutex
	subs map[int]func(Event)
	next int
}

func (h *hub) watch(f func(Event)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[int]func(Event){}
	}
	id := h.next
	h.next++
	h.subs[id] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, id)
	}
}

func (h *hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.subs {
		f(e)
	}
}
