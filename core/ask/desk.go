package ask

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Config is what a Desk is opened with. Only Path is needed.
type Config struct {
	Path    string           // of the file; its directory is made, private
	MaxOpen int              // questions open at once; 0: 1,000
	Poll    time.Duration    // how often it is looked whether another process changed the file; 0: 500 ms
	Now     func() time.Time // nil: time.Now
}

// Desk is where questions lie. It is safe for concurrent use, and several processes may have the same file open.
type Desk struct {
	conf Config
	db   *sql.DB

	mu      sync.Mutex // of everything below, and of conn
	conn    *sql.Conn
	changed chan struct{} // closed at the next change, by whomever
	closed  bool

	stop context.CancelFunc
	done chan struct{}
}

// Open opens the file, or makes it.
func Open(ctx context.Context, conf Config) (*Desk, error) {
	if conf.MaxOpen <= 0 {
		conf.MaxOpen = 1000
	}
	if conf.Poll <= 0 {
		conf.Poll = 500 * time.Millisecond
	}
	if conf.Now == nil {
		conf.Now = time.Now
	}
	db, conn, err := openFile(ctx, conf.Path)
	if err != nil {
		return nil, fmt.Errorf("questions: failed to open %s: %s: %w", conf.Path, remedy(err), err)
	}
	d := &Desk{conf: conf, db: db, conn: conn, changed: make(chan struct{}), done: make(chan struct{})}
	var watch context.Context
	watch, d.stop = context.WithCancel(context.Background())
	go d.watch(watch)
	return d, nil
}

// Close ends it; who waits is told so.
func (d *Desk) Close() error {
	d.stop()
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	d.wake()
	return errors.Join(d.conn.Close(), d.db.Close())
}

// wake tells everybody who waits that something changed. d.mu is held.
func (d *Desk) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Changed is closed when a question changes next, in this process or another.
func (d *Desk) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// watch looks for changes by other processes.
func (d *Desk) watch(ctx context.Context) {
	defer close(d.done)
	tick := time.NewTicker(d.conf.Poll)
	defer tick.Stop()
	last := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		var now int64
		err := d.conn.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&now)
		if err == nil && now != last {
			d.wake() // at the first look, too: what another process did before it shows no other way
			last = now
		}
		d.mu.Unlock()
	}
}

// ErrShut is the error of a Desk that was closed.
var ErrShut = errors.New("questions: zeno is shutting down")

// with runs f on the connection. No statement is given a context that may end: the driver would give the connection up,
// and it is the only one.
func (d *Desk) with(f func(*sql.Conn) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrShut
	}
	return d.explain(f(d.conn))
}

// change runs f in a transaction and wakes who waits.
func (d *Desk) change(f func(context.Context, *sql.Conn) error) error {
	ctx := context.Background()
	return d.with(func(c *sql.Conn) error {
		err := inTx(ctx, c, func() error { return f(ctx, c) })
		if err == nil {
			d.wake()
		}
		return err
	})
}

// explain says what to do about a file that cannot be used.
func (d *Desk) explain(err error) error {
	var p *problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("questions: %s: %s: %w", d.conf.Path, remedy(err), err)
}

// remedy is what an operator can do about an error of SQLite.
func remedy(err error) string {
	var refused interface{ Code() int }
	if !errors.As(err, &refused) {
		return "cannot be used"
	}
	switch refused.Code() & 0xff { // the rest of the code tells more
	case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		return "damaged; nobody can be asked and no answer is passed on until a backup is in its place, or it is moved away with the questions in it, and zeno is started again"
	case 13: // SQLITE_FULL
		return "the disk is full; free space; what was asked and answered before stands"
	case 8, 14: // SQLITE_READONLY, SQLITE_CANTOPEN
		return "cannot be written; make it and its directory writable for this user"
	}
	return "cannot be used"
}

