package core

import (
	"context"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/journal"
)

// logPage is how many events are read at a time, logEvery how often it is looked for more.
const (
	logPage  = 500
	logEvery = 100 * time.Millisecond
)

// LogQuery asks for events of the journal.
type LogQuery struct {
	Spawn  string `json:"spawn,omitempty"`  // "": of all
	After  uint64 `json:"after,omitempty"`  // only events after this number
	Lines  int    `json:"lines,omitempty"`  // only so many of the newest, and then what follows; 0: all
	Follow bool   `json:"follow,omitempty"` // go on with what is recorded from now on; of a spawn: until it has ended
}

// Logs gives events to f, oldest first.
func (c *Core) Logs(ctx context.Context, q LogQuery, f func(journal.Event) error) error {
	return logs(ctx, c.reading(), q, f)
}

// eventReader is what logs need of a journal.
type eventReader interface {
	Since(ctx context.Context, after uint64, max int) ([]journal.Event, error)
	Show(ctx context.Context, spawn string, after uint64, max int) ([]journal.Event, error)
	Tail(ctx context.Context, max int) ([]journal.Event, error)
}

// reading is the journal's file, or what is kept in memory.
func (c *Core) reading() eventReader {
	if f, err := c.journalFile(); err == nil {
		return f
	}
	return scanning{c.journal}
}

// ReadLogs is Logs of a journal's file, for who has no instance. It ends with what is recorded where live is nil or
// tells false.
func ReadLogs(ctx context.Context, r *journal.Reader, q LogQuery, f func(journal.Event) error) error {
	return logs(ctx, r, q, f)
}

func logs(ctx context.Context, r eventReader, q LogQuery, f func(journal.Event) error) error {
	read := r.Since
	if q.Spawn != "" {
		read = func(ctx context.Context, after uint64, max int) ([]journal.Event, error) {
			return r.Show(ctx, q.Spawn, after, max)
		}
	}
	after, known := q.After, false
	if q.Spawn == "" && q.Lines > 0 {
		es, err := r.Tail(ctx, min(q.Lines, 100_000))
		if err != nil {
			return err
		}
		for _, e := range es {
			if after = e.Seq; f(e) != nil {
				return nil
			}
		}
	}
	for {
		es, err := read(ctx, after, logPage)
		if err != nil {
			return err
		}
		ended := false
		for _, e := range es {
			after, known, ended = e.Seq, true, e.Kind == journal.SpawnEnded
			if err := f(e); err != nil {
				return err
			}
		}
		switch {
		case len(es) == logPage:
			continue
		case q.Spawn != "" && !known && q.After == 0:
			return &control.Error{Kind: control.Usage, Message: fmt.Sprintf("logs: got the spawn %q, of which nothing is recorded; `zeno ps` and `zeno journal tail` show ids", q.Spawn)}
		case !q.Follow || q.Spawn != "" && ended:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(logEvery):
		}
	}
}

// scanning reads a store that can only be read from its beginning.
type scanning struct{ journal.Store }

// Show implements eventReader.
func (s scanning) Show(ctx context.Context, spawn string, after uint64, max int) ([]journal.Event, error) {
	var out []journal.Event
	for len(out) < max {
		es, err := s.Since(ctx, after, logPage)
		if err != nil || len(es) == 0 {
			return out, err
		}
		for _, e := range es {
			if after = e.Seq; e.Spawn == spawn && len(out) < max {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// Tail implements eventReader.
func (s scanning) Tail(ctx context.Context, max int) ([]journal.Event, error) {
	var out []journal.Event
	for after := uint64(0); ; {
		es, err := s.Since(ctx, after, logPage)
		if err != nil || len(es) == 0 {
			return out, err
		}
		after = es[len(es)-1].Seq
		out = append(out, es...)
		out = out[max0(len(out)-max):]
	}
}

func max0(n int) int { return max(n, 0) }

func (c *Core) verbLogs(ctx context.Context, q control.Request, send func(any) error) error {
	var in LogQuery
	if err := q.Decode(&in); err != nil {
		return err
	}
	if in.Spawn == "" {
		return &control.Error{Kind: control.Usage, Message: "logs: got no spawn, want its id"}
	}
	return c.Logs(ctx, in, func(e journal.Event) error { return send(e) })
}

func (c *Core) verbTail(ctx context.Context, q control.Request, send func(any) error) error {
	in := LogQuery{Lines: 20}
	if err := q.Decode(&in); err != nil {
		return err
	}
	in.Spawn = ""
	return c.Logs(ctx, in, func(e journal.Event) error { return send(e) })
}
