package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The pair measures what an MCP eval costs beside the least a JSON service can
// do, over the same kind of keep-alive connection, client included. Compare
// ns/op of the two; `go test -run=NONE -bench='Eval|BareJSON' -count=5`.

func BenchmarkBareJSON(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Code string `json:"code"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "3"})
	}))
	defer srv.Close()
	post(b, srv.URL, nil, `{"code":"(+ 1 2)"}`)
}

func BenchmarkEval(b *testing.B) {
	host := &fakeHost{eval: func(context.Context, Caller, string) Reply { return Reply{Value: "3"} }}
	host.surface = func(Caller) (Surface, bool) {
		return Surface{Capabilities: []Capability{{Name: "diff", Arglists: []string{"[pr]"}, Effect: "read"}}}, true
	}
	s := start(b, Config{Host: &quiet{host}})
	token := issue(b, s, "reviewer", "s1")
	b.Run("legacy", func(b *testing.B) {
		post(b, s.URL("reviewer"), map[string]string{"Authorization": "Bearer " + token,
			"Mcp-Protocol-Version": "2025-06-18"}, callBody(1, "(+ 1 2)"))
	})
	b.Run("modern", func(b *testing.B) {
		post(b, s.URL("reviewer"), modernHeader(token), modernBody(1, "(+ 1 2)"))
	})
}

// quiet is a fakeHost that keeps no list of what it saw.
type quiet struct{ *fakeHost }

func (q *quiet) Eval(ctx context.Context, c Caller, code string) Reply { return q.eval(ctx, c, code) }

func post(b *testing.B, url string, header map[string]string, body string) {
	c := client(b)
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest("POST", url, bytes.NewReader([]byte(body)))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 200 {
			b.Fatalf("status: got %d, want 200", res.StatusCode)
		}
	}
}

func modernHeader(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": "eval"}
}

func modernBody(id int, code string) string {
	body := callBody(id, code)
	return body[:len(body)-2] + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
}
