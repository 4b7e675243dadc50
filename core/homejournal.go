package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/core/journal"
)

// JournalFile is the name of the journal in the state directory of a home.
const JournalFile = "journal.db"

// journalWait is how long the first event waits for another process to let go of the home's journal.
const journalWait = 300 * time.Millisecond

// keeper is what both stores are.
type keeper interface {
	journal.Store
	journal.Watcher
	journal.Marker
}

// homeJournal is the journal of a home. Its file is opened by the first who needs it, so that an instance that records
// nothing costs nothing. Where the file cannot be had the instance is up all the same, with a warning and a record in
// memory.
type homeJournal struct {
	home  *home.Home
	warn  func(string)
	error func(error) // hears of a file that cannot be written any more, and with nil of one that can again

	onWrite func(point string) // journal.Config.OnWrite; nil: nobody

	mu        sync.Mutex
	hear      func(keeper) // hears of the store when it is open; nil: nobody
	opened    keeper
	lost      error // why the file could not be had; opened is in memory then
	closed    bool
	retention *journal.Retention // nil: the journal's own
}

func (h *homeJournal) keeper() (keeper, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.tell()
	switch {
	case h.opened != nil:
		return h.opened, nil
	case h.closed:
		return nil, journal.ErrClosed
	case !h.home.Exists():
		h.opened = &journal.Memory{}
		return h.opened, nil
	}
	s, err := h.open()
	if err != nil {
		h.warn(h.unrecorded(err))
		h.opened = &journal.Memory{}
		return h.opened, nil
	}
	h.opened = s
	return s, nil
}

// unrecorded keeps why there is no record, and says it with what to do. That another zeno serves the home is no fault to
// be mended.
func (h *homeJournal) unrecorded(err error) string {
	if pid, served, _ := h.home.Served(); served && errors.Is(err, journal.ErrLocked) && pid != strconv.Itoa(os.Getpid()) {
		h.lost = fmt.Errorf("journal: process %s serves this home and keeps its journal; `zeno connect -e …` does it there, on the record", pid)
		return h.lost.Error() + "; what happens here is recorded in memory only, and what must be recorded before it is done is refused"
	}
	if errors.Is(err, journal.ErrLocked) { // by a command that runs alone, such as another zeno spawn
		err = fmt.Errorf("%w; in a zeno that serves the home (--daemon) any number of spawns and commands run at once", err)
	}
	h.lost = err
	return fmt.Sprintf("%v; until that is mended and zeno started again, what happens is recorded in memory only, and what must be recorded before it is done is refused", err)
}

// tell tells of the store, once.
func (h *homeJournal) tell() {
	if h.opened != nil && h.hear != nil {
		h.hear(h.opened)
		h.hear = nil
	}
}

// onOpen calls f once the store is open.
func (h *homeJournal) onOpen(f func(keeper)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hear = f
	h.tell()
}

func (h *homeJournal) open() (*journal.SQLite, error) {
	state, err := h.home.State()
	if err != nil {
		return nil, err
	}
	conf := journal.Config{Path: filepath.Join(state, JournalFile), LockWait: journalWait, OnError: h.error, OnWrite: h.onWrite}
	if h.retention != nil {
		conf.Retention = *h.retention
	}
	return journal.Open(context.Background(), conf)
}

// Close writes what waits.
func (h *homeJournal) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if s, ok := h.opened.(*journal.SQLite); ok {
		return s.Close()
	}
	return nil
}

// Append implements journal.Store. Where the file cannot be had, what must be recorded before it is done is refused.
func (h *homeJournal) Append(ctx context.Context, e journal.Event) (journal.Event, error) {
	get := h.keeper
	if e.Durable {
		get = h.kept
	}
	k, err := get()
	if err != nil {
		return e, err
	}
	return k.Append(ctx, e)
}

// Since implements journal.Store.
func (h *homeJournal) Since(ctx context.Context, after uint64, max int) ([]journal.Event, error) {
	k, err := h.keeper()
	if err != nil {
		return nil, err
	}
	return k.Since(ctx, after, max)
}

