package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/backup"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/lisp/bind"
)

// DefaultKeep is how old what has ended gets before GC removes it.
const DefaultKeep = 30 * 24 * time.Hour

// GCOptions say what to remove.
type GCOptions struct {
	Keep time.Duration // younger than that stays; 0: DefaultKeep
	Dry  bool          // only tell
}

// GCReport is what GC has removed, or would remove.
type GCReport struct {
	Dry        bool     `json:"dry-run" lisp:"dry-run"`
	Sessions   int      `json:"sessions" lisp:"sessions"`     // session directories of spawns
	Deliveries int      `json:"deliveries" lisp:"deliveries"` // of webhooks, that failed
	Questions  int      `json:"questions" lisp:"questions"`   // to a person, that nothing more happens to
	Images     int      `json:"images" lisp:"images"`         // that boxes' specs and archives gave and no box used, and archives of build!
	Layers     int      `json:"layers" lisp:"layers"`         // of images that are gone
	Bytes      int64    `json:"bytes" lisp:"bytes"`           // of all these
	Journal    bool     `json:"journal" lisp:"journal"`       // its retention was applied
	Errors     []string `json:"errors,omitempty" lisp:"errors,omitempty"`
}

// GC removes what ended long ago: the session files of spawns, but for those that run or wait for a person's answer, and
// failed deliveries of webhooks, questions that nothing more happens to, images that no box used and what of them is left. It applies the journal's retention. What cannot be removed is told of, and the rest is.
func (c *Core) GC(ctx context.Context, by control.By, o GCOptions) (GCReport, error) {
	if o.Keep < 0 {
		return GCReport{}, fmt.Errorf("gc: got an age below zero, want 0 for %s, or more", DefaultKeep)
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if c.conf.Home == nil || !c.conf.Home.Exists() {
		return GCReport{}, errors.New("gc: got an instance without a home, want one with")
	}
	state, err := c.state()
	if err != nil {
		return GCReport{}, err
	}
	g := &collector{ctx: ctx, state: state, before: time.Now().Add(-o.Keep), report: GCReport{Dry: o.Dry}}
	g.sessions()
	g.deliveries()
	g.images()
	g.questions(c.asks)
	if err := ctx.Err(); err != nil {
		return g.report, fmt.Errorf("gc: stopped: %w", context.Cause(ctx))
	}
	if o.Dry {
		return g.report, nil
	}
	if err := c.retainNow(ctx, &g.report); err != nil {
		g.fail(err)
	}
	err = c.recordControl(by, "gc", map[string]any{"keep": o.Keep.String(), "sessions": g.report.Sessions,
		"deliveries": g.report.Deliveries, "questions": g.report.Questions, "images": g.report.Images, "layers": g.report.Layers, "bytes": g.report.Bytes})
	if err != nil { // on a full disk it is what helps: what was removed is told all the same
		g.fail(fmt.Errorf("it was done, and is not on record: %w", err))
	}
	return g.report, nil
}

func (c *Core) retainNow(ctx context.Context, r *GCReport) error {
	rule, set := c.home.rule()
	if !set {
		return nil
	}
	f, err := c.journalFile()
	if err != nil {
		return err
	}
	r.Journal = true
	return f.Retain(ctx, rule)
}

type collector struct {
	ctx    context.Context
	state  string
	before time.Time
	report GCReport
}

func (g *collector) fail(err error) { g.report.Errors = append(g.report.Errors, err.Error()) }

// questions removes those to a person that are over.
func (g *collector) questions(a *asks) {
	d, err := a.existing()
	if err == nil && d != nil {
		g.report.Questions, err = d.Prune(g.ctx, g.before, g.report.Dry)
	}
	if err != nil {
		g.fail(err)
	}
}

// sessions removes the session directories of spawns that ended. The home of a spawn is there while it runs or waits for
// an answer: its session is needed then.
func (g *collector) sessions() {
	dir := filepath.Join(g.state, "sessions")
	for _, e := range g.list(dir) {
		id := e.Name()
		if strings.HasPrefix(id, ".") || !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.state, "spawns", id)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		path := filepath.Join(dir, id)
		newest, bytes, err := newestIn(path)
		if err != nil || newest.After(g.before) {
			continue
		}
		if g.remove(path, bytes) {
			g.report.Sessions++
		}
	}
	// What says which directory holds a session: useless without the directory.
	for _, e := range g.list(filepath.Join(dir, ".ids")) {
		file := filepath.Join(dir, ".ids", e.Name())
		id, err := os.ReadFile(file)
		if err != nil || len(id) == 0 {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.Base(string(id)))); errors.Is(err, fs.ErrNotExist) && g.old(e) {
			g.remove(file, 0)
		}
	}
}

