package nrepl

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestHundredSessions(t *testing.T) {
	s := start(t, Config{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := Dial(t.Context(), s.Addr(), "")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			ses, err := c.Clone(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 20 {
				m, err := c.Do(t.Context(), Message{"op": "eval", "session": ses, "code": fmt.Sprintf("(println %d) (def mine%d %d) (+ mine%d %d)", i, i, n, i, i)}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				out, _ := m["out"].(string)
				if v, _ := m["value"].(string); !strings.HasSuffix(v, fmt.Sprint("\n", n+i)) || out != fmt.Sprint(i, "\n") {
					t.Errorf("session %d: got %q and %q", i, v, out)
				}
			}
		}()
	}
	wg.Wait()
}

func TestTenThousandEvaluations(t *testing.T) {
	s := start(t, Config{})
	p := open(t, s)
	p.eval("(def n (atom 0))")
	const batch = 500
	var b strings.Builder
	for i := range batch {
		b.WriteString(encoded(t, Message{"op": "eval", "code": "(swap! n inc)", "session": p.ses, "id": fmt.Sprint("e", i)}))
	}
	for range 10_000 / batch {
		p.raw(b.String())
		p.await("the last", func(m Message) bool { return m["id"] == fmt.Sprint("e", batch-1) && has(m, "done") })
		p.mu.Lock()
		p.all = nil
		p.mu.Unlock()
	}
	p.wants("@n", "10000")
}

func TestTenMegabytes(t *testing.T) {
	s := start(t, Config{})
	p := open(t, s)
	if got := len(text(p.eval(`(apply str (repeat 1000000 "0123456789"))`), "value")); got != 10_000_002 {
		t.Errorf("a value: got %d bytes, want 10000002", got)
	}
	ms := p.eval(`(dotimes [i 100000] (println (str i " " (apply str (repeat 9 "0123456789")))))`)
	lines := strings.Split(strings.TrimSuffix(text(ms, "out"), "\n"), "\n")
	if len(lines) != 100_000 {
		t.Fatalf("output: got %d lines, want 100000", len(lines))
	}
	for i, l := range lines {
		if !strings.HasPrefix(l, fmt.Sprint(i, " ")) {
			t.Fatalf("output: line %d is %q", i, l)
		}
	}
	if len(ms) > 2000 {
		t.Errorf("output: got %d messages, want it gathered in chunks of 16 KiB", len(ms))
	}
	if got := values(p.eval(";" + strings.Repeat("x", 10<<20) + "\n(+ 1 2)")); len(got) != 1 || got[0] != "3" {
		t.Errorf("code: got %v, want 3", got)
	}
}

// TestThousandConnections leaves nothing behind: no goroutine and no session of those that were not named.
func TestThousandConnections(t *testing.T) {
	s := start(t, Config{})
	keep := open(t, s)
	before := runtime.NumGoroutine()
	for i := range 1000 {
		nc, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i%50 == 0:
			_, _ = nc.Write([]byte("d4:code" + fmt.Sprint(len(loop)) + ":" + loop + "2:op4:evale"))
		case i%3 == 0:
			_, _ = nc.Write([]byte(good))
			_, _ = nc.Read(make([]byte, 10))
		case i%3 == 1:
			_, _ = nc.Write([]byte(good[:i%len(good)]))
		}
		_ = nc.Close()
	}
	deadline := time.Now().Add(patience)
	for s.connections() > 1 || runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections and %d goroutines are there, want 1 and %d", s.connections(), runtime.NumGoroutine(), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := len(s.allSessions()); got != 1 {
		t.Errorf("got %d sessions, want 1", got)
	}
	keep.wants("(+ 1 2)", "3")
}

// TestStopEndsEverything: TestMain looks for goroutines.
func TestStopEndsEverything(t *testing.T) {
	s, err := New(Config{Env: newEnv(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ps []*peer
	for range 5 {
		p := open(t, s)
		p.send(Message{"op": "eval", "code": loop})
		p.send(Message{"op": "eval", "code": "(read-line)"})
		p.send(Message{"op": "eval", "code": loop, "session": ""})
		ps = append(ps, p)
	}
	time.Sleep(30 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	for _, p := range ps {
		if !p.closed(patience) {
			t.Error("a connection is open after Stop")
		}
	}
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if err := s.Start(ctx); err == nil {
		t.Error("start after stop: got no error")
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("somebody still listens")
	}
}
