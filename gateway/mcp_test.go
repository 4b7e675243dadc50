package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// connect is a real MCP client of one protocol revision, "" for its default.
func connect(t *testing.T, s *Server, role, token, version string) (*mcpclient.Client, *mcp.InitializeResult) {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(s.URL(role), transport.WithHTTPBasicClient(client(t)),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	var opts []mcpclient.ClientOption
	if version != "" {
		opts = append(opts, mcpclient.WithProtocolVersion(version))
	}
	c := mcpclient.NewClient(tr, opts...)
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var req mcp.InitializeRequest
	req.Params.ProtocolVersion = or(version, mcp.LATEST_PROTOCOL_VERSION)
	req.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	res, err := c.Initialize(t.Context(), req)
	if err != nil {
		t.Fatalf("initialize %q: %v", version, err)
	}
	return c, res
}

func evalRequest(code any) mcp.CallToolRequest {
	var req mcp.CallToolRequest
	req.Params.Name = toolName
	req.Params.Arguments = map[string]any{"code": code}
	return req
}

// Every revision mcp-go knows is served, the era chosen by what the client
// speaks.
func TestEveryRevision(t *testing.T) {
	host := &fakeHost{surface: func(Caller) (Surface, bool) {
		return Surface{Capabilities: []Capability{{Name: "diff", Effect: "read"}}}, true
	}}
	for _, version := range append([]string{""}, mcp.ValidProtocolVersions...) {
		t.Run(or(version, "default"), func(t *testing.T) {
			s := start(t, Config{Host: host})
			c, res := connect(t, s, "r", issue(t, s, "r", "s1"), version)
			if want := or(version, mcp.LATEST_PROTOCOL_VERSION); res.ProtocolVersion != want {
				t.Errorf("negotiated: got %q, want %q", res.ProtocolVersion, want)
			}
			if a := s.Observe("s1"); !a.Connected {
				t.Errorf("activity: got %+v, want connected", a)
			}
			tools, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "eval" ||
				!strings.Contains(tools.Tools[0].Description, "diff [read]") {
				t.Fatalf("tools: got %+v, %v, want eval with its capabilities", tools, err)
			}
			got, err := c.CallTool(t.Context(), evalRequest("(+ 1 2)"))
			if err != nil || got.IsError || got.Content[0].(mcp.TextContent).Text != "=> (+ 1 2)" {
				t.Errorf("eval: got %+v, %v, want its value", got, err)
			}
			if version != "" && !mcp.IsModernProtocol(version) {
				//lint:ignore SA1019 gone from the stateless revision, and served in the older ones
				if err := c.Ping(t.Context()); err != nil {
					t.Errorf("ping: %v", err)
				}
			}
			if a := s.Observe("s1"); a.Evals != 1 || a.Requests < 3 {
				t.Errorf("activity: got %+v, want 1 eval", a)
			}
		})
	}
}

// Raw messages without initialize, and the header rules of the stateless era.
func TestRawMessages(t *testing.T) {
	s := start(t, Config{})
	token := issue(t, s, "r", "s1")
	modern := modernHeader(token)
	without := func(name string) map[string]string {
		h := map[string]string{}
		for k, v := range modern {
			if k != name {
				h[k] = v
			}
		}
		return h
	}
	with := func(name, value string) map[string]string {
		h := without(name)
		h[name] = value
		return h
	}
	tests := []struct {
		name, body string
		header     map[string]string
		status     int
		want       string
	}{
		{"legacy call", callBody(1, "x"), nil, 200, "=\\u003e x"},
		{"legacy call, session header", callBody(1, "x"), map[string]string{"Mcp-Session-Id": "nonsense"}, 200, "=\\u003e x"},
		{"legacy call, unknown version", callBody(1, "x"), map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, 400, "Unsupported"},
		{"modern call", modernBody(1, "x"), modern, 200, `"resultType":"complete"`},
		{"modern call, no method header", modernBody(1, "x"), without("Mcp-Method"), 400, "Mcp-Method"},
		{"modern call, no name header", modernBody(1, "x"), without("Mcp-Name"), 400, "Mcp-Name"},
		{"modern call, wrong name header", modernBody(1, "x"), with("Mcp-Name", "other"), 400, "Mcp-Name"},
		{"modern call, wrong method header", modernBody(1, "x"), with("Mcp-Method", "ping"), 400, "Mcp-Method"},
		{"modern call, encoded name", modernBody(1, "x"), with("Mcp-Name", "=?base64?ZXZhbA==?="), 200, "resultType"},
		{"modern call, no version header", modernBody(1, "x"), without("Mcp-Protocol-Version"), 400, "Protocol-Version"},
		{"modern header, legacy body", callBody(1, "x"), modern, 400, "_meta"},
		{"modern call, Last-Event-ID", modernBody(1, "x"), with("Last-Event-ID", "1"), 400, "Last-Event-ID"},
		{"modern call, no capabilities", strings.Replace(modernBody(1, "x"), `"io.modelcontextprotocol/clientCapabilities":{}`, `"x":1`, 1),
			modern, 400, "clientCapabilities"},
		{"version to come", strings.Replace(modernBody(1, "x"), "2026-07-28", "2099-01-01", 1),
			with("Mcp-Protocol-Version", "2099-01-01"), 400, "2026-07-28"},
		{"modern initialize", strings.Replace(modernBody(1, "x"), "tools/call", "initialize", 1), with("Mcp-Method", "initialize"), 404, "initialize"},
		{"legacy ping", `{"jsonrpc":"2.0","id":"a","method":"ping"}`, nil, 200, `"id":"a"`},
		{"malformed", `{"jsonrpc":`, nil, 400, "not valid json"},
		{"empty", ``, nil, 400, "not valid json"},
		{"array", `[1]`, nil, 400, "not valid json"},
		{"deep", strings.Repeat("[", 200_000), nil, 400, "not valid json"},
		{"wrong JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"eval"}}`, nil, 200, "Invalid JSON-RPC version"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, nil, 200, "-32601"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash"}}`, nil, 200, "tool 'bash' not found"},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"call and result", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval"},"result":{}}`, nil, 202, ""},
	}
	c := client(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, c, ask{url: s.URL("r"), token: token, body: tt.body, header: tt.header})
			if got.status != tt.status || !strings.Contains(got.body, tt.want) {
				t.Errorf("got %d %q, want %d with %q", got.status, got.body, tt.status, tt.want)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	s := start(t, Config{})
	token := issue(t, s, "r", "s1")
	c := client(t)
	for args, want := range map[string]string{
		`{}`:                         "code: got no arguments, want a string of Lisp code",
		`{"expr":"1","x":2}`:         "code: got only expr, x, want a string of Lisp code",
		`{"code":3}`:                 "code: got a number, want a string of Lisp code",
		`{"code":null}`:              "code: got null, want a string of Lisp code",
		`{"code":["a"]}`:             "code: got an array, want a string of Lisp code",
		`{"code":" "}`:               "code: got an empty string, want at least one form",
		`"(+ 1 2)"`:                  "arguments: got a string, want an object",
		`null`:                       "code: got no arguments, want a string of Lisp code",
		`{"code":"\ud800","more":1}`: "",
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":%s}}`, args)
		text, isErr := toolText(t, send(t, c, ask{url: s.URL("r"), token: token, body: body}))
		if want == "" {
			if isErr || text != "=> \ufffd" {
				t.Errorf("%s: got %q, want the replacement character", args, text)
			}
			continue
		}
		if want = "error (arguments): " + want + "\nhint: send {\"code\": \"(+ 1 2)\"}"; !isErr || text != want {
			t.Errorf("%s: got %q, want %q", args, text, want)
		}
	}
}

