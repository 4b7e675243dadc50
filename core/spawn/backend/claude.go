package backend

// claude is Claude Code in print mode.
//
// --bare with --setting-sources user and --strict-mcp-config keeps whatever lies in the working directory from being
// started or read. The prompt comes by standard input, the system text by file, so neither meets the kernel's limit on
// one argument. The conversation store is a link to the spawn's session directory; the rest of the home is thrown away.
func claude() Backend {
	return Backend{
		Name: "claude",
		Argv: []Arg{
			word("claude"), word("-p"),
			{Words: []string{"--mcp-config", "${home}/.claude/zeno-mcp.json", "--strict-mcp-config"}},
			{Words: []string{"--bare", "--setting-sources", "user", "--disable-slash-commands"}},
			{Words: []string{"--tools", "${tools}", "--allowedTools", "${tool},${tools}"}, If: "tools"},
			{Words: []string{"--tools", "", "--allowedTools", "${tool}"}, Unless: "tools"},
			{Words: []string{"--append-system-prompt-file", "${home}/.claude/zeno-system.md"}, If: "system"},
			group("--model", "${model}"),
			{Words: []string{"--output-format", "stream-json", "--verbose"}},
			group("--resume", "${session}"),
		},
		Stdin: "${prompt}",
		Env: map[string]string{
			"CLAUDE_CONFIG_DIR":                        "${home}/.claude",
			"ANTHROPIC_BASE_URL":                       "${base-url}",
			"ANTHROPIC_API_KEY":                        "${api-key}",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_AUTOUPDATER":                      "1",
			"DISABLE_TELEMETRY":                        "1",
			"DISABLE_ERROR_REPORTING":                  "1",
			"CLAUDE_CODE_MAX_RETRIES":                  "2",
			"MAX_MCP_OUTPUT_TOKENS":                    "100000",
		},
		Files: map[string]File{
			".claude/zeno-mcp.json":  {Data: mcpServers()},
			".claude/zeno-system.md": {Text: "${system}", If: "system"},
		},
		Links: map[string]string{".claude/projects": "${session-dir}"},
		// A leading slash would be one of the CLI's own commands, and the model would never see the prompt.
		Escapes:  []Escape{{Match: `\A/`, With: "\n/"}},
		ToolName: "mcp__zeno__eval",
		Stream:   Stream{Rules: claudeRules()},
		Hosts:    []string{"api.anthropic.com"},
		Install:  "npm install -g @anthropic-ai/claude-code@2.1.332",
		Tried:    "2.1.332",
	}
}

// ToolMeta is what the endpoint's tool says of itself for the CLIs of the table: Claude Code puts a result over 50,000
// characters into a file, which the model cannot read, unless the tool says that its results are longer.
func ToolMeta() map[string]any {
	return map[string]any{"anthropic/maxResultSizeChars": 200_000}
}

// mcpServers is the shape of MCP configuration that several CLIs share; they expand ${ZENO_TOKEN} themselves.
func mcpServers() map[string]any {
	return map[string]any{"mcpServers": map[string]any{"zeno": map[string]any{
		"type":    "http",
		"url":     "${endpoint}",
		"timeout": 600000,
		"headers": map[string]any{"Authorization": "Bearer $${ZENO_TOKEN}"},
	}}}
}

func claudeRules() []Rule {
	return []Rule{
		{When: map[string]any{"type": "system", "subtype": "init"},
			Take: map[string][]string{"session": {"session_id"}, "tools": {"tools"}}},
		{When: map[string]any{"type": "system", "subtype": "init"},
			Each: "mcp_servers", If: map[string]any{"name": "zeno"},
			Take: map[string][]string{"mcp": {"status"}}},
		// One message comes as several lines, a content block each, and each repeats the message's usage.
		{When: map[string]any{"type": "assistant"}, Per: "message.id",
			Take: map[string][]string{
				"tokens-in": {"message.usage.input_tokens", "message.usage.cache_creation_input_tokens",
					"message.usage.cache_read_input_tokens"},
				"tokens-out":  {"message.usage.output_tokens"},
				"cache-read":  {"message.usage.cache_read_input_tokens"},
				"cache-write": {"message.usage.cache_creation_input_tokens"}}},
		{When: map[string]any{"type": "assistant"}, Each: "message.content", If: map[string]any{"type": "text"},
			Take: map[string][]string{"text": {"text"}}},
		{When: map[string]any{"type": "assistant"}, Each: "message.content", If: map[string]any{"type": "tool_use"},
			Take: map[string][]string{"call": {"name"}, "code": {"input.code"}}},
		// total_cost_usd adds up over a resumed session; the cost since the last result is this run's.
		{When: map[string]any{"type": "result"}, Total: true,
			Take: map[string][]string{
				"answer": {"result"},
				"tokens-in": {"usage.input_tokens", "usage.cache_creation_input_tokens",
					"usage.cache_read_input_tokens"},
				"tokens-out":  {"usage.output_tokens"},
				"cache-read":  {"usage.cache_read_input_tokens"},
				"cache-write": {"usage.cache_creation_input_tokens"},
				"usd":         {"model_usage_since_last_result.*.costUSD"}}},
		{When: map[string]any{"type": "result", "is_error": true},
			Take: map[string][]string{"error": {"result", "errors.0", "subtype"}}},
	}
}
