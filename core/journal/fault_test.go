package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// raw opens the file as a program that is no journal would, to harm it.
func raw(t testing.TB, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec1(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// heard collects what OnError hears.
type heard struct {
	mu   sync.Mutex
	errs []error
}

func (h *heard) hear(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *heard) all() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]error(nil), h.errs...)
}

// On a full disk a durable event is refused, others wait, the operator hears it once; when there is space, everything
// that waited is written.
func TestAFullDisk(t *testing.T) {
	var h heard
	s := open(t, func(c *Config) { c.maxPages, c.OnError = 40, h.hear })
	var accepted []string
	var full error
	for i := 0; full == nil && i < 10_000; i++ {
		e := Event{Kind: "k", Data: map[string]any{"text": fmt.Sprintf("%d%s", i, strings.Repeat("x", 1000))}, Durable: true}
		if _, full = s.Append(bg, e); full == nil {
			accepted = append(accepted, e.Data["text"].(string))
		}
	}
	if !errors.Is(full, ErrFull) || !strings.Contains(full.Error(), "free space") || len(accepted) == 0 {
		t.Fatalf("after %d events: got %v, want ErrFull and what to do", len(accepted), full)
	}
	for i := range 20 { // nobody waits for these
		e := Event{Kind: "k", Data: map[string]any{"text": fmt.Sprintf("late %d%s", i, strings.Repeat("x", 1000))}}
		if _, err := s.Append(bg, e); err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, e.Data["text"].(string))
	}
	if err := s.Flush(bg); !errors.Is(err, ErrFull) {
		t.Errorf("flush: got %v, want ErrFull", err)
	}
	if es := since(t, s, 0, 10_000); len(es) != len(accepted)-20 {
		t.Errorf("reading meanwhile: got %d events, want %d", len(es), len(accepted)-20)
	}
	verified(t, reader(t, s.conf.Path), Anchor{})
	if errs := h.all(); len(errs) != 1 || !errors.Is(errs[0], ErrFull) {
		t.Errorf("the operator heard %v, want ErrFull once", errs)
	}
	if err := s.Retain(bg, Retention{}); err != nil {
		t.Errorf("retain: %v", err)
	}
	setPages(t, s, 100_000)
	add(t, s, 1, true)
	es := since(t, s, 0, 10_000)
	for i, want := range accepted {
		if i >= len(es) || es[i].Data["text"] != want {
			t.Fatalf("event %d of %d: not the one accepted", i, len(es))
		}
	}
	if errs := h.all(); len(errs) != 2 || errs[1] != nil {
		t.Errorf("the operator heard %v, want that it works again", errs)
	}
	verified(t, s.Reader, Anchor{})
}

