package nrepl

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	p := open(t, start(t, Config{Version: "9.9"}))
	m := last(p.ask(Message{"op": "describe"}))
	ops, ok := m["ops"].(Message)
	if !ok {
		t.Fatalf("ops: got %T, want a dictionary", m["ops"])
	}
	for _, name := range strings.Fields("clone close describe eval load-file interrupt stdin ls-sessions completions complete lookup info eldoc " +
		"ns-list ns-vars apropos classpath stacktrace analyze-last-stacktrace macroexpand format-code undef test test-var-query " +
		"cider/complete cider/info cider/eldoc cider/macroexpand cider/analyze-last-stacktrace") {
		if d, ok := ops[name].(Message); !ok || len(d) != 0 {
			t.Errorf("ops: %s is %v, want an empty dictionary", name, ops[name])
		}
	}
	versions, _ := m["versions"].(Message)
	if _, claims := versions["clojure"]; claims || versions["nrepl"] == nil || versions["zeno"].(Message)["version-string"] != "9.9" {
		t.Errorf("versions: got %v, want zeno 9.9 and nrepl, and not clojure", versions)
	}
	if aux, _ := m["aux"].(Message); aux["current-ns"] != "user" {
		t.Errorf("aux: got %v, want current-ns user", m["aux"])
	}
	m = last(p.ask(Message{"op": "describe", "verbose?": 1}))
	if doc, _ := m["ops"].(Message)["eval"].(Message)["doc"].(string); doc == "" {
		t.Error("verbose: got no doc of eval, want one")
	}
}

func TestSessions(t *testing.T) {
	s := start(t, Config{})
	p := connect(t, s)
	first := last(p.ask(Message{"op": "clone", "client-name": "test", "client-version": "1"}))
	id, _ := first["new-session"].(string)
	if id == "" || first["session"] == "" {
		t.Fatalf("clone: got %v, want a new session and the session of the request", first)
	}
	second := last(p.ask(Message{"op": "clone", "session": id}))
	if second["session"] != id || second["new-session"] == id || second["new-session"] == nil {
		t.Errorf("clone of a session: got %v, want another one, told in that session", second)
	}
	list := texts(last(p.ask(Message{"op": "ls-sessions"}))["sessions"])
	if len(list) != 2 || !slices.Contains(list, id) {
		t.Errorf("ls-sessions: got %v, want both", list)
	}
	if got := status(p.ask(Message{"op": "close", "session": id})); got != "done session-closed" {
		t.Errorf("close: got %s", got)
	}
	for _, sid := range []any{id, "no-such", 7, Message{}, []any{"x"}} {
		ms := p.ask(Message{"op": "eval", "code": "1", "session": sid})
		if got := status(ms); got != "done error unknown-session" {
			t.Errorf("session %v: got %s, want it unknown", sid, got)
		}
	}
	if got := status(p.ask(Message{"op": "close"})); got != "done error session-ephemeral" {
		t.Errorf("close without a session: got %s", got)
	}
}

func TestSessionState(t *testing.T) {
	s := start(t, Config{})
	a, b := open(t, s), open(t, s)
	a.wants("10 20 30", "10", "20", "30")
	a.wants("[*1 *2 *3]", "[30 20 10]")
	b.wants("[*1 *2 *3]", "[nil nil nil]")
	a.eval(`(throw (ex-info "mine" {:k 1}))`)
	a.wants("(ex-data *e)", "{:k 1}")
	b.wants("*e", "nil")
	a.eval("(ns kit.a) (def x 5)")
	if ms := a.eval("x"); values(ms)[0] != "5" || field(ms, "ns") != "kit.a" {
		t.Errorf("after ns: got %v, want 5 in kit.a", ms)
	}
	if got := field(b.eval("1"), "ns"); got != "user" {
		t.Errorf("the other session: got namespace %v, want user", got)
	}
	if got := field(b.eval("(in-ns 'kit.b)"), "ns"); got != "kit.b" {
		t.Errorf("in-ns: got namespace %v, want kit.b", got)
	}
	b.eval("(clojure.core/in-ns 'user)")
	a.eval("42")
	c := connect(t, s)
	c.ses, _ = last(a.ask(Message{"op": "clone"}))["new-session"].(string)
	if ms := c.eval("[*1 (ex-message *e)]"); values(ms)[0] != `[42 "mine"]` || field(ms, "ns") != "user" {
		t.Errorf("clone: got %v, want *1 and *e of the original, in user", ms)
	}
}

// TestNamespaceOfARequest: ns is for the one message; one that is not there is an error, also when an earlier evaluation
// in the queue makes it.
func TestNamespaceOfARequest(t *testing.T) {
	p := open(t, start(t, Config{}))
	p.eval("(ns kit.c) (def x 5) (in-ns 'user)")
	ms := p.eval("x (in-ns 'kit.d)", Message{"ns": "kit.c"})
	if got := values(ms); got[0] != "5" {
		t.Errorf("got %v, want x of kit.c", ms)
	}
	if got := field(p.eval("1"), "ns"); got != "user" {
		t.Errorf("afterwards: got namespace %v, want user", got)
	}
	ms = p.eval("1", Message{"ns": "kit.nope"})
	if status(ms) != "done error namespace-not-found" || field(ms, "ns") != "kit.nope" || values(ms) != nil {
		t.Errorf("unknown: got %v", ms)
	}
	id := p.send(Message{"op": "eval", "code": "(joker.time/sleep 50000000) (create-ns 'kit.late)"})
	if got := values(p.eval("(str *ns*)", Message{"ns": "kit.late"})); len(got) != 1 || got[0] != `"kit.late"` {
		t.Errorf("made by the one before: got %v", got)
	}
	p.done(id)
}

