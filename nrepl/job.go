package nrepl

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// job is a request that runs code, in the queue of its session.
type job struct {
	r   *request
	x   *session
	run func(j *job) // on a goroutine of its own
	ctx context.Context
	out *output

	cancel      context.CancelFunc
	interrupted atomic.Bool
	over        atomic.Bool // the last message has been sent

	mu sync.Mutex // of sending: nothing of the job follows its last message
}

// submit queues run for the session of r.
func (r *request) submit(run func(*job)) {
	j := &job{r: r, x: r.ses, run: run}
	j.ctx, j.cancel = context.WithCancel(r.ses.ctx)
	j.out = &output{j: j}
	if refused := r.ses.enqueue(j); refused != "" {
		j.cancel()
		r.finish(nil, "error", refused, "done")
	}
}

// perform runs the job to its end. One that does not stop when it is interrupted is abandoned: it goes on, unheard, and the
// session goes on without it.
func (j *job) perform() {
	done := make(chan struct{})
	j.x.s.wg.Add(1)
	go func() {
		defer j.x.s.wg.Done()
		defer close(done)
		defer j.conclude("done")
		defer j.x.s.survive("job", j.r.op)
		j.run(j)
	}()
	select {
	case <-done:
		return
	case <-j.ctx.Done():
	}
	timer := time.NewTimer(j.x.s.conf.Patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		j.x.s.conf.Log.Warn("nrepl: an evaluation does not stop; it goes on in the background", "session", j.x.id)
		j.x.renew(j.x.lisp().Fork())
		j.conclude("done")
	}
}

// send sends a message of the job, unless that has ended.
func (j *job) send(m bencode.Dict) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.over.Load() && !j.interrupted.Load() {
		_ = j.r.c.out.send(j.ctx, j.r.dress(m)) // a client that has gone is nobody's error
	}
}

// conclude sends the last message, once.
func (j *job) conclude(status ...string) { j.finish(nil, status...) }

// finish sends the last message, m with the status, once.
func (j *job) finish(m bencode.Dict, status ...string) {
	j.out.conclude()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over.Swap(true) {
		return
	}
	j.cancel()
	if j.interrupted.Load() && status[0] != "interrupted" {
		status = append([]string{"interrupted"}, status...)
	}
	m = j.r.dress(m)
	m["status"] = status
	_ = j.r.c.out.post(m) // as in send
	j.r.release()
	j.r.c.end()
}

// opInterrupt stops what a session runs, or takes out of its queue what waits.
func (s *Server) opInterrupt(r *request) {
	want, named := r.msg["interrupt-id"]
	if named && isEmpty(want) {
		named = false
	}
	j, running, idle := r.ses.find(want, named)
	switch {
	case j != nil:
		j.interrupted.Store(true)
		j.cancel()
		if !running {
			j.conclude("interrupted", "done")
		}
		r.answer(nil)
	case idle && r.ses == r.c.own:
		r.finish(nil, "error", "session-ephemeral", "done")
	case idle:
		r.finish(nil, "session-idle", "done")
	default:
		r.finish(nil, "error", "interrupt-id-mismatch", "done")
	}
}

// find gives the job of an id, or the one that runs. What waits is taken out of the queue.
func (x *session) find(id any, named bool) (j *job, running, idle bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running == nil && len(x.queue) == 0 {
		return nil, false, true
	}
	if x.running != nil && (!named || sameID(x.running.r.id, id)) {
		return x.running, true, false
	}
	for i, q := range x.queue {
		if !named || sameID(q.r.id, id) {
			x.queue = append(append([]*job{}, x.queue[:i]...), x.queue[i+1:]...)
			return q, false, false
		}
	}
	return nil, false, false
}

// sameID compares ids, which are strings or numbers.
func sameID(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	}
	return false
}
