package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Values are what one spawn puts into an entry's templates. Home, Work and SessionDir are absolute directories.
type Values struct {
	Prompt, System, Model, Role, Spawn string
	Endpoint, BaseURL, Session         string
	Home, Work, SessionDir             string
	Token, APIKey                      string
	Tools                              []string
	// Advisor is the model of the CLI's own advisor, AdvisorTools are the built-in tools it gets.
	Advisor      string
	AdvisorTools []string
	Vars         map[string]string
}

// Plan is one run, ready to be carried out: nothing in it needs interpreting.
type Plan struct {
	Argv  []string
	Env   map[string]string
	Dir   string
	Stdin string
	Files []PlannedFile
	Links []PlannedLink
	// Allowed are the tool names the model may see.
	Allowed []string
}

// PlannedFile is a file to write before the start, mode 0600.
type PlannedFile struct {
	Path string
	Data []byte
}

// PlannedLink is a symbolic link to make before the start.
type PlannedLink struct {
	Path, Target string
}

// Plan fills the entry's templates in. It is pure; an error is a *FieldError that says which value is missing or which
// field is wrong.
func (b Backend) Plan(v Values) (Plan, error) {
	if err := b.Validate(); err != nil {
		return Plan{}, err
	}
	vars, err := b.variables(v)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Allowed: slices.Concat([]string{b.ToolName}, b.Builtins, v.Tools)}
	steps := []func(*Plan, map[string]string) error{b.planArgv, b.planEnv, b.planFiles, b.planLinks, b.planTexts}
	for _, step := range steps {
		if err := step(&plan, vars); err != nil {
			return Plan{}, err
		}
	}
	return plan, nil
}

func (b Backend) variables(v Values) (map[string]string, error) {
	prompt := v.Prompt
	for _, escape := range b.Escapes {
		prompt = regexp.MustCompile(escape.Match).ReplaceAllString(prompt, escape.With)
	}
	vars := maps.Clone(b.Vars)
	if vars == nil {
		vars = map[string]string{}
	}
	for name, value := range v.Vars {
		if _, own := b.Vars[name]; !own {
			return nil, b.wrong("vars."+name, "got a variable this backend does not have, want one of %s",
				strings.Join(slices.Sorted(maps.Keys(b.Vars)), " "))
		}
		vars[name] = value
	}
	maps.Copy(vars, map[string]string{
		"prompt": prompt, "system": v.System, "model": v.Model, "role": v.Role, "spawn": v.Spawn,
		"endpoint": v.Endpoint, "base-url": v.BaseURL, "session": v.Session,
		"home": v.Home, "work": v.Work, "session-dir": v.SessionDir,
		"token": v.Token, "api-key": cmp.Or(v.APIKey, noKey(v.BaseURL)),
		"tools": strings.Join(v.Tools, ","), "tool": b.ToolName,
	})
	for _, tool := range v.Tools {
		if len(b.Offers) > 0 && !slices.Contains(b.Offers, tool) {
			return nil, b.wrong("tools", "got %q, want built-in tools of this CLI: %s", tool, strings.Join(b.Offers, " "))
		}
	}
	if v.Advisor != "" {
		if !b.OwnAdvisor {
			return nil, b.wrong("advisor", "got the model %s, want none: this CLI has no advisor of its own", v.Advisor)
		}
		vars["advisor"] = v.Advisor
		vars["advisor-tools"], _ = toolTexts(v.AdvisorTools)
	}
	vars["system-work"] = v.System
	if len(v.Tools) > 0 {
		vars["tools-list"], vars["tools-on"] = toolTexts(v.Tools)
		vars["system-work"] = strings.TrimSpace(v.System + "\n\nYour working directory is " + v.Work + ". Give absolute paths below it to every tool.\n")
	}
	for _, name := range b.Requires {
		if vars[name] == "" {
			return nil, b.wrong(name, "got none, want one: this backend needs it")
		}
	}
	return vars, nil
}

// noKey stands for the key of a server that needs none, such as one on this machine: most CLIs do not start without one.
// Over https there may be another way in, which a key of ours would be in the way of.
func noKey(baseURL string) string {
	if strings.HasPrefix(strings.ToLower(baseURL), "http://") {
		return "no-key-is-needed"
	}
	return ""
}

