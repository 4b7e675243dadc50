package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// call is what the layers of one request share.
type call struct {
	spawn   *spawn
	surface Surface
	arrived time.Time
	cfg     *Config         // as it was then
	wrote   <-chan struct{} // closed by the first write of the answer
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// toolName is the only tool there is. Clients prefix it with the server's name.
const toolName = "eval"

const instructions = "One tool, eval: it runs Lisp code in an environment of your own and answers with the value, " +
	"what was printed, or an error that says what to do. Its description lists what you may call."

// newMCP builds the MCP server of one spawn. It is the spawn's own because
// mcp-go keys requests under way by session and request id, and without
// sessions a notifications/cancelled of one spawn would reach another's
// request of the same id.
func (s *Server) newMCP() (*server.MCPServer, *server.StreamableHTTPServer) {
	cfg := s.config()
	hooks := &server.Hooks{}
	// What is registered once is only the tool's name and handler; a client
	// that asks gets the tool as it is at this moment.
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		if c := callFrom(ctx); c != nil {
			tool := evalTool(c.surface)
			if len(cfg.ToolMeta) > 0 {
				tool.Meta = &mcp.Meta{AdditionalFields: cfg.ToolMeta}
			}
			result.Tools = []mcp.Tool{tool}
		}
	})
	// mcp-go queues the acknowledgement of a subscription and may lose it where
	// the result follows at once, as it does where there is nothing to subscribe
	// to.
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if c := callFrom(ctx); c != nil {
			select {
			case <-c.wrote:
			case <-ctx.Done():
			}
		}
	})
	m := server.NewMCPServer(cfg.Name, cfg.Version,
		server.WithToolCapabilities(false), server.WithInstructions(instructions), server.WithHooks(hooks))
	// mcp-go reads the registered schema at every call of the stateless era, so
	// what is registered has none.
	m.AddTool(mcp.Tool{Name: toolName, RawInputSchema: []byte(`{"type":"object"}`)}, s.handleEval)
	return m, server.NewStreamableHTTPServer(m, server.WithStateLess(true), server.WithDisableStreaming(true),
		server.WithStreamableHTTPLogger(cfg.Log))
}

// evalTool describes the tool for one surface.
func evalTool(surface Surface) mcp.Tool {
	writes := slices.ContainsFunc(surface.Capabilities, func(c Capability) bool { return !looksOnly(c.Effect) })
	outside := slices.ContainsFunc(surface.Capabilities, func(c Capability) bool { return c.Effect != "pure" })
	return mcp.NewTool(toolName,
		mcp.WithDescription(describe(surface)),
		mcp.WithString("code", mcp.Required(),
			mcp.Description("Lisp code, one or more forms; the value of the last one is the answer. Example: (+ 1 2)")),
		mcp.WithTitleAnnotation("Evaluate Lisp"),
		mcp.WithReadOnlyHintAnnotation(!writes),
		mcp.WithDestructiveHintAnnotation(writes),
		mcp.WithIdempotentHintAnnotation(false),
		mcp.WithOpenWorldHintAnnotation(outside),
	)
}

func looksOnly(effect string) bool { return effect == "pure" || effect == "read" }

// handleEval is the tool. It answers every outcome as a result, an error too,
// because protocol errors are not shown to the model.
func (s *Server) handleEval(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := callFrom(ctx)
	if c == nil {
		return nil, fmt.Errorf("gateway eval: got a context without a caller, want one from the endpoint")
	}
	code, wrong := codeArgument(req)
	if wrong != nil {
		return toolResult(Reply{Err: wrong}, c.surface.MaxResult), nil
	}
	if m := req.Params.Meta; m != nil && m.ProgressToken != nil {
		defer keepalive(ctx, c.cfg.KeepAlive, m.ProgressToken)()
	}
	return toolResult(s.eval(ctx, c, code), c.surface.MaxResult), nil
}

func toolResult(r Reply, limit int) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: render(r, limit)}},
		IsError: r.Err != nil && r.Notice == "",
	}
}

// codeArgument takes the code out of the arguments, or says what is wrong with
// them in words a model can follow.
func codeArgument(req mcp.CallToolRequest) (string, *EvalError) {
	wrong := func(format string, args ...any) (string, *EvalError) {
		return "", &EvalError{Kind: KindArguments, Message: fmt.Sprintf(format, args...),
			Hint: `send {"code": "(+ 1 2)"}`}
	}
	args, ok := req.Params.Arguments.(map[string]any)
	if !ok && req.Params.Arguments != nil {
		return wrong("arguments: got %s, want an object", jsonKind(req.Params.Arguments))
	}
	got, ok := args["code"]
	if !ok {
		return wrong("code: got %s, want a string of Lisp code", argumentNames(args))
	}
	code, ok := got.(string)
	if !ok {
		return wrong("code: got %s, want a string of Lisp code", jsonKind(got))
	}
	if strings.TrimSpace(code) == "" {
		return wrong("code: got an empty string, want at least one form")
	}
	return code, nil
}

// argumentNames says what came in place of code, shortly.
func argumentNames(args map[string]any) string {
	if len(args) == 0 {
		return "no arguments"
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	slices.Sort(names)
	text, _ := cut(strings.Join(names, ", "), 100)
	return "only " + text
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
