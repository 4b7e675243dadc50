package backend

// opencode is OpenCode's run command.
//
// A session belongs to the directory it began in and cannot be resumed once that is gone, so it starts in one that is always
// there and where nobody it serves can write; the working directory is named in the system text. It must not lie below the
// one it starts in, as it would below the root: reading a file there would bring the model the AGENTS.md of each directory
// above. Its sessions are a database in the data directory, which is the spawn's session directory.
func opencode() Backend {
	return Backend{
		Name: "opencode",
		Argv: []Arg{
			{Words: []string{"opencode", "run", "--format", "json", "--agent", "zeno", "--title", "zeno", "--pure"}},
			{Words: []string{"-m", "zeno/${model}"}, If: "base-url"},
			{Words: []string{"-m", "${model}"}, Unless: "base-url", Optional: true},
			group("-s", "${session}"),
		},
		Stdin: "${prompt}",
		Dir:   "/etc",
		Env: map[string]string{
			"OPENCODE_CONFIG":         "${home}/opencode.json",
			"OPENCODE_CONFIG_CONTENT": `{"agent":{"zeno":{"tools":${tools-on}}}}`,
			"XDG_DATA_HOME":           "${session-dir}",
			"XDG_CONFIG_HOME":         "${home}/config",
			"XDG_CACHE_HOME":          "${home}/cache",
			"XDG_STATE_HOME":          "${home}/state",
			// Its logins would be read from the session's directory, and one of them may name a server to take further
			// configuration from.
			"OPENCODE_AUTH_CONTENT":            "{}",
			"OPENCODE_DISABLE_PROJECT_CONFIG":  "1",
			"OPENCODE_DISABLE_CLAUDE_CODE":     "1",
			"OPENCODE_DISABLE_MODELS_FETCH":    "1",
			"OPENCODE_DISABLE_AUTOUPDATE":      "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD":    "1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
			"ZENO_API_KEY":                     "${api-key}",
		},
		Files: map[string]File{
			"opencode.json": {Data: opencodeConfig()},
			// The configuration would put variables and files in place of {env:…} and {file:…}; a file's own text it leaves.
			"system.md": {Text: "${system-work}", If: "system-work"},
		},
		Escapes:  []Escape{escapeAt()},
		ToolName: "zeno_eval",
		Stream:   Stream{Rules: opencodeRules()},
		Install:  "npm install -g opencode-ai@1.18.33",
		Tried:    "1.18.33",
	}
}

func opencodeConfig() map[string]any {
	return map[string]any{
		"provider?": map[string]any{"zeno": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"options": map[string]any{"baseURL": "${base-url}", "apiKey": "{env:ZENO_API_KEY}"},
			"models":  map[string]any{"${model}": map[string]any{}},
		}},
		// Of a result beyond its own limits, which are below the endpoint's, the model would see nothing but a file's name.
		"tool_output": map[string]any{"max_lines": 100000, "max_bytes": 1 << 20},
		"mcp": map[string]any{"zeno": map[string]any{"type": "remote", "url": "${endpoint}", "enabled": true, "oauth": false,
			"headers": map[string]any{"Authorization": "Bearer {env:ZENO_TOKEN}"}, "timeout": 600000}},
		"agent": map[string]any{"zeno": map[string]any{"mode": "primary", "prompt?system-work": "{file:${home}/system.md}",
			"tools": map[string]any{"*": false, "zeno_*": true},
			// Which tools there are decides what it may do; the working directory is no part of where it starts.
			"permission": map[string]any{"external_directory": "allow"}}},
	}
}

func opencodeRules() []Rule {
	return []Rule{
		{Take: map[string][]string{"session": {"sessionID"}}},
		{When: map[string]any{"type": "tool_use"}, Take: map[string][]string{"call": {"part.tool"}, "code": {"part.state.input.code"}}},
		{When: map[string]any{"type": "tool_use", "part.state.status": "completed"}, Take: map[string][]string{"done": {"part.tool"}}},
		{When: map[string]any{"type": "text"}, Take: map[string][]string{"text": {"part.text"}, "answer": {"part.text"}}},
		{When: map[string]any{"type": "step_finish"}, Per: "part.id", Take: map[string][]string{
			"tokens-in":   {"part.tokens.input", "part.tokens.cache.read", "part.tokens.cache.write"},
			"tokens-out":  {"part.tokens.output", "part.tokens.reasoning"},
			"cache-read":  {"part.tokens.cache.read"},
			"cache-write": {"part.tokens.cache.write"},
			"usd":         {"part.cost"}}},
		{When: map[string]any{"type": "error"}, Take: map[string][]string{"error": {"error.data.message", "error.message", "error.name"}}},
	}
}
