package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Config is what a SQLite is opened with. Only Path is needed.
type Config struct {
	Path string // of the file; its directory is made, private, if it is not there

	Batch         time.Duration    // how long an event that is not Durable may wait for others; 0: 50 ms
	SegmentEvents int              // a segment is sealed when it has that many; 0: 10,000
	SegmentAge    time.Duration    // or when its first event is that old; 0: 24 h
	Retention     Retention        // applied whenever a segment is sealed, and by Retain
	LockWait      time.Duration    // how long to wait for another process to let go of the file; 0: 1 s
	Now           func() time.Time // nil: time.Now

	// OnError hears that the file cannot be written, once for each time this begins, and with nil when it can again. It
	// must not call the store. nil: nobody hears.
	OnError func(error)

	// OnWrite is called at every point of a write where a crash may come, for tests of crashes. It runs on the writer's
	// goroutine: whoever waits for durability waits for it. nil: nothing is called.
	OnWrite func(point string)

	steps    []string // of the schema; nil: schema()
	maxPages int      // of the file, for tests of full disks; 0: no bound
}

func (c Config) complete() Config {
	if c.Batch <= 0 {
		c.Batch = 50 * time.Millisecond
	}
	if c.SegmentEvents <= 0 {
		c.SegmentEvents = 10_000
	}
	if c.SegmentAge <= 0 {
		c.SegmentAge = 24 * time.Hour
	}
	if c.LockWait <= 0 {
		c.LockWait = time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	if c.steps == nil {
		c.steps = schema()
	}
	if c.OnWrite == nil {
		c.OnWrite = func(string) {}
	}
	return c
}

// SQLite is a Store in a file. One process at a time has it open; others may read it with OpenReader.
type SQLite struct {
	*Reader
	conf   Config
	lock   *os.File
	db     *sql.DB
	conn   *sql.Conn // the one of db, the writer's
	writer *writer
	opened uint64 // the newest event when the file was opened

	mu     sync.RWMutex // held for reading while a request is handed to the writer
	closed bool
}

// busyTimeout is how long SQLite waits for the locks of other processes.
const busyTimeout = 2 * time.Second

// dsn names the file for the driver.
func dsn(file string, params url.Values, pragmas ...string) string {
	for _, p := range append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())) {
		params.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: file, RawQuery: params.Encode()}).String()
}

// Open opens the journal, or makes it. The error wraps one of errors.go; the file is then as it was.
func Open(ctx context.Context, conf Config) (*SQLite, error) {
	conf = conf.complete()
	file, err := filepath.Abs(conf.Path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	conf.Path = file
	s := &SQLite{conf: conf}
	if err := s.open(ctx); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *SQLite) open(ctx context.Context) error {
	file := s.conf.Path
	if err := makePrivate(file); err != nil {
		return err
	}
	var err error
	if s.lock, err = lockFile(ctx, file+".lock", s.conf.LockWait); err != nil {
		return fmt.Errorf("journal: %s: %w", file, err)
	}
	s.db, err = sql.Open("sqlite", dsn(file, url.Values{}, "synchronous(FULL)", "secure_delete(ON)", "journal_size_limit(67108864)"))
	if err != nil {
		return explain(file, err)
	}
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return explain(file, err)
	}
	if err := migrate(ctx, s.conn, s.conf.steps); err != nil {
		return explain(file, err)
	}
	if err := s.prepare(ctx, s.conn); err != nil {
		return explain(file, err)
	}
	if s.writer, err = newWriter(ctx, s.conf, s.conn); err != nil {
		return explain(file, err)
	}
	if s.Reader, err = newReader(ctx, file); err != nil {
		return err
	}
	s.flush, s.opened = s.Flush, s.writer.head.seq
	go s.writer.run()
	return nil
}

// prepare turns the write-ahead log on: a reader never waits for the writer, nor the writer for a reader.
func (s *SQLite) prepare(ctx context.Context, conn *sql.Conn) error {
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("got journal mode %s, want wal; keep the state on a local file system", mode)
	}
	if s.conf.maxPages > 0 {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", s.conf.maxPages))
		return err
	}
	return nil
}

