package backend

import (
	"fmt"
	"slices"
	"strings"
)

// Variables are the names a template may use besides the entry's own Vars.
//
//	prompt, system, model, role, spawn   of the request
//	system-work                          system, and where built-in tools are permitted the working directory to use
//	endpoint                             URL of the spawn's MCP endpoint
//	base-url                             of the model server, empty for the CLI's own default
//	session                              id of the session to resume, empty for a new one
//	tools                                permitted built-in tools, separated by commas
//	tools-list, tools-on                 the same as a JSON list, and as a JSON map from each to true
//	tool                                 the entry's ToolName
//	advisor                              model of the CLI's own advisor, empty for none
//	advisor-tools                        its built-in tools, as a JSON list
//	home, work, session-dir              directories: private home, working directory, session files
//	token, api-key                       secrets, in env values only
func Variables() []string {
	return []string{"prompt", "system", "system-work", "model", "role", "spawn", "endpoint", "base-url", "session",
		"tools", "tools-list", "tools-on", "tool", "advisor", "advisor-tools",
		"home", "work", "session-dir", "token", "api-key"}
}

// secret tells whether a variable may stand in env values only.
func secret(name string) bool { return name == "token" || name == "api-key" }

// piece is a stretch of a template: literal text, or a variable's name.
type piece struct {
	text     string
	variable bool
}

// parseTemplate splits a template. Errors say what is wrong without the place, which the caller knows.
func parseTemplate(s string) ([]piece, error) {
	var pieces []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{text: literal.String()})
			literal.Reset()
		}
	}
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			literal.WriteString(s)
			break
		}
		literal.WriteString(s[:i])
		s = s[i+1:]
		switch {
		case strings.HasPrefix(s, "$"):
			literal.WriteByte('$')
			s = s[1:]
		case strings.HasPrefix(s, "{"):
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("got ${ without }, want ${name}, or $$ for a dollar")
			}
			flush()
			pieces = append(pieces, piece{text: s[1:end], variable: true})
			s = s[end+1:]
		default:
			literal.WriteByte('$')
		}
	}
	flush()
	return pieces, nil
}

// emptyError reports a variable that has no value where one is needed.
type emptyError struct{ name string }

func (e *emptyError) Error() string {
	return fmt.Sprintf("${%s} is empty; give the spawn a value for it", e.name)
}

// expand replaces the variables of a template that Validate has accepted.
func expand(s string, vars map[string]string) (string, error) {
	pieces, err := parseTemplate(s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range pieces {
		if !p.variable {
			out.WriteString(p.text)
			continue
		}
		value := vars[p.text]
		if value == "" {
			return "", &emptyError{p.text}
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// checkTemplate reports a broken template, an unknown variable, or a secret where none may stand.
func (b Backend) checkTemplate(s string, secrets bool) error {
	pieces, err := parseTemplate(s)
	if err != nil {
		return err
	}
	for _, p := range pieces {
		if !p.variable {
			continue
		}
		if err := b.checkVariable(p.text); err != nil {
			return err
		}
		if secret(p.text) && !secrets {
			return fmt.Errorf("got the secret ${%s}, want it in env only: argv and files are readable by others", p.text)
		}
	}
	return nil
}

// checkVariable reports a name that is neither built in nor among the entry's Vars.
func (b Backend) checkVariable(name string) error {
	if _, own := b.Vars[name]; own || slices.Contains(Variables(), name) {
		return nil
	}
	return fmt.Errorf("got the unknown variable ${%s}, want one of %s, or an entry in vars", name, strings.Join(Variables(), " "))
}

// Uses tells whether a template of the entry holds the variable.
func (b Backend) Uses(name string) bool {
	text := func(s string) bool {
		pieces, err := parseTemplate(s)
		return err == nil && slices.Contains(pieces, piece{text: name, variable: true})
	}
	inArgs := func(a Arg) bool { return slices.ContainsFunc(a.Words, text) }
	inFile := func(f File) bool { return text(f.Text) || inData(f.Data, text) }
	return text(b.Stdin) || text(b.Dir) || slices.ContainsFunc(b.Argv, inArgs) || anyValue(b.Env, text) ||
		anyValue(b.Links, text) || anyValue(b.Files, inFile)
}

func anyValue[T any](m map[string]T, holds func(T) bool) bool {
	for _, v := range m {
		if holds(v) {
			return true
		}
	}
	return false
}

// inData tells whether a text in a file's data, a key or a value, holds.
func inData(data any, holds func(string) bool) bool {
	switch v := data.(type) {
	case string:
		return holds(v)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return inData(item, holds) })
	case map[string]any:
		for key, item := range v {
			name, _, _ := strings.Cut(key, "?")
			if holds(name) || inData(item, holds) {
				return true
			}
		}
	}
	return false
}
