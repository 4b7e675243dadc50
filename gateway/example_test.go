package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/reflection-dev/zeno/gateway"
)

// shouter is a Host whose language has one function.
type shouter struct{}

func (shouter) Surface(context.Context, gateway.Caller) (gateway.Surface, bool) {
	return gateway.Surface{Capabilities: []gateway.Capability{
		{Name: "shout", Arglists: []string{"[text]"}, Doc: "The text in capitals.", Effect: "pure"},
	}}, true
}

func (shouter) Eval(_ context.Context, c gateway.Caller, code string, _ *gateway.Surface) gateway.Reply {
	return gateway.Reply{Value: strings.ToUpper(code), Out: c.Role + " called\n"}
}

// A program starts a gateway, gives a spawn a token, and an agent calls back
// with it.
func ExampleServer() {
	ctx := context.Background()
	g, err := gateway.New(gateway.Config{Host: shouter{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Stop(ctx) }()
	token, err := g.Issue("reviewer", "spawn-1", time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The agent's side: any MCP client.
	agent, err := client.NewStreamableHttpClient(g.URL("reviewer"),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = agent.Close() }()
	if _, err := agent.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		fmt.Println(err)
		return
	}
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Arguments = "eval", map[string]any{"code": "(shout hi)"}
	result, err := agent.CallTool(ctx, call)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(mcp.TextContent).Text)
	fmt.Println("evals seen:", g.Observe("spawn-1").Evals)
	// Output:
	// => (SHOUT HI)
	//
	// --- printed ---
	// reviewer called
	// evals seen: 1
}
