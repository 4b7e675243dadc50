package spawn

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/modelserver"
)

// numbered gives the n-th request its fault, counted from 1.
func numbered(faults map[int64]modelserver.Fault) func(modelserver.Request) modelserver.Fault {
	var seen atomic.Int64
	return func(modelserver.Request) modelserver.Fault { return faults[seen.Add(1)] }
}

// TestRealRecovers: the model server is busy, then says when to come back, and a connection to it breaks off in the middle
// of an answer. The run goes on, and what broke off is not charged for. gemini does not try again what broke off; omp does
// only where none of it has arrived, which a reset leaves to chance.
func TestRealRecovers(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r := newReal(t, cli, nil)
		faults := map[int64]modelserver.Fault{1: {Status: 503}, 2: {Status: 429, RetryAfter: "1"}}
		if cli != "gemini" && cli != "omp" {
			faults[4] = modelserver.Fault{Break: modelserver.Reset}
		}
		r.model.Set(modelserver.Config{Fault: numbered(faults)})
		r.req.ID, r.req.Timeout = "recovers-"+cli, 3*time.Minute
		res := r.Run(context.Background(), r.req)
		r.wantNothingLeft(t)
		want(t, res, OK, "")
		if res.Answer != "RESULT: => (+ 1 2)" || res.Evals != 1 || res.Usage.TokensIn != 20 || res.Usage.TokensOut != 10 {
			t.Errorf("got %q, %d evals, %+v; want one eval's result, and two answers' usage", res.Answer, res.Evals, res.Usage)
		}
	})
}

// TestRealReported: the model server fails in the middle of an answer and says so in its stream, each time.
func TestRealReported(t *testing.T) {
	for _, cli := range []string{"claude", "codex", "pi"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			r := newReal(t, cli, nil)
			r.model.Set(modelserver.Config{Fault: func(modelserver.Request) modelserver.Fault { return modelserver.Fault{Break: modelserver.Report} }})
			r.req.ID, r.req.Timeout = "reported-"+cli, 2*time.Minute
			want(t, r.Run(context.Background(), r.req), Failed, cli+": ")
			r.wantNothingLeft(t)
		})
	}
}

// TestRealStreamHangs: the model server stops in the middle of an answer and keeps the connection. The spawn's stall ends
// it, and the error says where to look.
func TestRealStreamHangs(t *testing.T) {
	for _, cli := range []string{"claude", "codex"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			r := newReal(t, cli, nil)
			r.model.Set(modelserver.Config{Fault: func(modelserver.Request) modelserver.Fault { return modelserver.Fault{Break: modelserver.Stall} }})
			r.req.ID, r.req.Timeout, r.req.Stall = "hangs-"+cli, 3*time.Minute, 20*time.Second
			want(t, r.Run(context.Background(), r.req), Stalled, "its model server is slow or hangs")
			r.wantNothingLeft(t)
		})
	}
}
