package suite

import (
	"context"
	"os"
	"slices"
	"time"
)

// state is when each source file was last written, and how long it was.
type state map[string]stamp

type stamp struct {
	at   time.Time
	size int64
}

// Watcher tells when source files change. It looks at the files rather than asking the system to be told, so that it
// works wherever they lie.
type Watcher struct {
	roots func() []string
	every time.Duration
	last  state
}

// NewWatcher watches every source file below the directories that roots gives, and the files it gives, as they are now.
func NewWatcher(every time.Duration, roots func() []string) *Watcher {
	w := &Watcher{roots: roots, every: every}
	w.last = w.look()
	return w
}

// Wait returns the files that were written, made or removed since it last looked, once there is one; nil when ctx ends.
func (w *Watcher) Wait(ctx context.Context) []string {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := w.look()
		if changed := w.last.changed(now); len(changed) > 0 {
			w.last = now
			return changed
		}
	}
}

func (w *Watcher) look() state {
	s := state{}
	for _, root := range w.roots() {
		_ = walk(root, func(path string) { // what cannot be listed now may be there the next time
			if info, err := os.Stat(path); err == nil {
				s[path] = stamp{info.ModTime(), info.Size()}
			}
		})
	}
	return s
}

func (s state) changed(now state) []string {
	var out []string
	for path, was := range s {
		if is, ok := now[path]; !ok || is != was {
			out = append(out, path)
		}
	}
	for path := range now {
		if _, ok := s[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