// What a role may use is read anew at every request.
func TestSurfaceIsReadAnew(t *testing.T) {
	host := &fakeHost{}
	surface := func(limit int, name, effect string) func(Caller) (Surface, bool) {
		return func(Caller) (Surface, bool) {
			return Surface{MaxResult: limit, Capabilities: []Capability{{Name: name, Effect: effect}}}, true
		}
	}
	host.setSurface(surface(0, "diff", "read"))
	s := start(t, Config{Host: host})
	c, _ := connect(t, s, "r", issue(t, s, "r", "s1"), "")
	list := func() mcp.Tool {
		tools, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil || len(tools.Tools) != 1 {
			t.Fatalf("tools: got %+v, %v", tools, err)
		}
		return tools.Tools[0]
	}
	first := list()
	if a := first.Annotations; !*a.ReadOnlyHint || *a.DestructiveHint || !*a.OpenWorldHint {
		t.Errorf("a role that only reads: got %+v", a)
	}
	if got := first.InputSchema; len(got.Required) != 1 || got.Required[0] != "code" || got.Properties["code"] == nil {
		t.Errorf("input schema: got %+v, want code required", got)
	}
	host.setSurface(surface(MinResult, "merge!", "write"))
	second := list()
	if strings.Contains(second.Description, "diff") || !strings.Contains(second.Description, "merge! [write]") {
		t.Errorf("after the change: got %q, want the new capabilities only", second.Description)
	}
	if a := second.Annotations; *a.ReadOnlyHint || !*a.DestructiveHint {
		t.Errorf("a role that writes: got %+v", a)
	}
	got, err := c.CallTool(t.Context(), evalRequest(strings.Repeat("x", 5000)))
	if err != nil || !strings.Contains(got.Content[0].(mcp.TextContent).Text, "of 5000 bytes left out") {
		t.Errorf("a call after the change: got %+v, %v, want the new bound on it", got, err)
	}
	host.setSurface(func(Caller) (Surface, bool) { return Surface{}, false })
	if _, err := c.CallTool(t.Context(), evalRequest("x")); err == nil {
		t.Error("a role that is gone: got an answer, want none")
	}
}

