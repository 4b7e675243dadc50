package nrepl

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
	"github.com/reflection-dev/zeno/stdlib"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// newEnv makes an environment as the program has it.
func newEnv(t testing.TB) *lisp.Env {
	env := lisp.New().NewEnv(lisp.EnvConfig{Source: func(lib string) (string, string, bool, error) {
		src, file, ok := stdlib.Source(lib)
		return src, file, ok, nil
	}})
	stdlib.Install(env.Raw(), stdlib.Config{})
	t.Cleanup(env.Close)
	return env
}

// start runs a server until the test ends.
func start(t testing.TB, conf Config) *Server {
	t.Helper()
	if conf.Env == nil {
		conf.Env = newEnv(t)
	}
	s, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

// peer is a client that keeps every message, in order.
type peer struct {
	t  testing.TB
	nc net.Conn

	mu      sync.Mutex
	all     []Message
	changed chan struct{}
	ended   error
	ids     int
	ses     string // put into requests that name no session
}

func connect(t testing.TB, s *Server) *peer {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, nc)
}

func newPeer(t testing.TB, nc net.Conn) *peer {
	p := &peer{t: t, nc: nc, changed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d := bencode.NewDecoder(nc, bencode.Limits{Bytes: 64 << 20})
		for {
			m, err := d.Next()
			p.mu.Lock()
			if err != nil {
				p.ended = err
			} else {
				p.all = append(p.all, m)
			}
			close(p.changed)
			p.changed = make(chan struct{})
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = nc.Close()
		<-done
	})
	return p
}

// open connects and makes a session that requests go to.
func open(t testing.TB, s *Server) *peer {
	t.Helper()
	p := connect(t, s)
	p.ses = p.clone()
	return p
}

func (p *peer) clone() string {
	p.t.Helper()
	id, _ := last(p.ask(Message{"op": "clone"}))["new-session"].(string)
	if id == "" {
		p.t.Fatal("clone: got no session")
	}
	return id
}

// raw sends bytes.
func (p *peer) raw(b string) {
	p.t.Helper()
	if _, err := io.WriteString(p.nc, b); err != nil {
		p.t.Fatal(err)
	}
}

// send sends a request and gives its id.
func (p *peer) send(m Message) any {
	p.t.Helper()
	out := Message{}
	if p.ses != "" {
		out["session"] = p.ses
	}
	for k, v := range m {
		out[k] = v
	}
	if _, ok := out["id"]; !ok {
		p.mu.Lock()
		p.ids++
		out["id"] = "r" + port(p.ids)
		p.mu.Unlock()
	}
	b, err := bencode.Append(nil, out)
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(string(b))
	return out["id"]
}

// await waits for a message that f likes and gives it.
func (p *peer) await(what string, f func(Message) bool) Message {
	p.t.Helper()
	timeout := time.After(patience)
	seen := 0
	for {
		p.mu.Lock()
		for ; seen < len(p.all); seen++ {
			if f(p.all[seen]) {
				m := p.all[seen]
				p.mu.Unlock()
				return m
			}
		}
		ended, changed, n := p.ended, p.changed, len(p.all)
		p.mu.Unlock()
		if ended != nil {
			p.t.Fatalf("%s: the connection ended with %v after %d messages", what, ended, n)
		}
		select {
		case <-changed:
		case <-timeout:
			p.t.Fatalf("%s: did not come in %s; got %v", what, patience, tail(p.messages(nil), 5))
		}
	}
}

// closed waits for the end of the connection.
func (p *peer) closed(d time.Duration) bool {
	timeout := time.After(d)
	for {
		p.mu.Lock()
		ended, changed := p.ended, p.changed
		p.mu.Unlock()
		if ended != nil {
			return true
		}
		select {
		case <-changed:
		case <-timeout:
			return false
		}
	}
}

func tail(ms []Message, n int) []Message { return ms[max(0, len(ms)-n):] }

// messages gives what came for a request so far; nil: for all.
func (p *peer) messages(id any) []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Message
	for _, m := range p.all {
		if id == nil || m["id"] == id {
			out = append(out, m)
		}
	}
	return out
}

// done waits for the last message of a request and gives all of them.
func (p *peer) done(id any) []Message {
	p.t.Helper()
	p.await("done", func(m Message) bool { return m["id"] == id && has(m, "done") })
	return p.messages(id)
}

// ask sends a request and gives all replies.
func (p *peer) ask(m Message) []Message {
	p.t.Helper()
	return p.done(p.send(m))
}

func (p *peer) eval(code string, more ...Message) []Message {
	p.t.Helper()
	m := Message{"op": "eval", "code": code}
	for _, x := range more {
		for k, v := range x {
			m[k] = v
		}
	}
	return p.ask(m)
}

// wants evaluates code and checks its values.
func (p *peer) wants(code string, want ...string) {
	p.t.Helper()
	ms := p.eval(code)
	if got := values(ms); !slices.Equal(got, want) {
		p.t.Errorf("%s: got %q, want %q; err %q", code, got, want, text(ms, "err"))
	}
}

func last(ms []Message) Message { return ms[len(ms)-1] }

func has(m Message, status string) bool { return slices.Contains(Status(m), status) }

// status gives the status words of all messages, sorted.
func status(ms []Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, Status(m)...)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func text(ms []Message, key string) string {
	var b strings.Builder
	for _, m := range ms {
		if s, ok := m[key].(string); ok {
			b.WriteString(s)
		}
	}
	return b.String()
}

func values(ms []Message) []string {
	var out []string
	for _, m := range ms {
		if s, ok := m["value"].(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// field gives the value of a key in any of the messages.
func field(ms []Message, key string) any {
	for _, m := range ms {
		if v, ok := m[key]; ok {
			return v
		}
	}
	return nil
}

// write puts a file where a test can use it.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const loop = "(loop [i 0] (recur (inc i)))"

// stuck makes a function that returns when release is closed, and never before.
func stuck(release <-chan struct{}) value.Value {
	return value.Of(value.NewBuiltin("kit.stuck/wait", &value.Builtin{Name: "wait", F0: func(*value.Thread) value.Value {
		<-release
		return value.Nil
	}}))
}
