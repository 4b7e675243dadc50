package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// waitFor polls until ok, because what it waits for happens on the other side
// of a connection.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func (l *lane) waiters() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// Evals of one spawn run one at a time in order of arrival, eight wait, and the
// ninth is refused at once.
func TestOneSpawnRunsInOrder(t *testing.T) {
	var under, most atomic.Int64
	b := newBlocking()
	host := &fakeHost{eval: func(ctx context.Context, c Caller, code string) Reply {
		if c.Spawn == "s2" {
			return Reply{Value: code}
		}
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		return b.eval(ctx, c, code)
	}}
	s := start(t, Config{Host: host})
	token := issue(t, s, "r", "s1")
	c, url := client(t), s.URL("r")
	sp := s.reg.spawns["s1"]
	var wg sync.WaitGroup
	var want []string
	for i := range 9 { // one runs, eight wait
		code := fmt.Sprint("e", i)
		want = append(want, code)
		wg.Go(func() {
			if text, _ := toolText(t, send(t, c, ask{url: url, token: token, body: callBody(i, code)})); text != "=> "+code {
				t.Errorf("%s: got %q", code, text)
			}
		})
		if i == 0 {
			<-b.began
		}
		waitFor(t, "the eval to arrive", func() bool { return sp.lane.waiters() == i })
	}
	// It is answered while the nine are there: it waits for none of them.
	text, isErr := toolText(t, send(t, c, ask{url: url, token: token, body: callBody(10, "tenth")}))
	if !isErr || !strings.HasPrefix(text, "error (busy): 8 evals") {
		t.Errorf("one too many: got %q, want a busy error", text)
	}
	// Another spawn does not wait for this one.
	other := issue(t, s, "r", "s2")
	if text, _ := toolText(t, send(t, c, ask{url: url, token: other, body: callBody(1, "other")})); text != "=> other" {
		t.Errorf("other spawn: got %q, want its value", text)
	}
	close(b.free)
	wg.Wait()
	got := slices.DeleteFunc(host.seen(), func(code string) bool { return code == "other" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if most.Load() != 1 {
		t.Errorf("evals of one spawn at once: got %d, want 1", most.Load())
	}
}

// Without the bound the ninth would wait as well.
func TestLane(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		limit int
		until time.Duration
		want  error
	}{{1, patience, errBusy}, {2, 20 * time.Millisecond, context.Canceled}} {
		var l lane
		if err := l.enter(ctx, 0); err != nil {
			t.Fatal(err)
		}
		first := make(chan error)
		go func() { first <- l.enter(ctx, 1) }()
		waitFor(t, "a waiter", func() bool { return l.waiters() == 1 })
		short, cancel := context.WithCancel(ctx)
		late := time.AfterFunc(tt.until, cancel)
		if err := l.enter(short, tt.limit); !errors.Is(err, tt.want) {
			t.Errorf("limit %d: got %v, want %v", tt.limit, err, tt.want)
		}
		l.leave()
		if err := <-first; err != nil {
			t.Errorf("the first waiter: got %v, want its turn", err)
		}
		l.leave()
		if l.taken || len(l.waiting) > 0 {
			t.Errorf("at the end: got taken %v, %d waiting, want neither", l.taken, len(l.waiting))
		}
		late.Stop()
		cancel()
	}
}

// Waiters that give up in any order never lose the turn.
func TestLaneUnderChurn(t *testing.T) {
	var l lane
	var wg sync.WaitGroup
	var inside atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*j)%97)*time.Microsecond)
				if l.enter(ctx, 8) == nil {
					if inside.Add(1) != 1 {
						t.Error("two are inside")
					}
					inside.Add(-1)
					l.leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if l.taken || len(l.waiting) > 0 {
		t.Errorf("at the end: got taken %v, %d waiting, want neither", l.taken, len(l.waiting))
	}
}

