package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// playClaude stands in for the agent CLI of that name: it evaluates its prompt at the endpoint it is configured for and
// answers with what came back. The prompt "hang" makes it wait for ever.
func playClaude() int {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	print := func(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }
	type obj = map[string]any
	print(obj{"type": "system", "subtype": "init", "session_id": "s1", "tools": []string{"mcp__zeno__eval"},
		"mcp_servers": []obj{{"name": "zeno", "status": "connected"}}})
	text, err := evalOverMCP(string(prompt))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if strings.Contains(string(prompt), "hang") {
		time.Sleep(time.Hour)
	}
	print(obj{"type": "result", "result": "the endpoint says: " + text, "usage": obj{"input_tokens": 12, "output_tokens": 3}})
	return 0
}

func evalOverMCP(code string) (string, error) {
	b, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".claude", "zeno-mcp.json"))
	if err != nil {
		return "", err
	}
	var conf struct {
		Servers map[string]struct{ URL string } `json:"mcpServers"`
	}
	if err := json.Unmarshal(b, &conf); err != nil {
		return "", err
	}
	url := conf.Servers["zeno"].URL
	if _, err := post(url, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"stand-in","version":"1"}}`); err != nil {
		return "", err
	}
	args, err := json.Marshal(map[string]any{"name": "eval", "arguments": map[string]string{"code": code}})
	if err != nil {
		return "", err
	}
	return post(url, "tools/call", string(args))
}

// post makes one MCP request and gives the text of the result, whether it comes as JSON or as an event stream.
func post(url, method, params string) (string, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("ZENO_TOKEN"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer discard(res.Body)
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %d: %s %w", method, res.StatusCode, b, err)
	}
	if i := bytes.Index(b, []byte("data: ")); i >= 0 && b[0] != '{' {
		b = b[i+len("data: "):]
	}
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&answer); err != nil {
		return "", err
	}
	if len(answer.Result.Content) == 0 {
		return "", nil
	}
	return answer.Result.Content[0].Text, nil
}
