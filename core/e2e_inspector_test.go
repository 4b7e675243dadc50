package core_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/npmcli"
)

// TestInspector: the MCP inspector, a client of other people's, lists and calls the tool of a live endpoint.
func TestInspector(t *testing.T) {
	path := npmcli.Need(t, "mcp-inspector")
	c, _ := start(t, reader)
	token, err := c.Gateway().Issue("reader", "inspected", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Gateway().Revoke("inspected")
	inspect := func(token string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(filepath.SplitList(path)[0], "mcp-inspector"), append([]string{"--cli", c.Gateway().URL("reader"),
			"--transport", "http", "--header", "Authorization: Bearer " + token}, args...)...)
		cmd.Env = []string{"PATH=" + path, "HOME=" + t.TempDir()}
		out, err := cmd.Output()
		return string(out), err
	}

	out, err := inspect(token, "--method", "tools/list", "--strict")
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct{ Required []string }
		}
	}
	if json.Unmarshal([]byte(out), &list) != nil || err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "eval" ||
		!strings.Contains(list.Tools[0].Description, "(echo x)") || strings.Join(list.Tools[0].InputSchema.Required, " ") != "code" {
		t.Errorf("tools/list: got %v %s, want eval, which needs code, with the capabilities in its description", err, out)
	}
	for code, want := range map[string]string{
		`(echo {:a [1 2]})`: `=> {:a [1 2]}`,
		`(ecko 1)`:          `did you mean echo?`,
	} {
		out, err := inspect(token, "--method", "tools/call", "--tool-name", "eval", "--tool-arg", "code="+code)
		var answer struct {
			Content []struct{ Text string }
			IsError bool
		}
		if json.Unmarshal([]byte(out), &answer) != nil || len(answer.Content) != 1 || !strings.Contains(answer.Content[0].Text, want) ||
			answer.IsError != strings.Contains(want, "did you mean") {
			t.Errorf("tools/call %s: got %v %s, want %s", code, err, out, want)
		}
	}
	if out, err := inspect("wrong"+token, "--method", "tools/list"); err == nil || strings.Contains(out, `"eval"`) {
		t.Errorf("a wrong token: got %v %s, want a failure", err, out)
	}
}