// A POST that is dropped ends its eval, running or waiting.
func TestDroppedPostCancels(t *testing.T) {
	for _, progress := range []bool{false, true} {
		b := newBlocking()
		s := start(t, Config{Host: &fakeHost{eval: b.eval}, KeepAlive: 10 * time.Millisecond})
		token := issue(t, s, "r", "s1")
		c := client(t)
		post := func(ctx context.Context, code string) <-chan error {
			body := callBody(1, code)
			if progress {
				body = strings.Replace(body, `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
			}
			done := make(chan error, 1)
			go func() {
				_, err := trySend(ctx, c, ask{url: s.URL("r"), token: token, body: body})
				done <- err
			}()
			return done
		}
		ctx, drop := context.WithCancel(t.Context())
		running := post(ctx, "running")
		<-b.began
		ctx2, drop2 := context.WithCancel(t.Context())
		waiting := post(ctx2, "waiting")
		sp := s.reg.spawns["s1"]
		waitFor(t, "a waiter", func() bool { return sp.lane.waiters() == 1 })
		drop2()
		<-waiting
		waitFor(t, "the waiter to leave", func() bool { return sp.lane.waiters() == 0 })
		drop()
		<-running
		select {
		case err := <-b.ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("progress %v: cause: got %v, want cancelled", progress, err)
			}
		case <-time.After(patience):
			t.Fatalf("progress %v: the eval went on after the client had gone", progress)
		}
	}
}

func TestRevokeEndsEvals(t *testing.T) {
	b := newBlocking()
	s := start(t, Config{Host: &fakeHost{eval: b.eval}})
	token := issue(t, s, "r", "s1")
	c := client(t)
	texts := make(chan string, 2)
	post := func(code string) {
		text, _ := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, code)}))
		texts <- text
	}
	go post("running")
	<-b.began
	sp := s.reg.spawns["s1"]
	go post("waiting")
	waitFor(t, "a waiter", func() bool { return sp.lane.waiters() == 1 })
	a := s.Revoke("s1")
	if !a.Connected || a.Requests != 2 || a.Evals != 1 || a.LastAt.IsZero() {
		t.Errorf("activity: got %+v, want 2 requests and 1 eval", a)
	}
	if err := <-b.ended; !errors.Is(err, errRevoked) {
		t.Errorf("the running eval: got cause %v, want %v", err, errRevoked)
	}
	all := <-texts + "\n" + <-texts
	if !strings.Contains(all, "error (revoked): the spawn has ended; this one was not run") {
		t.Errorf("answers: got %q, want one that says it was not run", all)
	}
	if got := send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "x")}); got.status != 404 {
		t.Errorf("afterwards: got %d, want 404", got.status)
	}
	if a := s.Observe("s1"); a != (Activity{}) {
		t.Errorf("afterwards: got %+v, want nothing known", a)
	}
}

// Waiting counts in the timeout; a Host that does not end with its context does
// not hold the answer up, but holds its lane.
func TestTimeout(t *testing.T) {
	free := make(chan struct{})
	host := &fakeHost{eval: func(_ context.Context, _ Caller, code string) Reply {
		if code == "deaf" {
			<-free
		}
		return Reply{Value: code}
	}}
	host.surface = func(Caller) (Surface, bool) { return Surface{EvalTimeout: 150 * time.Millisecond}, true }
	s := start(t, Config{Host: host, Grace: 50 * time.Millisecond})
	token := issue(t, s, "r", "s1")
	c := client(t)
	do := func(code string) string {
		text, _ := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, code)}))
		return text
	}
	if got := do("deaf"); !strings.HasPrefix(got, "error (limit/time): no result within 150ms, and it did not stop") {
		t.Errorf("deaf: got %q, want a timeout", got)
	}
	if got := do("next"); !strings.HasPrefix(got, "error (limit/time): waited 150ms behind other evals") {
		t.Errorf("while the lane is taken: got %q, want a timeout", got)
	}
	close(free)
	waitFor(t, "the lane to be free", func() bool { return s.running.count() == 0 })
	host.setSurface(func(Caller) (Surface, bool) { return Surface{EvalTimeout: patience}, true })
	if got := do("after"); got != "=> after" {
		t.Errorf("afterwards: got %q, want a value", got)
	}
}

// A Host that ends with its context gets its own words through.
func TestTimeoutInTheHostsWords(t *testing.T) {
	b := newBlocking()
	host := &fakeHost{eval: b.eval, surface: func(Caller) (Surface, bool) {
		return Surface{EvalTimeout: 50 * time.Millisecond}, true
	}}
	s := start(t, Config{Host: host, Grace: patience})
	text, _ := toolText(t, send(t, client(t), ask{url: s.URL("r"), token: issue(t, s, "r", "s1"), body: callBody(1, "x")}))
	if want := "error (limit/time): " + errTimeout.Error(); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// A panic of the Host is one caller's error; what it said stays inside.
func TestPanic(t *testing.T) {
	host := &fakeHost{eval: func(_ context.Context, _ Caller, code string) Reply {
		if code == "boom" {
			panic("secret-7")
		}
		return Reply{Value: code}
	}}
	func() { // without the guard it goes up
		defer func() {
			if recover() == nil {
				t.Error("the fake host does not panic")
			}
		}()
		host.Eval(t.Context(), Caller{}, "boom", nil)
	}()
	var log safeBuffer
	s := start(t, Config{Host: host, Log: textLog(&log)})
	token := issue(t, s, "r", "s1")
	c := client(t)
	text, isErr := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "boom")}))
	if !isErr || !strings.HasPrefix(text, "error (internal): ") || strings.Contains(text, "secret") {
		t.Errorf("got %q, want an internal error that keeps the panic to itself", text)
	}
	if !strings.Contains(log.String(), "secret-7") {
		t.Errorf("log: got %q, want the panic in it", log.String())
	}
	if text, _ := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "ok")})); text != "=> ok" {
		t.Errorf("afterwards: got %q, want a value", text)
	}
	host.setSurface(func(Caller) (Surface, bool) { panic("surface") })
	if got := send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "ok")}); got.status != 500 {
		t.Errorf("a panic in Surface: got %d, want 500", got.status)
	}
}

// What was granted when a request arrived counts for an eval that begins at once. One that waited begins under what is
// granted by then.
func TestWhoWaitedIsAskedAnew(t *testing.T) {
	b := newBlocking()
	var grants atomic.Int64
	host := &fakeHost{eval: b.eval, surface: func(Caller) (Surface, bool) { return Surface{Grant: grants.Add(1)}, true }}
	var passed atomic.Int64
	at := time.Now()
	s := start(t, Config{Host: host, Now: func() time.Time { return at.Add(time.Duration(passed.Load())) }})
	token, c := issue(t, s, "r", "s1"), client(t)
	post := func(code string) func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, code)})
		}()
		return func() { <-done }
	}
	first := post("first")
	<-b.began
	second := post("second")
	waitFor(t, "the second to wait", func() bool { return s.reg.find(token, "r", at).lane.waiters() == 1 })
	passed.Add(int64(2 * Fresh))
	close(b.free)
	first()
	second()
	post("third")()
	host.mu.Lock()
	defer host.mu.Unlock()
	if want := []any{int64(1), nil, int64(3)}; !slices.Equal(host.granted, want) {
		t.Errorf("got the grants %v, want %v", host.granted, want)
	}
}

func TestInFlightIsBounded(t *testing.T) {
	b := newBlocking()
	s := start(t, Config{Host: &fakeHost{eval: b.eval}, MaxInFlight: 2})
	token := issue(t, s, "r", "s1")
	c := client(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "x")}) })
	}
	sp := s.reg.spawns["s1"]
	waitFor(t, "both", func() bool { return sp.inflight.Load() == 2 })
	if got := send(t, c, ask{url: s.URL("r"), token: token, body: callBody(1, "x")}); got.status != 429 {
		t.Errorf("the third: got %d, want 429", got.status)
	}
	close(b.free)
	wg.Wait()
	waitFor(t, "none", func() bool { return sp.inflight.Load() == 0 })
}