// makePrivate makes the file and its directory for this user only. What SQLite puts beside the file gets the file's mode.
func makePrivate(file string) error {
	wrap := func(err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("journal: %s: %w; give this user write access to the file and its directory (%w)", file, ErrReadOnly, err)
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return fmt.Errorf("journal: %s: %w; free space (%w)", file, ErrFull, err)
		}
		return fmt.Errorf("journal: failed to make the file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return wrap(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return wrap(err)
		}
	}
	return nil
}

// Append implements Store.
func (s *SQLite) Append(ctx context.Context, e Event) (Event, error) {
	if e.Kind == "" {
		return e, errors.New("event: got no kind, want one")
	}
	if e.At.IsZero() {
		e.At = s.conf.Now()
	}
	e = clean(e)
	if !time.Unix(0, e.At.UnixNano()).Equal(e.At) {
		return e, fmt.Errorf("event: got the time %s, want one between the years 1678 and 2261", e.At)
	}
	p, err := newPayload(e.Data)
	if err != nil {
		return e, err
	}
	if !e.Durable {
		if err := s.writer.overrun(); err != nil {
			return e, err
		}
		return e, s.send(ctx, &request{event: e, payload: p})
	}
	a := s.ask(ctx, &request{event: e, payload: p})
	return a.event, a.err
}

// Flush returns when everything that was accepted so far is in the file.
func (s *SQLite) Flush(ctx context.Context) error { return s.ask(ctx, &request{nothing: true}).err }

// Retain drops what r lets go, now, and makes the file smaller. Others append meanwhile. Where ctx ends early, the rest is
// removed later.
func (s *SQLite) Retain(ctx context.Context, r Retention) error {
	if err := s.job(ctx, func(ctx context.Context) error { return s.writer.retain(ctx, r) }); err != nil {
		return err
	}
	for _, step := range []func(context.Context) (bool, error){s.writer.sweep, s.writer.vacuum} {
		for more := true; more; {
			err := s.job(ctx, func(ctx context.Context) (err error) {
				more, err = step(ctx)
				return err
			})
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return fmt.Errorf("journal: stopped making the file smaller: %w", context.Cause(ctx))
			}
		}
	}
	return nil
}

// job runs f on the writer's goroutine.
func (s *SQLite) job(ctx context.Context, f func(context.Context) error) error {
	return s.ask(ctx, &request{nothing: true, job: f}).err
}

// Redact removes the data of events for good, and records that and why. The chain still verifies.
func (s *SQLite) Redact(ctx context.Context, seqs []uint64, why string) error {
	if len(seqs) == 0 || why == "" {
		return errors.New("journal: redact: got no events or no reason, want both")
	}
	return s.job(ctx, func(ctx context.Context) error { return s.writer.redact(ctx, seqs, why) })
}

// Watch implements Watcher. f hears of an event once it is in the file.
func (s *SQLite) Watch(f func(Event)) (stop func()) {
	remove := s.writer.hub.watch(f)
	return sync.OnceFunc(func() {
		_ = s.Flush(context.Background()) // a failure is reported to OnError
		remove()
	})
}

// send hands r to the writer.
func (s *SQLite) send(ctx context.Context, r *request) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.writer.queue <- r:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("journal: stopped waiting for the writer: %w", context.Cause(ctx))
	}
}

// ask hands r to the writer and waits for its answer, whatever becomes of ctx: by then it is known whether r was written.
func (s *SQLite) ask(ctx context.Context, r *request) answer {
	r.answer = make(chan answer, 1)
	if err := s.send(ctx, r); err != nil {
		return answer{event: r.event, err: err}
	}
	return <-r.answer
}

// Close writes what waits and closes the file. An error says what could not be written.
func (s *SQLite) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.writer.queue)
	s.mu.Unlock()
	<-s.writer.done
	return errors.Join(s.writer.lost(), s.release())
}

func (s *SQLite) release() error {
	var errs []error
	if s.Reader != nil {
		errs = append(errs, s.Reader.Close())
	}
	if s.writer != nil {
		s.writer.close()
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Health tells how many events were accepted and are not in the file yet, and why the file cannot be written; nil: it can.
func (s *SQLite) Health() (waiting int, failing error) {
	if err := s.writer.failing.Load(); err != nil {
		failing = *err
	}
	return int(s.writer.waiting.Load()), failing
}