// deliveries removes failed ones.
func (g *collector) deliveries() {
	failed, _ := filepath.Glob(filepath.Join(g.state, hooksDir, "*", "failed")) // the pattern is well-formed
	for _, dir := range failed {
		for _, e := range g.list(dir) {
			info, err := e.Info()
			if err == nil && g.old(e) && g.remove(filepath.Join(dir, e.Name()), info.Size()) {
				g.report.Deliveries++
			}
		}
	}
}

func (g *collector) old(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && !info.ModTime().After(g.before)
}

func (g *collector) list(dir string) []fs.DirEntry {
	if g.ctx.Err() != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.fail(err)
	}
	return entries
}

func (g *collector) remove(path string, bytes int64) bool {
	if !g.report.Dry {
		if err := os.RemoveAll(path); err != nil {
			g.fail(err)
			return false
		}
	}
	g.report.Bytes += bytes
	return true
}

// newestIn gives the time of the newest file below dir, and the bytes of all.
func newestIn(dir string) (newest time.Time, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return newest, bytes, err
}

type gcForm struct {
	Keep bind.Duration `lisp:"keep"`
	Dry  bool          `lisp:"dry-run"`
}

func (c *Core) lispGC(ctx context.Context, f *gcForm) (GCReport, error) {
	if f == nil {
		f = &gcForm{}
	}
	return c.GC(ctx, lispBy, GCOptions{Keep: time.Duration(f.Keep), Dry: f.Dry})
}

func (c *Core) verbGC(ctx context.Context, q control.Request) (any, error) {
	var in struct {
		Keep int64 `json:"keep-ms"`
		Dry  bool  `json:"dry-run"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	if in.Keep < 0 || in.Keep > (100*365*24*time.Hour).Milliseconds() {
		return nil, &control.Error{Kind: control.Usage, Message: fmt.Sprintf("keep-ms: got %d, want 0 to a hundred years", in.Keep)}
	}
	return c.GC(ctx, q.By, GCOptions{Keep: time.Duration(in.Keep) * time.Millisecond, Dry: in.Dry})
}

// lispBackup is zeno.engine/backup!.
func (c *Core) lispBackup(ctx context.Context, to string) (map[string]any, error) {
	if c.conf.Home == nil || !c.conf.Home.Exists() {
		return nil, errors.New("got an instance without a home, want one with")
	}
	if f, err := c.journalFile(); err == nil {
		_ = f.Flush(ctx) // what cannot be written is not in the file, and reported elsewhere
	}
	r, err := backup.Make(ctx, backup.Config{Home: c.conf.Home.Dir, To: to, Journal: JournalFile})
	if err != nil {
		return nil, err
	}
	_ = c.recordControl(lispBy, "backup", map[string]any{"to": r.To, "anchor": r.Anchor}) // reported
	return map[string]any{"to": r.To, "files": r.Files, "bytes": r.Bytes, "events": r.Events, "anchor": r.Anchor}, nil
}

// retentionForm is what zeno.journal/retention! takes.
type retentionForm struct {
	Keep     bind.Duration `lisp:"keep"`
	MaxSize  bind.Size     `lisp:"max-size"`
	Events   int64         `lisp:"events"`
	Payloads bind.Duration `lisp:"payloads"`
}

// retention is zeno.journal/retention!.
func (c *Core) retention(ctx context.Context, f retentionForm) error {
	if c.home == nil && c.rehearsal == nil {
		return errors.New("got an instance without a journal of a home, want one with")
	}
	if f.Events < 0 {
		return fmt.Errorf(":events: got %d, want 0 for %d, or more", f.Events, journal.DefaultRetainedEvents)
	}
	if f.Payloads > 0 && f.Keep > 0 && f.Payloads > f.Keep {
		return fmt.Errorf(":payloads: got %s, want no more than :keep, %s", time.Duration(f.Payloads), time.Duration(f.Keep))
	}
	if c.home == nil { // a dry run's record is its own, and short
		return nil
	}
	return c.home.retain(ctx, journal.Retention{Events: f.Events, Age: time.Duration(f.Keep), Bytes: int64(f.MaxSize), PayloadAge: time.Duration(f.Payloads)})
}

// retain sets the rule, for a file that is open and for one that will be.
func (h *homeJournal) retain(ctx context.Context, r journal.Retention) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retention = &r
	if s, ok := h.opened.(*journal.SQLite); ok {
		return s.SetRetention(ctx, r)
	}
	return nil
}

// rule gives what was set.
func (h *homeJournal) rule() (journal.Retention, bool) {
	if h == nil {
		return journal.Retention{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retention == nil {
		return journal.Retention{}, false
	}
	return *h.retention, true
}
