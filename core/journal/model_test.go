package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is what a SQLite store is held against: a list and a map.
type model struct {
	conf    Config
	s       *SQLite
	events  []Event // without those of the journal itself
	marks   map[string]string
	anchors []Anchor
}

// The SQLite store does what a list does, whatever the order of calls, restarts and retention.
func TestModel(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		m := &model{marks: map[string]string{}, conf: Config{Path: filepath.Join(dir, fmt.Sprintf("%d.db", n)), Batch: time.Millisecond,
			SegmentEvents: rapid.IntRange(1, 6).Draw(r, "segment"), Retention: Retention{Events: -1}}}
		m.open(r)
		defer func() { _ = m.s.Close() }()
		r.Repeat(map[string]func(*rapid.T){"append": m.append, "append more": m.append, "mark": m.mark, "reopen": m.reopen,
			"anchor": m.anchor, "drop": m.drop, "check": m.check})
		m.check(r)
	})
}

func (m *model) open(r *rapid.T) {
	var err error
	if m.s, err = Open(bg, m.conf); err != nil {
		r.Fatal(err)
	}
}

func (m *model) append(r *rapid.T) {
	e := Event{Kind: rapid.StringMatching(`[a-c]`).Draw(r, "kind"), Spawn: rapid.StringMatching(`[xy]?`).Draw(r, "spawn"),
		At:      time.Unix(0, rapid.Int64().Draw(r, "at")).UTC(),
		Data:    map[string]any{"s": rapid.String().Draw(r, "s"), "n": rapid.Int64().Draw(r, "n")},
		Durable: rapid.Bool().Draw(r, "durable")}
	if _, err := m.s.Append(bg, e); err != nil {
		r.Fatal(err)
	}
	e.Durable = false
	m.events = append(m.events, e)
}

func (m *model) mark(r *rapid.T) {
	key := rapid.StringMatching(`[kl]`).Draw(r, "key")
	_, fresh, err := m.s.StartMark(bg, key, false)
	if err != nil || fresh != (m.marks[key] == "") {
		r.Fatalf("start %s: got %v, %v with state %q", key, fresh, err, m.marks[key])
	}
	err = nil
	switch {
	case fresh:
		m.marks[key] = MarkStarted
	case m.marks[key] == MarkStarted:
		m.marks[key] = MarkDone
		err = m.s.EndMark(bg, key, MarkDone, "1")
	default:
		if m.s.EndMark(bg, key, MarkDone, "2") == nil {
			r.Fatalf("end of %s, which is %s: got no error", key, m.marks[key])
		}
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (m *model) reopen(r *rapid.T) {
	if err := m.s.Close(); err != nil {
		r.Fatal(err)
	}
	m.open(r)
}

func (m *model) anchor(r *rapid.T) {
	a, err := m.s.Anchor(bg)
	if err != nil {
		r.Fatal(err)
	}
	m.anchors = append(m.anchors, a)
}

func (m *model) drop(r *rapid.T) {
	if err := m.s.Retain(bg, Retention{Events: 10}); err != nil {
		r.Fatal(err)
	}
}

func (m *model) check(r *rapid.T) {
	es, err := m.s.Since(bg, 0, 1<<30)
	if err != nil {
		r.Fatal(err)
	}
	var own []Event
	for i, e := range es {
		if i > 0 && e.Seq != es[i-1].Seq+1 {
			r.Fatalf("event %d follows %d", e.Seq, es[i-1].Seq)
		}
		if len(e.Kind) == 1 {
			e.Seq = 0
			own = append(own, e)
		}
	}
	// What is left is the newest part, in order.
	if len(own) > len(m.events) || len(es) < 10 && len(own) < len(m.events) {
		r.Fatalf("got %d events, appended %d", len(own), len(m.events))
	}
	if want := m.events[len(m.events)-len(own):]; len(own) > 0 && !cmp.Equal(want, own) {
		r.Fatal(cmp.Diff(want, own))
	}
	for key, state := range m.marks {
		if mark, ok, err := m.s.LookMark(bg, key); err != nil || !ok || mark.State != state {
			r.Fatalf("mark %s: got %v, %v, %v, want %s", key, mark, ok, err, state)
		}
	}
	for _, a := range append(m.anchors, Anchor{}) {
		rep, err := m.s.Verify(bg, a)
		if rep.Broken != nil || err != nil && !strings.Contains(err.Error(), "was dropped") {
			r.Fatalf("verify from %v: %v, %v", a, rep.Broken, err)
		}
	}
}
