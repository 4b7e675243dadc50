package backend

// pi is the Pi coding agent in print mode.
//
// --no-approve keeps it from trusting what lies in the working directory; its sessions and its configuration stay in the
// private home. The stream is of the same family as omp's.
func pi() Backend {
	return Backend{
		Name: "pi",
		Argv: []Arg{
			word("pi"), word("-p"),
			{Words: []string{"--mode", "json"}},
			{Words: []string{"--no-builtin-tools"}, Unless: "tools"},
			{Words: []string{"--tools", "${tools},${tool}"}, If: "tools"},
			{Words: []string{"--no-skills", "--no-prompt-templates", "--no-context-files", "--no-approve"}},
			{Words: []string{"--append-system-prompt", "${home}/system.md"}, If: "system"},
			{Words: []string{"--model", "zeno/${model}"}, If: "base-url"},
			{Words: []string{"--model", "${model}"}, Unless: "base-url", Optional: true},
			{Words: []string{"--session-dir", "${session-dir}"}},
			group("--session", "${session}"),
		},
		Stdin: "${prompt}",
		Env: map[string]string{
			"PI_CODING_AGENT_DIR":   "${home}/agent",
			"PI_OFFLINE":            "1",
			"TMPDIR":                "${home}", // long results are left there
			"PI_TELEMETRY":          "0",
			"PI_SKIP_VERSION_CHECK": "1",
			"ZENO_API_KEY":          "${api-key}",
		},
		Files: map[string]File{
			"agent/mcp.json":    {Data: piServers()},
			"agent/models.json": {Data: piModels(), If: "base-url"},
			"system.md":         {Text: "${system}", If: "system"},
		},
		// A session that began elsewhere is not resumed but asked about, and there is nobody to answer.
		Rehome: "*.jsonl",
		// As omp, it appends to the session's file before anything else.
		SessionFirst: true,
		Vars:         map[string]string{"api": "openai-completions"},
		ToolName:     "mcp__zeno__eval",
		Stream:       Stream{Rules: ompRules()},
		Install:      "npm install -g @earendil-works/pi-coding-agent@1.6.0 (node 22 or newer)",
		Tried:        "1.6.0",
	}
}

// piModels declares the model server; pi expands the key's variable itself.
func piModels() map[string]any {
	return map[string]any{"providers": map[string]any{"zeno": map[string]any{
		"baseUrl": "${base-url}",
		"api":     "${api}",
		"apiKey":  "$${ZENO_API_KEY}",
		"models":  []any{map[string]any{"id": "${model}"}},
	}}}
}

// piServers gives the timeout in seconds, and shows the server's tools as tools of their own.
func piServers() map[string]any {
	return map[string]any{"autoEnableCodemode": false, "mcpServers": map[string]any{"zeno": map[string]any{
		"url":      "${endpoint}",
		"timeout":  600,
		"exposure": "direct",
		"headers":  map[string]any{"Authorization": "Bearer $${ZENO_TOKEN}"},
	}}}
}
