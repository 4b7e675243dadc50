package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The benchmarks measure what an MCP eval costs beside the least a JSON service
// can do, over the same kind of keep-alive connection, client included:
//
//	go test -run=NONE -bench=. ./gateway
//
// Each BenchmarkEval takes turns with the bare handler, request by request, and
// reports the quotient as x/bare, so that a busy machine slows both alike.

// poster returns a function that makes one request and reads the answer.
func poster(b *testing.B, url string, header map[string]string, body string) func() {
	c := client(b)
	return func() {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
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
		if res.StatusCode != http.StatusOK {
			b.Fatalf("status: got %d, want 200", res.StatusCode)
		}
	}
}

func bare(b *testing.B) func() {
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
	b.Cleanup(srv.Close)
	return poster(b, srv.URL, nil, `{"code":"(+ 1 2)"}`)
}

func BenchmarkBareJSON(b *testing.B) {
	post := bare(b)
	b.ReportAllocs()
	for b.Loop() {
		post()
	}
}

func BenchmarkEval(b *testing.B) {
	host := &fakeHost{eval: func(context.Context, Caller, string) Reply { return Reply{Value: "3"} }}
	host.surface = func(Caller) (Surface, bool) {
		return Surface{Capabilities: []Capability{{Name: "diff", Arglists: []string{"[pr]"}, Effect: "read"}}}, true
	}
	s := start(b, Config{Host: &quiet{host}})
	token := issue(b, s, "reviewer", "s1")
	legacy := map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2025-06-18"}
	withProgress := strings.Replace(callBody(1, "(+ 1 2)"), `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
	for _, bb := range []struct {
		name   string
		header map[string]string
		body   string
	}{
		{"legacy", legacy, callBody(1, "(+ 1 2)")},
		{"modern", modernHeader(token), modernBody(1, "(+ 1 2)")},
		{"progress", legacy, withProgress},
	} {
		b.Run(bb.name, func(b *testing.B) {
			post, other := poster(b, s.URL("reviewer"), bb.header, bb.body), bare(b)
			post()
			other()
			var ours, theirs time.Duration
			for b.Loop() {
				t0 := time.Now()
				post()
				t1 := time.Now()
				other()
				ours, theirs = ours+t1.Sub(t0), theirs+time.Since(t1)
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x/bare")
		})
	}
}

// quiet is a fakeHost that keeps no list of what it saw.
type quiet struct{ *fakeHost }

func (q *quiet) Eval(ctx context.Context, c Caller, code string, _ *Surface) Reply {
	return q.eval(ctx, c, code)
}

// modernHeader and modernBody are a tools/call of the stateless era.
func modernHeader(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": "eval"}
}

func modernBody(id int, code string) string {
	body := callBody(id, code)
	return body[:len(body)-2] + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
}
