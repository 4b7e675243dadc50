package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// watchQueue bounds the events that wait for a slow watching function; more are dropped, and that is logged.
const watchQueue = 10_000

// watchGrace is how long a cancelled watching function may take to end.
const watchGrace = time.Second

// watch is a function of the program that is called with every event.
type watch struct {
	core  *Core
	f     value.Value
	queue chan journal.Event
	done  chan struct{} // closed when the function has seen its last event
	stop  func()        // takes no more events; does not wait
}

// watchKey marks the context that a watching function runs under, with its watch.
type watchKey struct{}

// watch is zeno.journal/watch!.
func (c *Core) watch(t *value.Thread, f value.Value) (value.Value, error) {
	j, ok := journal.As[journal.Watcher](c.journal)
	if !ok {
		return value.Nil, errors.New("this journal cannot be watched")
	}
	w := &watch{core: c, f: f, queue: make(chan journal.Event, watchQueue), done: make(chan struct{})}
	stop := j.Watch(w.take)
	w.stop = sync.OnceFunc(func() {
		stop()
		close(w.queue)
	})
	c.mu.Lock()
	c.watches[w] = true
	c.mu.Unlock()
	go w.run()
	b := bind.Func("stop", "([])", "Stops watching.", w.end)
	return value.Of(value.NewBuiltin("stop", &b)), nil
}

func (w *watch) take(e journal.Event) {
	select {
	case w.queue <- e:
	default:
		w.core.conf.Log.Warn("a watching function is too slow: event dropped", "seq", e.Seq)
	}
}

// run calls the function until it has seen every event that came before the stop.
func (w *watch) run() {
	defer close(w.done)
	ctx := context.WithValue(w.core.watchCtx, watchKey{}, w)
	for e := range w.queue {
		if _, err := w.core.env.Do(ctx, func(t *value.Thread) value.Value { return t.Call1(w.f, eventMap(t, e)) }); err != nil {
			w.core.report("a watching function failed", err)
		}
	}
	w.core.mu.Lock()
	delete(w.core.watches, w)
	w.core.mu.Unlock()
}

// end stops watching and waits for the function to see what came before, unless it is the function itself that stops.
func (w *watch) end(ctx context.Context) error {
	w.stop()
	if ctx.Value(watchKey{}) == w {
		return nil
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("watch: the watching function still runs: %w", ctx.Err())
	}
}

// endWatches ends all of them; those that do not end by themselves are cancelled when ctx ends.
func (c *Core) endWatches(ctx context.Context) error {
	c.mu.Lock()
	var all []*watch
	for w := range c.watches {
		all = append(all, w)
	}
	c.mu.Unlock()
	var errs []error
	for _, w := range all {
		errs = append(errs, w.end(ctx))
	}
	c.endWatching()
	end := time.After(watchGrace)
	for _, w := range all {
		select {
		case <-w.done:
		case <-end:
			return errors.Join(append(errs, errors.New("watch: a watching function does not end"))...)
		}
	}
	return errors.Join(errs...)
}
