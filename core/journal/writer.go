package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

const (
	queueSize  = 1024   // requests handed over and not yet taken
	maxBatch   = 1000   // events of one transaction
	maxWaiting = 10_000 // events kept in memory while the file cannot be written
	retryAfter = time.Second
)

// request is something for the writer: an event, a change of a mark with its event, or a job.
type request struct {
	nothing bool // no event
	event   Event
	payload payload
	mark    *markChange
	job     func(context.Context) error // runs by itself, after what waits was written
	answer  chan answer                 // of capacity 1; nil: nobody waits
}

type answer struct {
	event   Event
	mark    Mark
	changed bool // of a mark
	err     error
}

// head is where the chain ends.
type head struct {
	seq  uint64
	hash Hash
	at   time.Time
}

// openSegment is the one that events go to.
type openSegment struct {
	id, first uint64
	prevSeal  Hash
	since     time.Time // its first event; zero: none yet
	bytes     int64     // about, since this process has it
}

// writer is the one goroutine that gives events their place and writes them. It alone touches its fields, but for those
// marked.
type writer struct {
	conf  Config
	conn  *sql.Conn
	stmts [2]*sql.Stmt
	queue chan *request // from anyone
	done  chan struct{} // closed at its end
	hub   hub           // for anyone

	head    head
	open    openSegment
	floor   uint64 // the last event that was dropped
	garbage bool   // some of those dropped are still in the file
	pending []*request
	fresh   []Event // written in the running transaction, to be published

	failing atomic.Pointer[error] // for anyone: why the last transaction failed; nil: it did not
	waiting atomic.Int64          // for anyone: len(pending)
}

const (
	insertEvent   = "INSERT INTO events (seq, at, kind, role, spawn, outcome, elapsed, payload_hash, hash) VALUES (?,?,?,?,?,?,?,?,?)"
	insertPayload = "INSERT INTO payloads (seq, salt, data) VALUES (?,?,?)"
)

func newWriter(ctx context.Context, conf Config, conn *sql.Conn) (*writer, error) {
	w := &writer{conf: conf, conn: conn, queue: make(chan *request, queueSize), done: make(chan struct{})}
	for i, q := range []string{insertEvent, insertPayload} {
		var err error
		if w.stmts[i], err = conn.PrepareContext(ctx, q); err != nil {
			w.close()
			return nil, err
		}
	}
	if err := w.load(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *writer) now() time.Time    { return w.conf.Now().UTC() }
func (w *writer) fail(point string) { w.conf.OnWrite(point) }

// run takes requests until the queue is closed.
func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	armed := false
	for {
		var idle chan struct{} // closed where there is something to do meanwhile
		if w.garbage && len(w.queue) == 0 {
			idle = make(chan struct{})
			close(idle)
		}
		select {
		case r, ok := <-w.queue:
			if !ok {
				w.commit()
				return
			}
			if w.take(r) {
				w.commit()
			}
		case <-timer.C:
			armed = false
			w.commit()
		case <-idle:
			if _, err := w.sweep(context.Background()); err != nil {
				w.stays(err)
			}
		}
		switch { // a timer that runs goes on
		case len(w.pending) == 0:
			armed = false
			timer.Stop()
		case armed:
		case w.failing.Load() != nil:
			armed = true
			timer.Reset(retryAfter)
		default:
			armed = true
			timer.Reset(w.conf.Batch)
		}
	}
}

// take takes r, and tells whether to write now. Where somebody waits, it takes what else has come: all of it is written
// in one transaction.
func (w *writer) take(r *request) (now bool) {
	for {
		if r.job != nil {
			w.commit()
			r.answer <- answer{err: explain(w.conf.Path, r.job(context.Background()))}
			return false
		}
		w.pending = append(w.pending, r)
		now = now || r.answer != nil
		if !now {
			w.waiting.Store(int64(len(w.pending)))
			return len(w.pending) >= maxBatch && len(w.pending)%maxBatch == 0
		}
		if len(w.pending) >= maxBatch {
			return true
		}
		var ok bool
		select {
		case r, ok = <-w.queue:
			if !ok {
				return true
			}
		default:
			return true
		}
	}
}

// commit writes what is pending.
func (w *writer) commit() {
	if len(w.pending) == 0 {
		return
	}
	ctx := context.Background()
	answers := make([]answer, len(w.pending))
	if !slices.ContainsFunc(w.pending, func(r *request) bool { return !r.nothing }) {
		w.settle(answers, nil)
		return
	}
	sealed := false
	err := w.transact(ctx, func() error {
		for i, r := range w.pending {
			if answers[i] = w.write(ctx, r); answers[i].err != nil {
				return answers[i].err
			}
		}
		w.fail("written")
		if sealed = w.full(); sealed {
			return w.seal(ctx)
		}
		return nil
	})
	w.settle(answers, err)
	if err == nil && sealed {
		if err := w.retain(ctx, w.conf.Retention); err != nil {
			w.stays(err)
		}
	}
}