// While an eval runs, progress keeps the client waiting, in both eras, and only
// where it asked.
func TestKeepAlive(t *testing.T) {
	for _, version := range []string{mcp.ProtocolVersion20250618, mcp.ProtocolVersion20260728} {
		b := newBlocking()
		s := start(t, Config{Host: &fakeHost{eval: b.eval}, KeepAlive: 10 * time.Millisecond})
		c, _ := connect(t, s, "r", issue(t, s, "r", "s1"), version)
		var n atomic.Int64
		freed := sync.OnceFunc(func() { close(b.free) })
		c.OnNotification(func(note mcp.JSONRPCNotification) {
			if note.Method != "notifications/progress" || note.Params.AdditionalFields["progressToken"] != "tok" {
				t.Errorf("notification: got %+v, want progress of tok", note)
			}
			if n.Add(1) == 3 {
				freed()
			}
		})
		req := evalRequest("long")
		req.Params.Meta = &mcp.Meta{ProgressToken: "tok"}
		got, err := c.CallTool(t.Context(), req)
		if err != nil || got.Content[0].(mcp.TextContent).Text != "=> long" {
			t.Errorf("%s: got %+v, %v, want the value", version, got, err)
		}
		if n.Load() < 3 {
			t.Errorf("%s: got %d notifications, want at least 3", version, n.Load())
		}
		before := n.Load()
		if _, err := c.CallTool(t.Context(), evalRequest("short")); err != nil || n.Load() != before {
			t.Errorf("%s: without a token: got %v and %d more notifications, want none", version, err, n.Load()-before)
		}
	}
}

// notifications/cancelled ends a request of the same spawn, on either path, and
// not one of another spawn with the same id.
func TestCancelledNotification(t *testing.T) {
	for _, meta := range []string{"", `"_meta":{"progressToken":1},`} {
		b := newBlocking()
		s := start(t, Config{Host: &fakeHost{eval: b.eval}})
		mine, other := issue(t, s, "r", "s1"), issue(t, s, "r", "s2")
		c := client(t)
		body := strings.Replace(callBody(7, "x"), `"name"`, meta+`"name"`, 1)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = trySend(t.Context(), c, ask{url: s.URL("r"), token: mine, body: body}) })
		<-b.began
		cancel := ask{url: s.URL("r"), body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`}
		cancel.token = other
		if got := send(t, c, cancel); got.status != 202 {
			t.Errorf("cancelled: got %d, want 202", got.status)
		}
		select {
		case err := <-b.ended:
			t.Fatalf("another spawn cancelled it: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		cancel.token = mine
		send(t, c, cancel)
		select {
		case err := <-b.ended:
			if err == nil {
				t.Error("it ended by itself, want it cancelled")
			}
		case <-time.After(patience):
			t.Error("its own spawn could not cancel it")
		}
		wg.Wait()
	}
}

// A standing subscription of the stateless era ends with its spawn.
func TestSubscriptionEndsWithSpawn(t *testing.T) {
	s := start(t, Config{})
	token := issue(t, s, "r", "s1")
	h := modernHeader(token)
	h["Mcp-Method"] = "subscriptions/listen"
	delete(h, "Mcp-Name")
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": map[string]any{
		"notifications": map[string]any{"toolsListChanged": true},
		"_meta": map[string]any{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: map[string]any{},
			mcp.MetaKeyClientInfo: map[string]any{"name": "t", "version": "1"}}}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := trySend(ctx, client(t), ask{url: s.URL("r"), token: token, body: string(body), header: h})
		done <- err
	}()
	waitFor(t, "the stream", func() bool { return s.Observe("s1").Connected })
	time.Sleep(20 * time.Millisecond)
	s.Revoke("s1")
	if err := <-done; err != nil {
		t.Errorf("got %v, want the stream to end", err)
	}
}
