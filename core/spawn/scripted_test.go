package spawn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func scripted(agent Agent) Request {
	return Request{Role: "reader", Backend: Scripted, Agent: agent, Timeout: time.Minute, Grace: 200 * time.Millisecond}
}

func TestScriptedAgentWorks(t *testing.T) {
	h := newHouse(t, nil)
	res := h.Run(context.Background(), scripted(func(ctx context.Context, c Client) (string, error) {
		tools, err := c.Tools(ctx)
		if err != nil || len(tools) != 1 || tools[0].Name != "eval" {
			return "", fmt.Errorf("tools: got %v %v, want eval", tools, err)
		}
		if text, isError, err := c.Eval(ctx, "(fail)"); err != nil || !isError || text != "error: it failed" {
			return "", fmt.Errorf("failing eval: got %q %v %v", text, isError, err)
		}
		text, _, err := c.Eval(ctx, "(+ 1 2)")
		return "answer " + text, err
	}))
	want(t, res, OK, "")
	if res.Answer != "answer => (+ 1 2)" || res.Evals != 2 || res.Exit != -1 {
		t.Errorf("got %+v, want the answer and 2 evals", res)
	}
	if got := len(h.events); got != 4 {
		t.Errorf("events: got %d, want started, two calls, ended", got)
	}
}

func TestScriptedStatuses(t *testing.T) {
	block := func(ctx context.Context, c Client) (string, error) {
		_, _, err := c.Eval(ctx, "(sleep)")
		return "", err
	}
	for _, c := range []struct {
		name    string
		agent   Agent
		change  func(*Request)
		status  Status
		inError string
	}{
		{"error", func(context.Context, Client) (string, error) { return "", errors.New("it broke") }, nil, Failed, "agent: it broke"},
		{"panic", func(context.Context, Client) (string, error) { panic("boom") }, nil, Failed, "agent: panic: boom"},
		{"runtime panic", func(_ context.Context, c Client) (string, error) { return c.(interface{ x() string }).x(), nil }, nil, Failed, "interface conversion"},
		{"timeout", block, func(q *Request) { q.Timeout = 200 * time.Millisecond }, Timeout, "200ms"},
		{"role", block, func(q *Request) { q.Role = "nobody" }, Refused, "registered role"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			q := scripted(c.agent)
			if c.change != nil {
				c.change(&q)
			}
			want(t, h.Run(context.Background(), q), c.status, c.inError)
		})
	}
}

func TestScriptedCancelInAnEval(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-h.gateway.running
		cancel(ErrInterrupted)
	}()
	var seen error
	res := h.Run(ctx, scripted(func(ctx context.Context, c Client) (string, error) {
		_, _, seen = c.Eval(ctx, "(sleep)")
		return "", seen
	}))
	want(t, res, Interrupted, "shutting down")
	if !errors.Is(seen, context.Canceled) {
		t.Errorf("the agent saw %v, want context.Canceled", seen)
	}
}

func TestScriptedAgentThatNeverReturns(t *testing.T) {
	h := newHouse(t, nil)
	release, left := make(chan struct{}), make(chan struct{})
	q := scripted(func(ctx context.Context, c Client) (string, error) {
		defer close(left)
		<-release
		_, _, err := c.Eval(context.Background(), "(+ 1 2)")
		return "", err
	})
	q.Timeout = 100 * time.Millisecond
	want(t, h.Run(context.Background(), q), Timeout, "") // it does not wait for the agent, which still waits
	events := len(h.events)
	close(release)
	<-left
	if len(h.events) != events {
		t.Error("an agent left behind still makes events")
	}
	if !strings.Contains(h.log.String(), "left behind") {
		t.Error("the log says nothing of the agent left behind")
	}
}

func TestScriptedWithoutEndpoint(t *testing.T) {
	h := newHouse(t, nil)
	h.gateway.Close()
	res := h.Run(context.Background(), scripted(func(context.Context, Client) (string, error) { return "x", nil }))
	want(t, res, Failed, "MCP: failed to connect to "+h.gateway.URL)
}

func TestScriptedSecretsNeverCome(t *testing.T) {
	h := newHouse(t, nil)
	for _, agent := range []Agent{
		func(_ context.Context, c Client) (string, error) { return c.(*mcpClient).s.token, nil },
		func(_ context.Context, c Client) (string, error) { return "", errors.New(c.(*mcpClient).s.token) },
		func(_ context.Context, c Client) (string, error) { panic(c.(*mcpClient).s.token) },
		func(ctx context.Context, c Client) (string, error) {
			_, _, err := c.Eval(ctx, c.(*mcpClient).s.token)
			return "", err
		},
	} {
		res := h.Run(context.Background(), scripted(agent))
		if said := h.said(res); strings.Contains(said, tokenPrefix) {
			t.Errorf("the token came out in:\n%s", said)
		}
	}
}

func TestManyScriptedSpawns(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.MaxSpawns = 16 })
	var all sync.WaitGroup
	for n := range 60 {
		all.Go(func() {
			code := fmt.Sprintf("(* %d 7)", n)
			res := h.Run(context.Background(), scripted(func(ctx context.Context, c Client) (string, error) {
				for range 3 {
					text, _, err := c.Eval(ctx, code)
					if err != nil || text != "=> "+code {
						return "", fmt.Errorf("got %q %v, want %q", text, err, code)
					}
				}
				return code, nil
			}))
			want(t, res, OK, "")
			if res.Answer != code || res.Evals != 3 {
				t.Errorf("got %+v, want %s after 3 evals", res, code)
			}
		})
	}
	all.Wait()
}
