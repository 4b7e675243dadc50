package spawn_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/reflection-dev/zeno/core/spawn"
)

// open is a gateway with one role that lets everyone in.
type open struct{ url string }

func (g open) Endpoint(string) string                               { return g.url + "/mcp" }
func (open) Issue(_, spawn string, _ time.Duration) (string, error) { return "token-of-" + spawn, nil }
func (open) Revoke(string)                                          {}
func (open) Activity(string) spawn.Activity                         { return spawn.Activity{Connected: true} }

func ExampleRunner_Run() {
	tools := server.NewMCPServer("zeno", "example")
	tools.AddTool(mcp.NewTool("eval", mcp.WithString("code")), func(_ context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("=> 3"), nil
	})
	endpoint := httptest.NewServer(server.NewStreamableHTTPServer(tools, server.WithStateLess(true)))
	defer endpoint.Close()
	state, err := os.MkdirTemp("", "spawn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(state)

	runner, err := spawn.New(spawn.Config{Gateway: open{endpoint.URL}, StateDir: state})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runner.Close()
	result := runner.Run(context.Background(), spawn.Request{
		Role: "reader", Backend: spawn.Scripted,
		Agent: func(ctx context.Context, c spawn.Client) (string, error) {
			text, _, err := c.Eval(ctx, "(+ 1 2)")
			return text, err
		},
	})
	fmt.Println(result.Status, result.Answer)
	// Output: ok => 3
}
