package backend

// codex is Codex in exec mode.
//
// Everything stands in a config.toml of the private home. It starts in an empty directory there, and learns the working
// directory from its system text: it runs git where it starts, and git runs the filters that a repository's own
// configuration names; it lists the skills it finds there to the model. Three built-in tools cannot be switched off: they
// list and read MCP resources, of which zeno's endpoint has none. The only tool a spawn may list is the shell. It runs
// outside Codex's own sandbox, as the shells of the other CLIs do: the box is zeno's.
func codex() Backend {
	return Backend{
		Name: "codex",
		Argv: []Arg{
			{Words: []string{"codex", "exec"}},
			{Words: []string{"--json", "--skip-git-repo-check"}},
			{Words: []string{"-s", "read-only"}, Unless: "tools"},
			{Words: []string{"-s", "danger-full-access", "--enable", "shell_tool"}, If: "tools"},
			{Words: []string{"-c", `model_provider="zeno"`}, If: "base-url"},
			group("resume", "${session}"),
			word("-"),
		},
		Stdin: "${prompt}",
		Dir:   "${home}/run",
		Env: map[string]string{
			"CODEX_HOME":   "${home}/.codex",
			"ZENO_API_KEY": "${api-key}",
		},
		Files: map[string]File{
			".codex/config.toml": {Data: codexConfig(), Format: "toml"},
			"run/.git":           {Text: "No repository: what git finds further up is no business of this directory's.\n"},
		},
		Links:    map[string]string{".codex/sessions": "${session-dir}"},
		ToolName: "eval",
		Builtins: []string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"},
		Offers:   []string{"command_execution"},
		Stream:   Stream{Rules: codexRules(), Cumulative: true},
		Hosts:    []string{"api.openai.com"},
		Install:  "npm install -g @openai/codex@0.171.0",
		Tried:    "0.171.0",
	}
}

func codexConfig() map[string]any {
	off := map[string]any{}
	for _, feature := range []string{"shell_tool", "unified_exec", "apps", "plugins", "goals", "view_image",
		"image_generation", "skill_search", "tool_suggest", "hooks"} {
		off[feature] = false
	}
	return map[string]any{
		"model?":                      "${model}",
		"developer_instructions?":     "${system-work}",
		"web_search":                  "disabled",
		"project_doc_max_bytes":       0,
		"check_for_update_on_startup": false,
		"analytics":                   map[string]any{"enabled": false},
		"agents":                      map[string]any{"enabled": false},
		"skills":                      map[string]any{"include_instructions": false, "bundled": map[string]any{"enabled": false}},
		"tools":                       map[string]any{"experimental_request_user_input": map[string]any{"enabled": false}},
		"features":                    off,
		"model_providers?": map[string]any{"zeno": map[string]any{
			"name": "zeno", "base_url": "${base-url}", "env_key": "ZENO_API_KEY", "wire_api": "responses",
			"request_max_retries": 3, "stream_max_retries": 3}},
		"mcp_servers": map[string]any{"zeno": map[string]any{
			"url": "${endpoint}", "bearer_token_env_var": "ZENO_TOKEN", "required": true, "startup_timeout_sec": 20,
			"tool_timeout_sec": 600, "default_tools_approval_mode": "approve"}},
	}
}

func codexRules() []Rule {
	item := func(event, kind any) map[string]any { return map[string]any{"type": event, "item.type": kind} }
	return []Rule{
		{When: map[string]any{"type": "thread.started"}, Take: map[string][]string{"session": {"thread_id"}}},
		{When: item("item.started", "mcp_tool_call"), Take: map[string][]string{"call": {"item.tool"}, "code": {"item.arguments.code"}}},
		{When: map[string]any{"type": "item.completed", "item.type": "mcp_tool_call", "item.status": "completed"},
			Take: map[string][]string{"done": {"item.tool"}}},
		// A command has run whatever it returned.
		{When: item("item.started", []any{"command_execution", "file_change", "web_search"}),
			Take: map[string][]string{"call": {"item.type"}, "code": {"item.command"}}},
		{When: item("item.completed", []any{"command_execution", "file_change", "web_search"}),
			Take: map[string][]string{"done": {"item.type"}}},
		{When: item("item.completed", "agent_message"), Take: map[string][]string{"text": {"item.text"}, "answer": {"item.text"}}},
		{When: map[string]any{"type": "turn.completed"}, Total: true, Take: map[string][]string{
			"tokens-in": {"usage.input_tokens"}, "tokens-out": {"usage.output_tokens"},
			"cache-read": {"usage.cached_input_tokens"}, "cache-write": {"usage.cache_write_input_tokens"}}},
		// An item of type error is a notice; what ends the run comes as a line of its own.
		{When: map[string]any{"type": "error"}, Take: map[string][]string{"error": {"message"}}},
		{When: map[string]any{"type": "turn.failed"}, Take: map[string][]string{"error": {"error.message"}}},
	}
}