func (w *writer) stays(err error) {
	w.conf.OnError(fmt.Errorf("journal: failed to drop old events, which stay for now: %w", explain(w.conf.Path, err)))
}

// settle tells those who wait how it went. After a failure, events that nobody waits for are kept and tried again; the
// others were not recorded, and whoever waits is told so.
func (w *writer) settle(answers []answer, err error) {
	err = explain(w.conf.Path, err)
	kept := w.pending[:0]
	for i, r := range w.pending {
		switch {
		case r.answer == nil && err != nil:
			kept = append(kept, r)
		case r.answer != nil:
			answers[i].err = errors.Join(answers[i].err, err)
			if err != nil {
				answers[i] = answer{event: r.event, err: err}
			}
			r.answer <- answers[i]
		}
	}
	clear(w.pending[len(kept):])
	w.pending = kept
	w.waiting.Store(int64(len(kept)))
	was := w.failing.Load()
	switch {
	case err != nil:
		w.failing.Store(&err)
		if was == nil {
			w.conf.OnError(err)
		}
	case was != nil:
		w.failing.Store(nil)
		w.conf.OnError(nil)
	}
}

// overrun is the error for an event that finds too many waiting for a file that cannot be written.
func (w *writer) overrun() error {
	if err := w.failing.Load(); err != nil && w.waiting.Load() >= maxWaiting {
		return fmt.Errorf("journal: %d events wait for the file to be writable again; this one is not recorded: %w", maxWaiting, *err)
	}
	return nil
}

// lost is the error for what could not be written in the end.
func (w *writer) lost() error {
	if n := len(w.pending); n > 0 {
		return fmt.Errorf("journal: %d events are lost: %w", n, *w.failing.Load())
	}
	return nil
}

// transact runs f in a transaction, whose events are published if it holds. If not, the chain ends where it did before.
func (w *writer) transact(ctx context.Context, f func() error) error {
	before, open := w.head, w.open
	w.fresh = w.fresh[:0]
	w.fail("begin")
	err := inTx(ctx, w.conn, func() error {
		if err := f(); err != nil {
			return err
		}
		w.fail("commit")
		return nil
	})
	w.fail("committed")
	if err != nil && w.landed(ctx, before) {
		err = nil
	}
	if err != nil {
		w.head, w.open = before, open
		return err
	}
	for _, e := range w.fresh {
		w.hub.publish(e)
	}
	clear(w.fresh)
	return nil
}

// landed tells whether the transaction is in the file although it ended in an error.
func (w *writer) landed(ctx context.Context, before head) bool {
	if w.head.seq == before.seq {
		return false
	}
	var hash []byte
	err := w.conn.QueryRowContext(ctx, "SELECT hash FROM events WHERE seq = ?", w.head.seq).Scan(&hash)
	return err == nil && string(hash) == string(w.head.hash[:])
}

// write writes one request within the transaction.
func (w *writer) write(ctx context.Context, r *request) answer {
	if r.nothing {
		return answer{}
	}
	var a answer
	if r.mark != nil {
		if a = r.mark.apply(ctx, w); a.err != nil || !a.changed {
			return a
		}
	}
	a.event, a.err = w.add(ctx, r.event, r.payload)
	return a
}

// add puts an event at the end of the chain.
func (w *writer) add(ctx context.Context, e Event, p payload) (Event, error) {
	e.Seq = w.head.seq + 1
	hash := eventHash(w.head.hash, &e, p.hash)
	sum := p.hash
	if sum == nil {
		sum = []byte{}
	}
	_, err := w.stmts[0].ExecContext(ctx, e.Seq, e.At.UnixNano(), e.Kind, e.Role, e.Spawn, e.Outcome, int64(e.Elapsed), sum, hash[:])
	if err != nil {
		return e, err
	}
	if p.data != nil {
		if _, err := w.stmts[1].ExecContext(ctx, e.Seq, p.salt, string(p.data)); err != nil {
			return e, err
		}
	}
	w.fail("event")
	w.head = head{e.Seq, hash, e.At}
	if w.open.since.IsZero() {
		w.open.since = e.At
	}
	w.open.bytes += eventBytes + int64(len(p.data))
	w.fresh = append(w.fresh, e)
	return e, nil
}

// addOwn adds an event of the journal itself.
func (w *writer) addOwn(ctx context.Context, kind string, data map[string]any) error {
	p, err := newPayload(data)
	if err != nil {
		return err
	}
	_, err = w.add(ctx, clean(Event{Kind: kind, At: w.now(), Data: data}), p)
	return err
}

// full tells whether the open segment is to be sealed.
func (w *writer) full() bool {
	n := w.head.seq + 1 - w.open.first
	return n >= uint64(w.conf.SegmentEvents) || w.tooLarge() || n > 0 && w.now().Sub(w.open.since) >= w.conf.SegmentAge
}

func (w *writer) close() {
	for _, st := range w.stmts {
		if st != nil {
			_ = st.Close()
		}
	}
}