// toolTexts gives the permitted tools in the two forms that configuration files want.
func toolTexts(tools []string) (list, on string) {
	all := make(map[string]bool, len(tools))
	tools = append([]string{}, tools...) // none is [], not null
	for _, tool := range tools {
		all[tool] = true
	}
	listed, _ := json.Marshal(tools) // text and booleans always can be written
	mapped, _ := json.Marshal(all)
	return string(listed), string(mapped)
}

// stands evaluates the condition of an argument or a file.
func stands(vars map[string]string, ifSet, unless string) bool {
	for name := range strings.FieldsSeq(ifSet) {
		if vars[name] == "" {
			return false
		}
	}
	for name := range strings.FieldsSeq(unless) {
		if vars[name] != "" {
			return false
		}
	}
	return true
}

func (b Backend) planArgv(plan *Plan, vars map[string]string) error {
	for i, arg := range b.Argv {
		if !stands(vars, arg.If, arg.Unless) {
			continue
		}
		expanded := make([]string, 0, len(arg.Words))
		for _, w := range arg.Words {
			text, err := expand(w, vars)
			var empty *emptyError
			if errors.As(err, &empty) && arg.Optional {
				expanded = nil
				break
			}
			if err != nil {
				return b.wrong(fmt.Sprintf("argv[%d]", i), "%v", err)
			}
			expanded = append(expanded, text)
		}
		plan.Argv = append(plan.Argv, expanded...)
	}
	return nil
}

func (b Backend) planEnv(plan *Plan, vars map[string]string) error {
	plan.Env = make(map[string]string, len(b.Env))
	for name, template := range b.Env {
		name, needs, _ := strings.Cut(name, "?")
		if !stands(vars, needs, "") {
			continue
		}
		text, err := expand(template, vars)
		var empty *emptyError
		if errors.As(err, &empty) {
			continue
		}
		if err != nil {
			return b.wrong("env."+name, "%v", err)
		}
		plan.Env[name] = text
	}
	return nil
}

func (b Backend) planFiles(plan *Plan, vars map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		file, field := b.Files[path], fmt.Sprintf("files[%q]", path)
		if !stands(vars, file.If, file.Unless) {
			continue
		}
		content, err := file.render(vars)
		if err != nil {
			return b.wrong(field, "%v", err)
		}
		plan.Files = append(plan.Files, PlannedFile{Path: filepath.Join(vars["home"], path), Data: content})
	}
	return nil
}

func (f File) render(vars map[string]string) ([]byte, error) {
	if f.Data == nil {
		text, err := expand(f.Text, vars)
		return []byte(text), err
	}
	data, err := expandData(f.Data, vars)
	if err != nil {
		return nil, err
	}
	if f.Format == "toml" {
		return toml.Marshal(data)
	}
	return json.MarshalIndent(data, "", "  ")
}

// expandData returns a copy of data with its strings expanded.
func expandData(data any, vars map[string]string) (any, error) {
	var err error
	switch v := data.(type) {
	case string:
		return expand(v, vars)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = expandData(item, vars); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		table := make(map[string]any, len(v))
		for key, item := range v {
			key, needs, optional := strings.Cut(key, "?")
			if !stands(vars, needs, "") {
				continue
			}
			item, err := expandData(item, vars)
			if err == nil {
				key, err = expand(key, vars)
			}
			var empty *emptyError
			if optional && errors.As(err, &empty) {
				continue
			}
			if err != nil {
				return nil, err
			}
			table[key] = item
		}
		return table, nil
	}
	return data, nil
}

func (b Backend) planLinks(plan *Plan, vars map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(b.Links)) {
		target, err := expand(b.Links[path], vars)
		if err != nil {
			return b.wrong(fmt.Sprintf("links[%q]", path), "%v", err)
		}
		plan.Links = append(plan.Links, PlannedLink{Path: filepath.Join(vars["home"], path), Target: target})
	}
	return nil
}

func (b Backend) planTexts(plan *Plan, vars map[string]string) error {
	var err error
	if plan.Stdin, err = expand(b.Stdin, vars); err != nil {
		return b.wrong("stdin", "%v", err)
	}
	dir := b.Dir
	if dir == "" {
		dir = "${work}"
	}
	if plan.Dir, err = expand(dir, vars); err != nil {
		return b.wrong("dir", "%v", err)
	}
	return nil
}