// setPages changes the bound of the file, on the writer's goroutine.
func setPages(t *testing.T, s *SQLite, n int) {
	t.Helper()
	err := s.job(bg, func(ctx context.Context) error {
		_, err := s.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", n))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What waits is bounded, and what does not fit is refused, not dropped. Close says what is lost.
func TestTooMuchWaits(t *testing.T) {
	s, err := Open(bg, Config{Path: filepath.Join(t.TempDir(), "j.db"), maxPages: 20})
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	n := 0
	for ; refused == nil && n < 3*maxWaiting; n++ {
		_, refused = s.Append(bg, Event{Kind: "k", Data: map[string]any{"text": strings.Repeat("x", 300)}})
	}
	if !errors.Is(refused, ErrFull) || !strings.Contains(refused.Error(), "not recorded") || n < maxWaiting {
		t.Errorf("event %d: got %v, want it refused", n, refused)
	}
	if err := s.Close(); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "events are lost") {
		t.Errorf("close: got %v, want what is lost", err)
	}
}

func TestALockedFile(t *testing.T) {
	var h heard
	s := open(t, func(c *Config) { c.OnError = h.hear })
	add(t, s, 1, true)
	db := raw(t, s.conf.Path)
	exec1(t, db, "BEGIN IMMEDIATE")
	if _, err := s.Append(bg, event(0, true)); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "end the process") {
		t.Errorf("got %v, want ErrLocked and what to do", err)
	}
	exec1(t, db, "ROLLBACK")
	if e := add(t, s, 1, true); e.Seq != 2 {
		t.Errorf("afterwards: got number %d, want 2", e.Seq)
	}
}

func TestFilesThatAreNoJournal(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		make func(file string)
		want error
	}{
		"a text":    {func(f string) { _ = os.WriteFile(f, []byte(strings.Repeat("no database ", 1000)), 0o600) }, ErrDamaged},
		"another's": {func(f string) { exec1(t, raw(t, f), "CREATE TABLE x (y)") }, ErrForeign},
		"a newer one": {func(f string) {
			exec1(t, raw(t, f), fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 99; CREATE TABLE meta (x)", applicationID))
		}, ErrNewer},
	} {
		file := filepath.Join(dir, name)
		tt.make(file)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(bg, Config{Path: file}); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
		if _, err := OpenReader(bg, file); !errors.Is(err, tt.want) {
			t.Errorf("%s, to read: got %v, want %v", name, err, tt.want)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
	if _, err := OpenReader(bg, filepath.Join(dir, "none")); !errors.Is(err, ErrMissing) {
		t.Errorf("no file: got %v, want ErrMissing", err)
	}
}

// A file whose last pages are overwritten is refused, is left as it is, and says so; what stands before can be read.
func TestACorruptedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file)
	add(t, s, 2000, false)
	closeStore(t, s)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	harmed := append([]byte(nil), whole...)
	for i := len(harmed) - 8*4096; i < len(harmed); i++ {
		harmed[i] = 0xa5
	}
	if err := os.WriteFile(file, harmed, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(bg, Config{Path: file}); err == nil {
		_ = s.Close()
		t.Error("open: got no error, want ErrDamaged")
	} else if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("open: got %v, want ErrDamaged and what to do", err)
	}
	rep, err := reader(t, file).Verify(bg, Anchor{})
	if err != nil || rep.Broken == nil || rep.Broken.Seq < 100 || rep.Events != int64(rep.Broken.Seq-1) {
		t.Errorf("verify: got %v after %d events, %v, want the first that cannot be read", rep.Broken, rep.Events, err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(harmed) {
		t.Errorf("the file was changed, %v", err)
	}
}

// reader opens a file for reading until the test ends.
func reader(t testing.TB, file string) *Reader {
	t.Helper()
	r, err := OpenReader(bg, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Tables of an older version are brought forward, and nothing is lost.
func TestMigration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file)
	add(t, s, 3, true)
	closeStore(t, s)
	steps := append(schema(), "ALTER TABLE marks ADD COLUMN note TEXT NOT NULL DEFAULT ''")
	broken := append(schema(), "ALTER TABLE nothing ADD COLUMN x TEXT; CREATE TABLE half (x)")
	if s, err := Open(bg, Config{Path: file, steps: broken}); err == nil {
		_ = s.Close()
		t.Fatal("a step that fails: got no error")
	}
	s, err := Open(bg, Config{Path: file, steps: steps})
	if err == nil {
		add(t, s, 1, true)
	} else if !errors.Is(err, ErrNewer) {
		t.Fatal(err)
	}
	if s != nil {
		closeStore(t, s)
	}
	db := raw(t, file)
	var version, notes, events int
	if err := db.QueryRow("SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM pragma_table_info('marks') WHERE name = 'note'), (SELECT count(*) FROM events)").Scan(&version, &notes, &events); err != nil {
		t.Fatal(err)
	}
	if version != 3 || notes != 1 || events < 3 {
		t.Errorf("got version %d, %d new columns, %d events, want 3, 1 and at least 3", version, notes, events)
	}
	if _, err := Open(bg, Config{Path: file}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("the older program: got %v, want ErrNewer", err)
	}
}

func TestTheWriterSyncs(t *testing.T) {
	s := open(t)
	var synchronous int
	var mode string
	err := s.job(bg, func(ctx context.Context) error {
		if err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
			return err
		}
		return s.conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous)
	})
	if err != nil || synchronous != 2 || mode != "wal" {
		t.Errorf("got synchronous %d, journal mode %s, %v, want 2 (FULL) and wal", synchronous, mode, err)
	}
}

// A batch is written soon although nobody asks for it.
func TestABatchIsWrittenSoon(t *testing.T) {
	s := open(t)
	add(t, s, 3, false)
	r := reader(t, s.conf.Path)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if es := since(t, r2store{r}, 0, 10); len(es) == 3 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("events that nobody asks for are not written")
		}
	}
}

// r2store lets helpers read a Reader.
type r2store struct{ *Reader }

func (r2store) Append(context.Context, Event) (Event, error) { return Event{}, errors.New("read only") }
