package backend

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// FieldError names the field of an entry that is wrong, as a path such as `files[".x/mcp.json"].data.url`.
type FieldError struct {
	Backend, Field, Problem string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("backend %s: %s: %s", e.Backend, e.Field, e.Problem)
}

// envName is what may stand left of the = in an environment.
const envName = `^[A-Za-z_][A-Za-z0-9_]*$`

// entryName is what an entry may be called; the name becomes part of file names.
const entryName = `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`

// Validate reports the first field that cannot work, as a *FieldError; nil means that Plan can only fail for want of a
// value.
func (b Backend) Validate() error {
	checks := []func() error{b.checkNames, b.checkArgv, b.checkEnv, b.checkFiles, b.checkLinks, b.checkEscapes, b.checkStream}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (b Backend) wrong(field, format string, args ...any) error {
	return &FieldError{Backend: b.Name, Field: field, Problem: fmt.Sprintf(format, args...)}
}

func (b Backend) checkNames() error {
	if !regexp.MustCompile(entryName).MatchString(b.Name) {
		return b.wrong("name", "got %q, want letters, digits, - and _", b.Name)
	}
	if b.ToolName == "" {
		return b.wrong("tool-name", "got none, want the eval tool's name as the model sees it")
	}
	if _, err := path.Match(b.Rehome, ""); err != nil {
		return b.wrong("rehome", "got %q, want a file name pattern such as *.jsonl", b.Rehome)
	}
	for name := range b.Vars {
		if slices.Contains(Variables(), name) {
			return b.wrong("vars", "got %q, which is built in; want another name", name)
		}
	}
	for i, name := range b.Requires {
		if err := b.checkVariable(name); err != nil {
			return b.wrong(fmt.Sprintf("requires[%d]", i), "%v", err)
		}
	}
	for field, template := range map[string]string{"stdin": b.Stdin, "dir": b.Dir} {
		if err := b.checkTemplate(template, false); err != nil {
			return b.wrong(field, "%v", err)
		}
	}
	return nil
}

func (b Backend) checkArgv() error {
	if len(b.Argv) == 0 || len(b.Argv[0].Words) == 0 || b.Argv[0].Words[0] == "" || b.Argv[0].Optional {
		return b.wrong("argv[0]", "got none, want the program's name")
	}
	if strings.Contains(b.Argv[0].Words[0], "$") {
		return b.wrong("argv[0]", "got a template, want a plain program name")
	}
	for i, arg := range b.Argv {
		field := fmt.Sprintf("argv[%d]", i)
		if err := b.checkCondition(field, arg.If, arg.Unless); err != nil {
			return err
		}
		for _, w := range arg.Words {
			if err := b.checkTemplate(w, false); err != nil {
				return b.wrong(field, "%v", err)
			}
			if strings.ContainsRune(w, 0) {
				return b.wrong(field, "got a NUL byte, want text")
			}
		}
	}
	return nil
}

func (b Backend) checkCondition(field, ifSet, unless string) error {
	for name := range strings.FieldsSeq(ifSet + " " + unless) {
		if err := b.checkVariable(name); err != nil {
			return b.wrong(field, "%v", err)
		}
	}
	return nil
}

func (b Backend) checkEnv() error {
	valid := regexp.MustCompile(envName)
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		template, field := b.Env[name], "env."+name
		name, needs, _ := strings.Cut(name, "?")
		if err := b.checkCondition(field, needs, ""); err != nil {
			return err
		}
		if !valid.MatchString(name) {
			return b.wrong(field, "got a bad name, want letters, digits and _")
		}
		if name == "HOME" || name == "PATH" || name == "ZENO_TOKEN" {
			return b.wrong(field, "got a name that zeno sets itself, want another")
		}
		if err := b.checkTemplate(template, true); err != nil {
			return b.wrong(field, "%v", err)
		}
	}
	return nil
}

func (b Backend) checkFiles() error {
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		file, field := b.Files[path], fmt.Sprintf("files[%q]", path)
		if !filepath.IsLocal(path) {
			return b.wrong(field, "got a path outside the private home, want a relative one inside")
		}
		if (file.Text == "") == (file.Data == nil) {
			return b.wrong(field, "got both or neither of text and data, want one")
		}
		if err := b.checkCondition(field, file.If, file.Unless); err != nil {
			return err
		}
		if err := b.checkFormat(field, file); err != nil {
			return err
		}
		if err := b.checkTemplate(file.Text, false); err != nil {
			return b.wrong(field+".text", "%v", err)
		}
		if err := b.checkData(field+".data", file.Data, 0); err != nil {
			return err
		}
	}
	return nil
}

func (b Backend) checkFormat(field string, file File) error {
	if !slices.Contains([]string{"", "json", "toml"}, file.Format) {
		return b.wrong(field+".format", "got %q, want json or toml", file.Format)
	}
	if _, table := file.Data.(map[string]any); file.Format == "toml" && !table {
		return b.wrong(field+".data", "got no map, want one: a TOML file is a table")
	}
	return nil
}

// maxDepth bounds the nesting of file data and of values an entry is decoded from.
const maxDepth = 32

func (b Backend) checkData(field string, data any, depth int) error {
	if depth > maxDepth {
		return b.wrong(field, "got nesting deeper than %d, want less", maxDepth)
	}
	switch v := data.(type) {
	case nil, bool, int, int64, float64:
		return nil
	case string:
		if err := b.checkTemplate(v, false); err != nil {
			return b.wrong(field, "%v", err)
		}
		return nil
	case []any:
		for i, item := range v {
			if err := b.checkData(fmt.Sprintf("%s[%d]", field, i), item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name, needs, _ := strings.Cut(key, "?")
			if err := b.checkTemplate(name, false); err != nil {
				return b.wrong(field+"."+key, "%v", err)
			}
			if err := b.checkCondition(field+"."+key, needs, ""); err != nil {
				return err
			}
			if err := b.checkData(field+"."+key, v[key], depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return b.wrong(field, "got a %T, want text, a number, a boolean, a list or a map", data)
}

func (b Backend) checkLinks() error {
	for _, path := range slices.Sorted(maps.Keys(b.Links)) {
		field := fmt.Sprintf("links[%q]", path)
		if !filepath.IsLocal(path) {
			return b.wrong(field, "got a path outside the private home, want a relative one inside")
		}
		if err := b.checkTemplate(b.Links[path], false); err != nil {
			return b.wrong(field, "%v", err)
		}
	}
	return nil
}

func (b Backend) checkEscapes() error {
	for i, escape := range b.Escapes {
		if _, err := regexp.Compile(escape.Match); err != nil {
			return b.wrong(fmt.Sprintf("escapes[%d].match", i), "%v", err)
		}
	}
	return nil
}