// TestWithoutSession: a request without a session is answered in one of its own, which keeps nothing.
func TestWithoutSession(t *testing.T) {
	s := start(t, Config{})
	p := connect(t, s)
	ms := p.eval("(in-ns 'kit.gone) 7")
	sid, _ := field(ms, "session").(string)
	if sid == "" || last(ms)["session"] != sid {
		t.Errorf("got %v, want a session in every reply", ms)
	}
	if ms := p.eval("*1"); values(ms)[0] != "nil" || field(ms, "ns") != "user" {
		t.Errorf("the next one: got %v, want a fresh start", ms)
	}
	if got := status(p.ask(Message{"op": "interrupt"})); got != "done error session-ephemeral" {
		t.Errorf("interrupt: got %s", got)
	}
	if got := status(connect(t, s).ask(Message{"op": "eval", "code": "1", "session": sid})); got != "done error unknown-session" {
		t.Errorf("from another connection: got %s, want it unknown", got)
	}
	id := p.send(Message{"op": "eval", "code": loop})
	time.Sleep(50 * time.Millisecond)
	p.ask(Message{"op": "interrupt", "interrupt-id": id})
	if got := status(p.done(id)); got != "done interrupted" {
		t.Errorf("interrupted: got %s", got)
	}
}

func TestSessionOutlivesItsConnection(t *testing.T) {
	s := start(t, Config{})
	a := open(t, s)
	a.wants("(+ 50 5)", "55")
	_ = a.nc.Close()
	b := connect(t, s)
	b.ses = a.ses
	b.wants("*1", "55")
}

func TestIdleSessionsAreClosed(t *testing.T) {
	s := start(t, Config{SessionIdle: 100 * time.Millisecond})
	used, left := open(t, s), open(t, s)
	left.send(Message{"op": "eval", "code": loop})
	_ = left.nc.Close()
	deadline := time.Now().Add(patience)
	for {
		list := texts(last(used.ask(Message{"op": "ls-sessions"}))["sessions"])
		if slices.Equal(list, []string{used.ses}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got sessions %v, want only the one in use", list)
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	used.wants("1", "1") // idle for longer, but its connection is there
}

func TestSessionsAreBounded(t *testing.T) {
	s := start(t, Config{MaxSessions: 3})
	p := open(t, s)
	p.clone()
	gone := open(t, s)
	if got := status(p.ask(Message{"op": "clone"})); got != "done error session-limit" {
		t.Errorf("the fourth: got %s, want it refused", got)
	}
	_ = gone.nc.Close()
	deadline := time.Now().Add(patience)
	for status(p.ask(Message{"op": "clone"})) != "done" { // in the place of the one that nobody uses
		if time.Now().After(deadline) {
			t.Fatal("no place was made by the session that nobody uses")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestClosedSessionsAreForgotten, also by the connection that made them.
func TestClosedSessionsAreForgotten(t *testing.T) {
	s := start(t, Config{MaxSessions: 5})
	p := connect(t, s)
	for range 50 {
		if got := status(p.ask(Message{"op": "close", "session": p.clone()})); got != "done session-closed" {
			t.Fatalf("close: got %s", got)
		}
	}
	for _, c := range s.allConns() {
		c.mu.Lock()
		if len(c.used) != 0 {
			t.Errorf("the connection holds %d sessions, want none", len(c.used))
		}
		c.mu.Unlock()
	}
	if got := len(s.allSessions()); got != 0 {
		t.Errorf("the server holds %d sessions, want none", got)
	}
}

func TestToken(t *testing.T) {
	s := start(t, Config{Token: "secret-1"})
	p := connect(t, s)
	for _, m := range []Message{{"op": "eval", "code": "1"}, {"op": "clone", "token": "secret"}, {"op": "auth", "token": ""}, {"op": "describe", "token": 1}} {
		if ms := p.ask(m); status(ms) != "done error unauthorized" || len(ms) != 1 {
			t.Errorf("%v: got %v, want it refused", m, ms)
		}
	}
	if got := status(p.ask(Message{"op": "auth", "token": "secret-1"})); got != "done" {
		t.Errorf("auth: got %s", got)
	}
	p.wants("(+ 1 2)", "3")
	c, err := Dial(t.Context(), s.Addr(), "secret-1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Clone(t.Context()); err != nil {
		t.Errorf("client: %v", err)
	}
}

// TestHalfClosed: who sends a request and closes its side still gets the answer.
func TestHalfClosed(t *testing.T) {
	p := connect(t, start(t, Config{}))
	p.send(Message{"op": "eval", "code": "(joker.time/sleep 100000000) (+ 1 2)", "id": "x"})
	if err := p.nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := values(p.done("x")); !slices.Contains(got, "3") {
		t.Errorf("got %v, want 3", got)
	}
	if !p.closed(patience) {
		t.Error("the connection stays open, want it closed after the answer")
	}
}
