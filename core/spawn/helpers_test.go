package spawn

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

// parentWord makes the test binary play a zeno that is about to be killed, see TestKillNine.
const parentWord = "__test-parent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case stage2.Word:
			stage2.Main()
		case guard.Word:
			os.Exit(guard.Main(os.Args[2:]))
		case parentWord:
			playParent(os.Args[2], os.Args[3])
		}
	}
	noleak.Main(m, http.DefaultClient.CloseIdleConnections)
}

// tokenPrefix marks the stand-in's tokens, so that a leak shows wherever it is.
const tokenPrefix = "TOKEN-CANARY-"

// standIn is a small gateway: a real MCP server over HTTP that checks bearer tokens and has the tool eval.
type standIn struct {
	*httptest.Server
	mu     sync.Mutex
	spawns map[string]*Activity
	// pretend makes every spawn look connected, for fakes that speak no MCP.
	pretend bool
	// running gets a value when an eval of "(sleep)" begins.
	running chan struct{}
}

type spawnKey struct{}

func newStandIn(t testing.TB) *standIn {
	t.Helper()
	g := &standIn{spawns: map[string]*Activity{}, running: make(chan struct{}, 100)}
	tools := server.NewMCPServer("zeno", "test")
	tools.AddTool(mcp.NewTool("eval", mcp.WithString("code", mcp.Required())), g.eval)
	handler := server.NewStreamableHTTPServer(tools, server.WithStateLess(true), server.WithDisableStreaming(true),
		server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spawn, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "+tokenPrefix)
		if !ok || !g.note(spawn, func(a *Activity) { a.Connected = true }) || r.URL.Path != "/mcp/reader" {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), spawnKey{}, spawn)))
	}))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// note changes the activity of a spawn that has a token.
func (g *standIn) note(spawn string, change func(*Activity)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.spawns[spawn]
	if ok {
		a.Last = time.Now()
		change(a)
	}
	return ok
}

// eval answers with the code itself; "(sleep)" runs until the caller is gone, "(fail)" is an error.
func (g *standIn) eval(ctx context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	spawn, _ := ctx.Value(spawnKey{}).(string)
	g.note(spawn, func(a *Activity) { a.Evals++; a.Active++ })
	defer g.note(spawn, func(a *Activity) { a.Active-- })
	switch code := q.GetString("code", ""); code {
	case "(sleep)":
		g.running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	case "(fail)":
		return mcp.NewToolResultError("error: it failed"), nil
	default:
		return mcp.NewToolResultText("=> " + code), nil
	}
}

func (g *standIn) Endpoint(role string) string {
	if role != "reader" {
		return ""
	}
	return g.URL + "/mcp/reader"
}

func (g *standIn) Issue(_, spawn string, _ time.Duration) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spawns[spawn] = &Activity{Connected: g.pretend}
	return tokenPrefix + spawn, nil
}

func (g *standIn) Revoke(spawn string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.spawns, spawn)
}

func (g *standIn) Activity(spawn string) Activity {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a, ok := g.spawns[spawn]; ok {
		return *a
	}
	return Activity{}
}

// house is a Runner with everything it says recorded.
type house struct {
	*Runner
	gateway *standIn
	log     *safeBuffer
	mu      sync.Mutex
	events  []Event
	warned  []string
}

// safeBuffer is a bytes.Buffer for several writers.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newHouse(t testing.TB, change func(*Config)) *house {
	t.Helper()
	self, err := guard.Self()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{gateway: newStandIn(t), log: &safeBuffer{}}
	conf := Config{
		Guard: self, Gateway: h.gateway, StateDir: t.TempDir(), Path: "/usr/bin:/bin",
		Log: slog.New(slog.NewTextHandler(h.log, nil)),
		OnEvent: func(e Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, e)
		},
		Warn: func(line string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.warned = append(h.warned, line)
		},
	}
	if change != nil {
		change(&conf)
	}
	if h.Runner, err = New(conf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// said is everything the runner told anyone, for the canary tests.
func (h *house) said(results ...Result) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%+v\n%+v\n%+v\n%s", results, h.events, h.warned, h.log)
}

// sh is a backend whose CLI is a shell script. Its stream has lines {"answer":…}, {"error":…}, {"tools":[…]}, {"done":…},
// {"in":n} and {"session":…}.
func sh(script string) map[string]backend.Backend {
	b := backend.Backend{
		Name: "fake", Argv: []backend.Arg{{Words: []string{"sh"}}, {Words: []string{"-c"}}, {Words: []string{"$script"}}},
		Stdin: "${prompt}", ToolName: "eval", Install: "apt-get install dash", Tried: "0.5",
		Links: map[string]string{"kept": "${session-dir}"},
		Stream: backend.Stream{Rules: []backend.Rule{{Take: map[string][]string{
			"answer": {"answer"}, "error": {"error"}, "tools": {"tools"}, "done": {"done"}, "tokens-in": {"in"},
			"session": {"session"}, "mcp": {"mcp"}, "text": {"text"}}}}},
	}
	b.Argv[2].Words[0] = strings.ReplaceAll(script, "$", "$$")
	return map[string]backend.Backend{"fake": b}
}

// fake runs a shell script as the CLI; connected pretends that it reached the endpoint.
func fake(t testing.TB, script string, connected bool) (*house, Request) {
	t.Helper()
	h := newHouse(t, func(c *Config) { c.Backends = sh(script) })
	h.gateway.pretend = connected
	return h, Request{Role: "reader", Backend: "fake", Prompt: "go", Sandbox: SandboxNone, Timeout: 2 * time.Minute, Grace: 300 * time.Millisecond}
}

// want fails the test where the status or the error's text differ.
func want(t testing.TB, res Result, status Status, inError string) {
	t.Helper()
	if res.Status != status || !strings.Contains(res.Error, inError) || (status == OK) != (res.Error == "") {
		t.Errorf("got %s %q (exit %d, stderr %q), want %s with %q", res.Status, res.Error, res.Exit, res.Stderr, status, inError)
	}
}
