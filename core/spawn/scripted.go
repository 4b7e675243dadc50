package spawn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Agent plays an agent: it does its work through c and returns the answer. It must return soon after ctx ends; a panic is
// caught and fails the spawn.
type Agent func(ctx context.Context, c Client) (answer string, err error)

// Client is an agent's only way back: a real MCP client on the spawn's endpoint.
type Client interface {
	// Eval evaluates code. isError tells that the code failed and text says how; err that the call itself did.
	Eval(ctx context.Context, code string) (text string, isError bool, err error)
	// Tools lists what the endpoint offers.
	Tools(ctx context.Context) ([]Tool, error)
}

// Tool is one tool an endpoint offers.
type Tool struct {
	Name, Description string
}

// evalTool is the endpoint's central tool.
const evalTool = "eval"

// runScripted runs the request's Agent in a goroutine of its own. An agent that does not return within Grace of its
// context's end is left behind: a goroutine cannot be killed, but its client is closed and its token revoked.
func (s *run) runScripted(ctx context.Context) Result {
	c := &mcpClient{s: s}
	if err := c.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return endedBy(ctx)
		}
		return failed("MCP: failed to connect to %s: %v", s.endpoint, err)
	}
	defer c.close()
	type outcome struct {
		answer string
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, err := s.play(ctx, c)
		done <- outcome{answer, err}
	}()
	var out outcome
	select {
	case out = <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(s.req.Grace):
			s.conf.Log.Error("scripted agent did not return after its context ended; it is left behind", "spawn", s.req.ID)
		}
	}
	switch {
	case ctx.Err() != nil:
		return endedBy(ctx)
	case out.err != nil:
		return failed("agent: %v", out.err)
	}
	return Result{Status: OK, Exit: -1, Answer: out.answer}
}

// play calls the agent and turns a panic into an error; its stack goes to the log.
func (s *run) play(ctx context.Context, c Client) (answer string, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.conf.Log.Error("scripted agent panicked", "spawn", s.req.ID, "panic", s.red.short(fmt.Sprint(p), maxSummary),
				"stack", s.red.text(string(debug.Stack())))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.req.Agent(context.WithValue(ctx, textsKey{}, [2]string{s.req.Prompt, s.req.System}), c)
}

// mcpClient is the Client of one scripted spawn.
type mcpClient struct {
	s      *run
	client *client.Client
}

func (c *mcpClient) connect(ctx context.Context) error {
	made, err := client.NewStreamableHttpClient(c.s.endpoint,
		transport.WithHTTPBasicClient(&http.Client{Transport: c.s.transport}),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + c.s.token}),
		transport.WithHTTPLogger(c.s.conf.Log))
	if err != nil {
		return c.clean(ctx, err)
	}
	c.client = made
	if err := made.Start(ctx); err != nil {
		return c.clean(ctx, err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "zeno-scripted", Version: "1"}
	if _, err := made.Initialize(ctx, hello); err != nil {
		c.close()
		return c.clean(ctx, err)
	}
	return nil
}

func (c *mcpClient) close() { _ = c.client.Close() }

// clean redacts an error. What net/http reports after the context's end is the cause it was cancelled with; an agent asks
// for context.Canceled, as everywhere.
func (c *mcpClient) clean(ctx context.Context, err error) error {
	text := c.s.red.text(err.Error())
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s: %w", text, ended)
	}
	return errors.New(text)
}

func (c *mcpClient) Eval(ctx context.Context, code string) (string, bool, error) {
	c.s.emit(Event{Kind: Call, Tool: evalTool, Text: code})
	var q mcp.CallToolRequest
	q.Params.Name = evalTool
	q.Params.Arguments = map[string]any{"code": code}
	res, err := c.client.CallTool(ctx, q)
	if err != nil {
		return "", false, c.clean(ctx, err)
	}
	var text strings.Builder
	for _, content := range res.Content {
		if t, ok := content.(mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), res.IsError, nil
}

func (c *mcpClient) Tools(ctx context.Context) ([]Tool, error) {
	res, err := c.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, c.clean(ctx, err)
	}
	tools := make([]Tool, len(res.Tools))
	for i, t := range res.Tools {
		tools[i] = Tool{Name: t.Name, Description: t.Description}
	}
	return tools, nil
}
