package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core"
)

// mcpRequests is how many requests one turn makes.
const mcpRequests = 500

// overMCP measures an evaluation of (+ 1 2) by an agent, through the gateway and the core, journal and all, beside the
// least that a JSON service can do: both over one kept-alive connection, the client's work included in both.
func overMCP(rounds int) ([]measured, error) {
	ctx := context.Background()
	c, err := core.New(core.Config{})
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	if _, err := c.Eval(ctx, `(defn grant [] {:vocab {"greet" (fn [who] (str "hello, " who))}})
		(zeno.gateway/start! {:roles {:bench #'grant}})`); err != nil {
		return nil, err
	}
	token, err := c.Gateway().Issue("bench", "bench-1", time.Hour)
	if err != nil {
		return nil, err
	}
	plain := httptest.NewServer(http.HandlerFunc(bare))
	defer plain.Close()
	ours := poster{client: &http.Client{}, url: c.Gateway().URL("bench"), want: "3", token: token,
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{"code":"(+ 1 2)"}}}`}
	theirs := poster{client: &http.Client{}, url: plain.URL, want: `"3"`, body: `{"code":"(+ 1 2)"}`}
	var a, b []float64
	for range 2 * rounds {
		x, err := spent(ours.turn)
		if err != nil {
			return nil, fmt.Errorf("eval: %w", err)
		}
		y, err := spent(theirs.turn)
		if err != nil {
			return nil, fmt.Errorf("bare handler: %w", err)
		}
		a, b = append(a, x.Seconds()), append(b, y.Seconds())
	}
	const us = 1e6 / mcpRequests
	return []measured{
		{"MCP eval of (+ 1 2) beside a bare JSON handler", ratio(a, b), 2.5, "x"},
		{"that MCP eval, client and server", median(a) * us, 0, "µs"},
		{"that bare handler, client and server", median(b) * us, 0, "µs"},
	}, nil
}

// bare is the least that a JSON service does.
func bare(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"value": "3"})
}

// poster makes the same request again and again.
type poster struct {
	client           *http.Client
	url, token, body string
	want             string // part of every answer
}

func (p poster) turn() error {
	for range mcpRequests {
		if err := p.post(); err != nil {
			return err
		}
	}
	return nil
}

func (p poster) post() error {
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(p.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !strings.Contains(string(b), p.want) || strings.Contains(string(b), `"isError":true`) {
		return fmt.Errorf("%s: got status %d and %s, want %s", p.url, res.StatusCode, b, p.want)
	}
	return nil
}
