package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

func (s *Server) sorted() []*hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*hook
	for _, n := range slices.Sorted(maps.Keys(s.hooks)) {
		out = append(out, s.hooks[n])
	}
	return out
}

func (s *Server) find(name string) (*hook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hooks[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("webhook: got %q, want one of %v", name, slices.Sorted(maps.Keys(s.hooks)))
}

// Run has deliveries handled from now on, those first that an earlier process has accepted.
func (s *Server) Run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	for _, h := range s.hooks {
		s.begin(h)
	}
}

// begin starts the worker of h, once. It is called with mu held.
func (s *Server) begin(h *hook) {
	if !s.running || s.closed || h.started {
		return
	}
	h.started = true
	s.workers.Go(h.work)
}

// Wake has what ErrLater put off looked at again.
func (s *Server) Wake() {
	for _, h := range s.sorted() {
		h.kick()
	}
}

func (h *hook) kick() {
	select {
	case h.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// work handles what waits, one at a time.
func (h *hook) work() {
	for {
		for h.s.ctx.Err() == nil && h.next() {
		}
		select {
		case <-h.s.ctx.Done():
			return
		case <-h.wake:
		}
	}
}

// next handles the oldest, and tells whether to go on.
func (h *hook) next() bool {
	h.mu.Lock()
	if len(h.spool.files) == 0 || h.def.Path == "" {
		h.mu.Unlock()
		return false
	}
	file, def := h.spool.files[0], h.def
	d, err := h.spool.read(file)
	h.busy = file
	h.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("the file of the delivery does not read: %w", err)
	} else {
		err = h.handle(def, d)
	}
	return h.settle(file, d, err)
}

func (h *hook) handle(def Hook, d Delivery) (err error) {
	ctx, cancel := context.WithTimeoutCause(h.s.ctx, def.Timeout, fmt.Errorf("webhook %s: got no end within %s, want one (:timeout sets it)", def.Name, def.Timeout))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			h.s.conf.Log.Error("webhook: a handler panicked", "hook", def.Name, "reason", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return def.Handle(ctx, d)
}

// settle notes how it went. What a Stop cut short stays where it is.
func (h *hook) settle(file string, d Delivery, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy = ""
	switch {
	case errors.Is(err, ErrLater), err != nil && h.s.ctx.Err() != nil:
		return false
	case err == nil:
		h.handled++
		err = h.spool.remove(file)
	default:
		h.failures++
		h.s.conf.Report(h.def.Name, d, err)
		err = h.spool.fail(file, d, err.Error())
	}
	if err != nil { // the disk does not do what it is told: try again when something else happens
		h.s.conf.Log.Error("webhook: failed to note the end of a delivery", "hook", h.def.Name, "error", err)
		h.s.conf.Report(h.def.Name, d, err)
		return false
	}
	return true
}

// Busy tells whether a delivery is being handled.
func (s *Server) Busy() bool {
	for _, h := range s.sorted() {
		h.mu.Lock()
		busy := h.busy != ""
		h.mu.Unlock()
		if busy {
			return true
		}
	}
	return false
}