// Ask keeps a question; it is durable when this returns. sp, where not nil, is kept with it: what it takes to resume the
// spawn that asks. A question whose key stands already is not asked again: that one is returned.
func (d *Desk) Ask(ctx context.Context, a Ask, timeout time.Duration, sp *Spawn) (Ask, error) {
	if timeout < 0 || timeout > MaxTime {
		return Ask{}, wrong(ErrInvalid, ":timeout: got %v, want more than 0 and at most %v", timeout, MaxTime)
	}
	if timeout == 0 {
		timeout = DefaultTime
	}
	if err := a.check(); err != nil {
		return Ask{}, err
	}
	now := d.conf.Now().UTC()
	a = a.clone()
	a.State, a.Asked, a.Deadline = Asked, now, now.Add(timeout)
	if a.Default != nil {
		*a.Default, _ = a.accept(*a.Default)
	}
	err := d.change(func(ctx context.Context, c *sql.Conn) error {
		if a.Key != "" {
			if old, err := read(ctx, c, "key = ?", a.Key); err != nil || len(old) > 0 {
				if err == nil {
					a = old[0]
				}
				return err
			}
		}
		if err := d.room(ctx, c, a); err != nil {
			return err
		}
		if err := insert(ctx, c, &a); err != nil {
			return err
		}
		if sp != nil {
			if err := saveSpawn(ctx, c, *sp); err != nil {
				return err
			}
		}
		return logStep(ctx, c, Step{now, a})
	})
	return a, err
}

// room refuses what would be one question too many: in all, or a second one of the same spawn.
func (d *Desk) room(ctx context.Context, c *sql.Conn, a Ask) error {
	open, mine := 0, 0
	err := c.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(spawn = ? AND spawn <> ''), 0) FROM asks WHERE state = ?", a.Spawn, Asked).Scan(&open, &mine)
	switch {
	case err != nil:
		return err
	case mine > 0:
		return wrong(ErrFull, "question: got a second one of spawn %s, want the first one answered", a.Spawn)
	case open >= d.conf.MaxOpen:
		return wrong(ErrFull, "question: got %d open ones, want fewer than %d; a person must answer some first", open, d.conf.MaxOpen)
	}
	return nil
}

// Get gives one question.
func (d *Desk) Get(ctx context.Context, id string) (a Ask, err error) {
	ctx = context.WithoutCancel(ctx)
	err = d.with(func(c *sql.Conn) error {
		a, err = get(ctx, c, id)
		return err
	})
	return a, err
}

func get(ctx context.Context, c *sql.Conn, id string) (Ask, error) {
	n, err := number(id)
	if err != nil {
		return Ask{}, err
	}
	list, err := read(ctx, c, "id = ?", n)
	if err == nil && len(list) == 0 {
		err = wrong(ErrNotFound, "question %s: got no such question; the inbox lists the open ones", name(n))
	}
	if err != nil {
		return Ask{}, err
	}
	return list[0], nil
}