// Watch implements journal.Watcher.
func (h *homeJournal) Watch(f func(journal.Event)) (stop func()) {
	k, err := h.keeper()
	if err != nil {
		return func() {}
	}
	return k.Watch(f)
}

// kept is the keeper for what must not be forgotten: none where the file cannot be had.
func (h *homeJournal) kept() (keeper, error) {
	k, err := h.keeper()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return k, h.lost
}

// marks is the keeper for work that is done once. Where the file cannot be had nobody knows what was done already, and
// what is done now would be forgotten: nothing is done then.
func (h *homeJournal) marks() (keeper, error) {
	k, err := h.kept()
	if err != nil {
		return nil, fmt.Errorf("the record of what was done already cannot be had: %w", err)
	}
	return k, nil
}

// LookMark implements journal.Marker.
func (h *homeJournal) LookMark(ctx context.Context, key string) (journal.Mark, bool, error) {
	k, err := h.marks()
	if err != nil {
		return journal.Mark{}, false, err
	}
	return k.LookMark(ctx, key)
}

// StartMark implements journal.Marker.
func (h *homeJournal) StartMark(ctx context.Context, key string, again bool) (journal.Mark, bool, error) {
	k, err := h.marks()
	if err != nil {
		return journal.Mark{}, false, err
	}
	return k.StartMark(ctx, key, again)
}

// EndMark implements journal.Marker.
func (h *homeJournal) EndMark(ctx context.Context, key, state, result string) error {
	k, err := h.marks()
	if err != nil {
		return err
	}
	return k.EndMark(ctx, key, state, result)
}

// ForgetMark implements journal.Marker.
func (h *homeJournal) ForgetMark(ctx context.Context, key string) (bool, error) {
	k, err := h.marks()
	if err != nil {
		return false, err
	}
	return k.ForgetMark(ctx, key)
}

// openJournal picks the instance's store: the configured one, the home's, or one in memory. No secret gets into it.
func (c *Core) openJournal() {
	s := c.conf.Journal
	switch {
	case s != nil:
	case c.conf.Home != nil:
		c.home = &homeJournal{home: c.conf.Home, warn: c.warn, error: c.journalState}
		s = c.home
	default:
		s = &journal.Memory{}
	}
	c.journal = journal.NewRedacting(s, &c.secrets)
	if m, ok := journal.As[journal.Marker](s); ok {
		c.once = &journal.Once{Marks: m}
	}
}

func (c *Core) journalState(err error) {
	if err == nil {
		c.warn("journal: it can be written again; what waited is recorded")
		return
	}
	c.conf.Log.Error("journal: failed to write", "error", err)
	c.warn(fmt.Sprintf("%v; until then, what must be recorded before it is done is refused, and the rest waits", err))
}

func (c *Core) closeJournal() error {
	if c.home == nil {
		return nil
	}
	return c.home.Close()
}

// record appends an event. A journal that fails must not pass in silence.
func (c *Core) record(e journal.Event) (journal.Event, error) {
	got, err := c.journal.Append(context.WithoutCancel(c.ctx), e)
	if err != nil {
		c.conf.Log.Error("journal: failed to append", "kind", e.Kind, "spawn", e.Spawn, "error", err)
		c.warn(fmt.Sprintf("failed to record %s: %v", e.Kind, err))
	}
	return got, err
}

// file is the journal's file, for what only a file can do.
func (c *Core) journalFile() (*journal.SQLite, error) {
	if c.home != nil {
		k, err := c.home.keeper()
		if err != nil {
			return nil, err
		}
		if s, ok := k.(*journal.SQLite); ok {
			return s, nil
		}
	}
	if s, ok := journal.As[*journal.SQLite](c.journal); ok {
		return s, nil
	}
	return nil, errors.New("journal: got one in memory, want one in a file: start zeno with a home, and see its warnings")
}
