package backend

// gemini is Gemini CLI in its headless mode.
//
// It reads GEMINI.md of the directory it starts in and settings from a .gemini there, so it starts in an empty directory of
// the private home. A policy file denies every tool but zeno's, which takes the others out of what the model is offered.
func gemini() Backend {
	return Backend{
		Name: "gemini",
		Argv: []Arg{
			{Words: []string{"gemini", "-o", "stream-json", "--skip-trust", "--approval-mode", "default"}},
			{Words: []string{"--allowed-mcp-server-names", "zeno"}},
			{Words: []string{"--policy", "${home}/policy.toml"}, Unless: "tools"},
			{Words: []string{"--policy", "${home}/policy-tools.toml", "--include-directories", "${work}"}, If: "tools"},
			group("-m", "${model}"),
			{Words: []string{"--resume", "latest"}, If: "session"},
			{Words: []string{"-p", ""}},
		},
		Stdin: "${prompt}",
		Dir:   "${home}/run",
		Env: map[string]string{
			"GEMINI_CLI_HOME":              "${home}",
			"GEMINI_API_KEY":               "${api-key}",
			"GOOGLE_GEMINI_BASE_URL":       "${base-url}",
			"GEMINI_SYSTEM_MD?system-work": "${home}/system.md",
			// In a box ZENO_TOKEN is the placeholder $MSB_ZENO_MCP, and the CLI expands what it has expanded: to itself.
			"MSB_ZENO_MCP": `\$$MSB_ZENO_MCP`,
		},
		Files: map[string]File{
			".gemini/settings.json": {Data: geminiSettings()},
			"policy.toml":           {Text: geminiPolicy, Unless: "tools"},
			"policy-tools.toml": {Text: geminiPolicy + "[[rule]]\ntoolName = ${tools-list}\ndecision = \"allow\"\nallowRedirection = true\npriority = 300\n",
				If: "tools"},
			"system.md": {Text: "${system-work}", If: "system-work"},
		},
		// The store is kept by the name of the project, which is that of the directory; a marker in it says the whole path.
		Links:    map[string]string{".gemini/tmp": "${session-dir}"},
		Rehome:   ".project_root",
		Escapes:  []Escape{escapeAt()},
		ToolName: "mcp_zeno_eval",
		Stream:   Stream{Rules: geminiRules()},
		Hosts:    []string{"generativelanguage.googleapis.com"},
		Install:  "npm install -g @google/gemini-cli@0.61.0",
		Tried:    "0.61.0",
	}
}

const geminiPolicy = `[[rule]]
toolName = "*"
decision = "deny"
priority = 100
[[rule]]
mcpName = "zeno"
toolName = "*"
decision = "allow"
priority = 200
`

func geminiSettings() map[string]any {
	return map[string]any{
		"mcpServers": map[string]any{"zeno": map[string]any{"httpUrl": "${endpoint}", "trust": true, "timeout": 600000,
			"headers": map[string]any{"Authorization": "Bearer $${ZENO_TOKEN}"}}},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"general":  map[string]any{"enableAutoUpdate": false, "maxAttempts": 4},
	}
}

func geminiRules() []Rule {
	return []Rule{
		{When: map[string]any{"type": "init"}, Take: map[string][]string{"session": {"session_id"}}},
		{When: map[string]any{"type": "message", "role": "assistant"}, Piece: true,
			Take: map[string][]string{"text": {"content"}, "answer": {"content"}}},
		{When: map[string]any{"type": "tool_use"},
			Take: map[string][]string{"call": {"tool_name"}, "code": {"parameters.code"}, "call-id": {"tool_id"}}},
		{When: map[string]any{"type": "tool_result", "status": "success"}, Take: map[string][]string{"done-id": {"tool_id"}}},
		{When: map[string]any{"type": "result"}, Total: true, Take: map[string][]string{
			"tokens-in": {"stats.input_tokens"}, "tokens-out": {"stats.output_tokens"}, "cache-read": {"stats.cached"}}},
		{When: map[string]any{"type": "error"}, Take: map[string][]string{"error": {"message", "error.message"}}},
		{When: map[string]any{"type": "result", "status": "error"}, Take: map[string][]string{"error": {"error.message", "error.type"}}},
	}
}
