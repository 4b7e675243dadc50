package value

import (
	"context"
	"sync"
	"sync/atomic"
)

// ownContext is the context of one evaluation: it ends with its parent, with a limit, and with the evaluation. Most
// evaluations call nothing that waits for it, so the context of the standard library that does this is made when somebody
// first asks for Done: deriving another one does.
type ownContext struct {
	context.Context // the parent

	mu   sync.Mutex
	over bool
	made atomic.Pointer[madeContext]
}

type madeContext struct {
	context.Context
	cancel context.CancelFunc
}

// Done makes the real context.
func (c *ownContext) Done() <-chan struct{} {
	if m := c.made.Load(); m != nil {
		return m.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.made.Load()
	if m == nil {
		ctx, cancel := context.WithCancel(c.Context)
		if c.over {
			cancel()
		}
		m = &madeContext{ctx, cancel}
		c.made.Store(m)
	}
	return m.Done()
}

// Err is that of the real context, or what it would be.
func (c *ownContext) Err() error {
	if m := c.made.Load(); m != nil {
		return m.Err()
	}
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over {
		return context.Canceled
	}
	return c.Context.Err()
}

// Value finds the real context too, which is how the standard library attaches to it what is derived from c.
func (c *ownContext) Value(key any) any {
	if m := c.made.Load(); m != nil {
		return m.Value(key)
	}
	return c.Context.Value(key)
}

// end cancels c.
func (c *ownContext) end() {
	c.mu.Lock()
	c.over = true
	m := c.made.Load()
	c.mu.Unlock()
	if m != nil {
		m.cancel()
	}
}
