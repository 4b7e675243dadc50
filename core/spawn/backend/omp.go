package backend

// omp is Oh My Pi in print mode.
//
// The CLI runs under bun, which executes bunfig.toml of the current directory, and it loads tools, hooks and prompts from
// an .omp directory there; no flag stops either. So it starts in an empty directory of zeno's own, inside the private
// home, and learns the working directory from its system text. The .omp directory in it is what a search upwards finds
// first.
func omp() Backend {
	return Backend{
		Name:  "omp",
		Needs: []string{"bun"},
		Argv: append([]Arg{
			word("omp"), word("-p"),
			{Words: []string{"--mode", "json", "--config", "${home}/overlay.yml"}},
			{Words: []string{"--advisor", "--config", "${home}/advisor-zeno.yml"}, If: "advisor base-url"},
			{Words: []string{"--advisor", "--config", "${home}/advisor.yml"}, If: "advisor", Unless: "base-url"},
			{Words: []string{"--no-tools"}, Unless: "tools"},
			{Words: []string{"--tools=${tools}"}, If: "tools"},
			{Words: []string{"--append-system-prompt=${home}/system.md"}, If: "system-work"},
			{Words: []string{"--model=zeno/${model}"}, If: "base-url"},
			{Words: []string{"--model=${model}"}, Unless: "base-url", Optional: true},
			{Words: []string{"--session-dir=${session-dir}"}},
			group("--resume=${session}"),
		}, words("--no-lsp", "--no-skills", "--no-rules", "--no-extensions", "--no-title", "--auto-approve")...),
		Stdin: "${prompt}",
		Dir:   "${home}/run",
		Env: map[string]string{
			"PI_CODING_AGENT_DIR": "${home}/agent",
			"PI_NO_TITLE":         "1",
			"OMP_SKIP_SETUP":      "1",
			"ZENO_API_KEY":        "${api-key}",
		},
		Files: map[string]File{
			"run/.omp/config.yml": {Text: "{}\n"},
			"overlay.yml":         {Data: ompOverlay()},
			"advisor-zeno.yml":    {Data: ompAdvisor("advisor/${advisor}"), If: "advisor base-url"},
			"advisor.yml":         {Data: ompAdvisor("${advisor}"), If: "advisor", Unless: "base-url"},
			// Without a list of tools, even an empty one, its advisor reads files whatever --no-tools says.
			"agent/WATCHDOG.yml": {Text: "advisors:\n  - name: advisor\n    tools: ${advisor-tools}\n", If: "advisor"},
			"agent/mcp.json":     {Data: mcpServers()},
			"agent/models.yml":   {Data: ompModels(), If: "base-url"},
			"system.md":          {Text: "${system-work}", If: "system-work"},
		},
		// A resumed session goes on in the directory its header names, and is refused where that is gone.
		Rehome:       "*.jsonl",
		SessionFirst: true,
		Vars:         map[string]string{"api": "openai-completions"},
		OwnAdvisor:   true,
		Escapes:      []Escape{escapeAt()},
		ToolName:     "mcp__zeno_eval",
		Stream:       Stream{Rules: append(ompRules(), ompAdvice())},
		Install:      "npm install -g @oh-my-pi/pi-coding-agent@18.2.3 bun@1.4.5",
		Tried:        "18.2.3",
	}
}

// escapeAt is for CLIs to which "@path" in a prompt means to read that file, of whatever directory, and to send it to the
// model: an invisible word joiner after the @ keeps it text.
func escapeAt() Escape {
	return Escape{Match: `(\A|[\s\x{85}\x{a0}\x{feff}\p{Z}(\[{<"'` + "`" + `])@`, With: "${1}@\u2060"}
}

// ompOverlay switches off what the CLI would find by itself: configuration of other programs, and model servers it would
// look for on local ports.
func ompOverlay() map[string]any {
	return map[string]any{
		"tools": map[string]any{"xdev": false},
		"mcp":   map[string]any{"enableProjectConfig": false},
		"dev":   map[string]any{"autoqa": false},
		"retry": map[string]any{"maxRetries": 4}, // its own ten take many minutes
		"disabledProviders": []any{
			"agent-plugins", "agents", "agents-md", "claude", "claude-md", "claude-plugins", "cline", "codex", "cursor",
			"gemini", "github", "mcp-json", "omp-plugins", "opencode", "ssh-json", "vscode", "windsurf",
			"ollama", "llama.cpp", "lm-studio", "charm-hyper",
		},
	}
}

// ompModels declares the model server; ZENO_API_KEY names the environment variable, it is not the key.
func ompModels() map[string]any {
	provider := func(model string) map[string]any {
		return map[string]any{"baseUrl": "${base-url}", "api": "${api}", "apiKey": "ZENO_API_KEY", "models": []any{map[string]any{"id": model}}}
	}
	return map[string]any{"providers": map[string]any{"zeno": provider("${model}"), "advisor?advisor": provider("${advisor}")}}
}

// ompAdvisor pairs a second model with the run. The run waits for it where it is a turn behind.
func ompAdvisor(model string) map[string]any {
	return map[string]any{
		"advisor":    map[string]any{"enabled": true, "syncBacklog": "1"},
		"modelRoles": map[string]any{"advisor": model},
	}
}

// ompAdvice reads what its advisor tells the model. What the advisor uses is in no line.
func ompAdvice() Rule {
	return Rule{When: map[string]any{"type": "message_end", "message.customType": "advisor"},
		Each: "message.details.notes", Take: map[string][]string{"advice": {"note"}}}
}

func ompRules() []Rule {
	message := func(more map[string]any) map[string]any {
		when := map[string]any{"type": "message_end", "message.role": "assistant"}
		for path, value := range more {
			when[path] = value
		}
		return when
	}
	return []Rule{
		{When: map[string]any{"type": "session"}, Take: map[string][]string{"session": {"id"}}},
		{When: message(nil), Take: map[string][]string{
			"tokens-in":   {"message.usage.input", "message.usage.cacheRead", "message.usage.cacheWrite"},
			"tokens-out":  {"message.usage.output"},
			"cache-read":  {"message.usage.cacheRead"},
			"cache-write": {"message.usage.cacheWrite"},
			"usd":         {"message.usage.cost.total"}}},
		{When: message(nil), Each: "message.content", If: map[string]any{"type": "text"},
			Take: map[string][]string{"text": {"text"}}},
		{When: message(map[string]any{"message.stopReason": []any{"stop", "length"}}),
			Each: "message.content", If: map[string]any{"type": "text"},
			Take: map[string][]string{"answer": {"text"}}},
		{When: message(map[string]any{"message.stopReason": []any{"error", "aborted"}}),
			Take: map[string][]string{"error": {"message.errorMessage", "message.stopReason"}}},
		{When: map[string]any{"type": "tool_execution_start"},
			Take: map[string][]string{"call": {"toolName"}, "code": {"args.code"}}},
		{When: map[string]any{"type": "tool_execution_end", "isError": false},
			Take: map[string][]string{"done": {"toolName"}}},
	}
}
