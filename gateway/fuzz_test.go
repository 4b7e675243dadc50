package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzRequest sends whatever it likes through the whole handler: it must answer
// with a known status and valid UTF-8, and reach the Host only with the token.
func FuzzRequest(f *testing.F) {
	const none, right, wrong = 0, 1, 2
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "", byte(right), callBody(1, "(+ 1 2)"))
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "2026-07-28", byte(right), modernBody(1, "x"))
	f.Add("POST", "/mcp/r", "127.0.0.1:80", "http://localhost", "application/json", "2025-06-18", byte(right), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	f.Add("POST", "/mcp/r", "evil.example", "", "application/json", "", byte(right), callBody(1, "x"))
	f.Add("POST", "/mcp/r", "localhost", "https://evil.example", "application/json", "", byte(right), callBody(1, "x"))
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "", byte(none), callBody(1, "x"))
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "", byte(wrong), callBody(1, "x"))
	f.Add("GET", "/mcp/r", "localhost", "", "", "2025-11-25", byte(right), "")
	f.Add("POST", "/mcp/%72", "[::1]", "", "application/json", "", byte(right), `{"jsonrpc":"2.0","id":null}`)
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "", byte(right), `{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"eval","_meta":{"progressToken":[]},"arguments":{"code":"\ud800"}}}`)
	f.Add("POST", "/mcp/r", "localhost", "", "application/json", "", byte(right), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1"}}`)
	host := &fakeHost{}
	s, err := New(Config{Host: &quiet{host}, MaxBody: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	reached := false
	host.eval = func(context.Context, Caller, string) Reply { reached = true; return Reply{Value: "\xff"} }
	token, err := s.Issue("r", "s1", time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, hostHeader, origin, contentType, version string, auth byte, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(method+path, " \r\n\t#?") || strings.Contains(body, "subscriptions/listen") {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Host = hostHeader
		for k, v := range map[string]string{"Origin": origin, "Content-Type": contentType, "Mcp-Protocol-Version": version,
			"Mcp-Method": "tools/call", "Mcp-Name": "eval"} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		switch auth % 3 {
		case right:
			r.Header.Set("Authorization", "Bearer "+token)
		case wrong:
			r.Header.Set("Authorization", "Bearer "+token[1:])
		}
		reached = false
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		switch w.Code {
		case 200, 202, 400, 403, 404, 405, 413, 415:
		default:
			t.Errorf("status: got %d %q", w.Code, w.Body)
		}
		if !utf8.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), token) {
			t.Errorf("body: got %q, want valid UTF-8 without the token", w.Body)
		}
		if reached && (auth%3 != right || method != "POST" || w.Code != 200) {
			t.Errorf("the host was reached by %s with auth %d, answered %d", method, auth%3, w.Code)
		}
	})
}
