package spawn

import (
	"context"
	"testing"
	"time"
)

// TestCancelEndsEvalsAtOnce: a CLI that does not heed its TERM lives on for its grace, but its token does not. On a slow
// machine the grace must be long to tell the two apart.
func TestCancelEndsEvalsAtOnce(t *testing.T) {
	for _, grace := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		if took := cutAfter(t, grace); took < grace {
			return
		} else if grace == time.Minute {
			t.Errorf("the token lived for %v after the cancel, want it gone at once", took)
		}
	}
}

// cutAfter cancels a stubborn CLI and gives how long its token lived on.
func cutAfter(t *testing.T, grace time.Duration) time.Duration {
	t.Helper()
	h, q := fake(t, `trap '' TERM; echo '{"text":"begun"}'; while :; do sleep 0.1; done`, true)
	q.ID, q.Grace = "stubborn", grace
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	live := func() bool { return h.gateway.note(q.ID, func(a *Activity) { a.Evals = 7 }) }
	cut := make(chan time.Duration, 1)
	go func() {
		for !h.began(q.ID) {
			time.Sleep(5 * time.Millisecond)
		}
		if !live() {
			t.Error("the token was not there before the cancel")
		}
		begun := time.Now()
		cancel()
		for h.gateway.note(q.ID, func(*Activity) {}) && time.Since(begun) < 2*grace {
			time.Sleep(5 * time.Millisecond)
		}
		cut <- time.Since(begun)
	}()
	begun := time.Now()
	res := h.Run(ctx, q)
	want(t, res, Cancelled, "cancelled")
	if res.Evals != 7 || time.Since(begun) < q.Grace {
		t.Errorf("got %d evals after %v, want 7, and the CLI to be killed after its grace", res.Evals, time.Since(begun))
	}
	return <-cut
}

// began tells whether the CLI of a spawn has said something.
func (h *house) began(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Spawn == id && e.Kind == Line {
			return true
		}
	}
	return false
}