// In gives the questions in the given states, oldest first.
func (d *Desk) In(ctx context.Context, states ...State) (list []Ask, err error) {
	ctx = context.WithoutCancel(ctx)
	err = d.with(func(c *sql.Conn) error {
		all := []Ask{}
		for _, s := range states {
			some, err := read(ctx, c, "state = ?", s)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		slices.SortFunc(all, func(a, b Ask) int { return a.Asked.Compare(b.Asked) })
		list = all
		return nil
	})
	return list, err
}

// Inbox gives what waits for a person: open questions, and those that an operator must decide about.
func (d *Desk) Inbox(ctx context.Context) ([]Ask, error) { return d.In(ctx, Asked, Unknown) }

// Of gives the questions of a spawn, oldest first.
func (d *Desk) Of(ctx context.Context, spawn string) (list []Ask, err error) {
	ctx = context.WithoutCancel(ctx)
	err = d.with(func(c *sql.Conn) error {
		list, err = read(ctx, c, "spawn = ?", spawn)
		return err
	})
	return list, err
}

// Answer takes a person's answer. It is durable when this returns. An answer that is wrong, late or a second one is
// refused with an error that says so.
func (d *Desk) Answer(ctx context.Context, id, text, by string) (out Ask, err error) {
	err = d.change(func(ctx context.Context, c *sql.Conn) error {
		a, err := get(ctx, c, id)
		if err != nil {
			return err
		}
		if err := d.late(a); err != nil {
			return err
		}
		answer, err := a.accept(text)
		if err != nil {
			return fmt.Errorf("question %s: %w", a.ID, err)
		}
		out, err = d.answered(ctx, c, a, answer, by)
		return err
	})
	return out, err
}

func (d *Desk) answered(ctx context.Context, c *sql.Conn, a Ask, answer, by string) (Ask, error) {
	now := d.conf.Now().UTC()
	a.State, a.Answer, a.By, a.Answered = Answered, answer, by, now
	if err := write(ctx, c, a); err != nil {
		return a, err
	}
	return a, logStep(ctx, c, Step{now, a})
}

// late says why a question takes no answer.
func (d *Desk) late(a Ask) error {
	const at = "2006-01-02 15:04:05 MST"
	switch {
	case a.State == Asked && d.conf.Now().Before(a.Deadline):
		return nil
	case a.State == Asked, a.State == Expired, a.By == ByDefault:
		then := "the question failed"
		if a.Default != nil {
			then = "its default " + quoted(*a.Default) + " counts"
		}
		return wrong(ErrClosed, "question %s: got an answer too late: it could be answered until %s; %s", a.ID, a.Deadline.Format(at), then)
	case a.State == Withdrawn:
		return wrong(ErrClosed, "question %s: got an answer, but nobody waits for it any more: %s", a.ID, a.Note)
	case a.State == Unknown:
		return wrong(ErrClosed, "question %s: it has its answer, %s by %s; what is open is: %s", a.ID, quoted(a.Answer), a.By, a.Note)
	}
	return wrong(ErrClosed, "question %s: got a second answer; %s answered %s at %s", a.ID, a.By, quoted(a.Answer), a.Answered.Format(at))
}

// Move takes a question from one of the states from to what f makes of it. ok is false, and nothing changed, where it is in
// no such state, or f says no.
func (d *Desk) Move(ctx context.Context, id string, f func(*Ask) bool, from ...State) (out Ask, ok bool, err error) {
	err = d.change(func(ctx context.Context, c *sql.Conn) error {
		a, err := get(ctx, c, id)
		if err != nil {
			return err
		}
		out = a
		before := a.State
		if !slices.Contains(from, a.State) || !f(&a) {
			return nil
		}
		if err := write(ctx, c, a); err != nil {
			return err
		}
		out, ok = a, true
		if a.State == before {
			return nil
		}
		return logStep(ctx, c, Step{d.conf.Now().UTC(), a})
	})
	return out, ok && err == nil, err
}

// Expire ends the questions whose time is up: with their default, or as failed. It gives those, and when the next is due;
// the zero time: none is.
func (d *Desk) Expire(ctx context.Context) (expired []Ask, next time.Time, err error) {
	open, err := d.In(ctx, Asked)
	if err != nil {
		return nil, next, err
	}
	for _, a := range open {
		if d.conf.Now().Before(a.Deadline) {
			if next.IsZero() || a.Deadline.Before(next) {
				next = a.Deadline
			}
			continue
		}
		a, ok, err := d.Move(ctx, a.ID, func(a *Ask) bool {
			a.Answered = d.conf.Now().UTC()
			if a.Default != nil {
				a.State, a.Answer, a.By = Answered, *a.Default, ByDefault
				return true
			}
			if a.Kind == Approval { // silence is no consent, and the agent can go on without
				a.State, a.Answer, a.By = Answered, No, ByDefault
				return true
			}
			a.State, a.Note = Expired, "nobody answered until "+a.Deadline.Format(time.RFC3339)
			return true
		}, Asked)
		if err != nil {
			return expired, next, err
		}
		if ok {
			expired = append(expired, a)
		}
	}
	return expired, next, nil
}

// Wait returns the question once until says so.
func (d *Desk) Wait(ctx context.Context, id string, until func(Ask) bool) (Ask, error) {
	for {
		changed := d.Changed()
		a, err := d.Get(ctx, id)
		if err != nil || until(a) {
			return a, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// Forward hands every step that the journal has not yet to f, in order, and forgets those that f has taken.
func (d *Desk) Forward(ctx context.Context, f func(Step) error) error {
	ctx = context.WithoutCancel(ctx)
	for {
		var seqs []int64
		var steps []Step
		err := d.with(func(c *sql.Conn) error {
			rows, err := c.QueryContext(ctx, "SELECT seq, data FROM steps ORDER BY seq LIMIT 100")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var seq int64
				var data string
				if err := rows.Scan(&seq, &data); err != nil {
					return err
				}
				var s Step
				if err := json.Unmarshal([]byte(data), &s); err != nil {
					return err
				}
				seqs, steps = append(seqs, seq), append(steps, s)
			}
			return rows.Err()
		})
		if err != nil || len(steps) == 0 {
			return err
		}
		for i, s := range steps {
			if err := f(s); err != nil {
				return err
			}
			if err := d.with(func(c *sql.Conn) error {
				_, err := c.ExecContext(context.WithoutCancel(ctx), "DELETE FROM steps WHERE seq = ?", seqs[i])
				return err
			}); err != nil {
				return err
			}
		}
	}
}

// Lead makes this process the one that resumes spawns, until release is called. ok is false where another one is.
func (d *Desk) Lead() (release func(), ok bool, err error) {
	f, err := os.OpenFile(d.conf.Path+".lead", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("questions: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("questions: %w", err)
	}
	return func() { _ = f.Close() }, true, nil
}

// Decide is the operator's word about a question in the state Unknown. Where a call may or may not have been made, note
// says what became of it; else the answer is sent once more.
func (d *Desk) Decide(ctx context.Context, id, note, by string) (Ask, error) {
	q, err := d.Get(ctx, id)
	if err != nil {
		return q, err
	}
	called := q.Attempt == 0 && q.Approved() && q.Outcome == ""
	switch {
	case q.State != Unknown:
		return q, wrong(ErrClosed, "question %s: got a decision, but it is %s: only one in the state unknown waits for that", q.ID, q.State)
	case called && note == "":
		return q, wrong(ErrInvalid, "question %s: %s; want a note that tells the agent what became of it", q.ID, q.Note)
	case len(note) > MaxText || !plainText(note):
		return q, wrong(ErrInvalid, "note: got %d bytes, want UTF-8 text of at most %d", len(note), MaxText)
	}
	q, ok, err := d.Move(ctx, q.ID, func(q *Ask) bool {
		q.State, q.Refused = Answered, 0
		q.Note = by + " had it go on"
		if called {
			q.Outcome = "zeno was killed in it; " + by + " says: " + note
		}
		if q.Outcome != "" {
			q.State = Called
		}
		return true
	}, Unknown)
	if err == nil && !ok {
		err = wrong(ErrClosed, "question %s: somebody else has decided meanwhile", q.ID)
	}
	return q, err
}

// Withdraw takes a question back that nothing has begun for yet.
func (d *Desk) Withdraw(ctx context.Context, id, why, by string) (Ask, error) {
	if len(why) > MaxText || !plainText(why) {
		return Ask{}, wrong(ErrInvalid, "reason: got %d bytes, want UTF-8 text of at most %d", len(why), MaxText)
	}
	q, ok, err := d.Move(ctx, id, func(q *Ask) bool {
		q.State, q.Note = Withdrawn, "withdrawn by "+by
		if why != "" {
			q.Note += ": " + why
		}
		return true
	}, Asked, Unknown)
	if err == nil && !ok {
		err = wrong(ErrClosed, "question %s: got a withdrawal, but it is %s: only one that is open or unknown can be taken back", q.ID, q.State)
	}
	return q, err
}

// NotFound is the error for a question where there are none at all.
func NotFound(id string) error {
	return wrong(ErrNotFound, "question %s: got no such question: nothing was asked in this home yet", quoted(id))
}
