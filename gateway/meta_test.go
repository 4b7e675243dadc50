package gateway

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// TestToolMeta: hints for clients reach them, and without any there is no _meta.
func TestToolMeta(t *testing.T) {
	list := func(cfg Config) mcp.Tool {
		s := start(t, cfg)
		c, _ := connect(t, s, "r", issue(t, s, "r", "s1"), "")
		tools, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil || len(tools.Tools) != 1 {
			t.Fatalf("tools: got %+v, %v", tools, err)
		}
		return tools.Tools[0]
	}
	if got := list(Config{}).Meta; got != nil {
		t.Errorf("without hints: got %+v, want none", got)
	}
	got := list(Config{ToolMeta: map[string]any{"example.org/hint": 7}}).Meta
	if got == nil || got.AdditionalFields["example.org/hint"] != 7.0 {
		t.Errorf("got %+v, want the hint", got)
	}
}
