package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Decode reads an entry from plain data, as a Lisp map arrives: string keys in kebab case, the values strings, numbers,
// booleans, []any and map[string]any. An element of argv is a word, a list of words (a group, left out when a variable
// in it is empty), or a map with args and if, unless or optional. The result is validated; an error is a *FieldError.
func Decode(name string, data map[string]any) (Backend, error) {
	d := &decoder{backend: name}
	b := Backend{Name: name}
	d.fields("", data, map[string]func(path string, v any){
		"argv":          func(p string, v any) { b.Argv = list(d, p, v, d.arg) },
		"needs":         func(p string, v any) { b.Needs = list(d, p, v, d.text) },
		"stdin":         func(p string, v any) { b.Stdin = d.text(p, v) },
		"dir":           func(p string, v any) { b.Dir = d.text(p, v) },
		"env":           func(p string, v any) { b.Env = table(d, p, v, d.text) },
		"files":         func(p string, v any) { b.Files = table(d, p, v, d.file) },
		"links":         func(p string, v any) { b.Links = table(d, p, v, d.text) },
		"rehome":        func(p string, v any) { b.Rehome = d.text(p, v) },
		"session-first": func(p string, v any) { b.SessionFirst = d.flag(p, v) },
		"vars":          func(p string, v any) { b.Vars = table(d, p, v, d.text) },
		"requires":      func(p string, v any) { b.Requires = list(d, p, v, d.text) },
		"escapes":       func(p string, v any) { b.Escapes = list(d, p, v, d.escape) },
		"tool-name":     func(p string, v any) { b.ToolName = d.text(p, v) },
		"builtins":      func(p string, v any) { b.Builtins = list(d, p, v, d.text) },
		"own-advisor":   func(p string, v any) { b.OwnAdvisor = d.flag(p, v) },
		"hosts":         func(p string, v any) { b.Hosts = list(d, p, v, d.text) },
		"offers":        func(p string, v any) { b.Offers = list(d, p, v, d.text) },
		"stream":        func(p string, v any) { b.Stream = d.stream(p, v) },
		"install":       func(p string, v any) { b.Install = d.text(p, v) },
		"tried":         func(p string, v any) { b.Tried = d.text(p, v) },
	})
	if d.err != nil {
		return Backend{}, d.err
	}
	if err := b.Validate(); err != nil {
		return Backend{}, err
	}
	return b, nil
}

// decoder keeps the first error, so that the readers below stay plain expressions.
type decoder struct {
	backend string
	err     error
}

func (d *decoder) wrong(path, format string, args ...any) {
	if d.err == nil {
		d.err = &FieldError{Backend: d.backend, Field: path, Problem: fmt.Sprintf(format, args...)}
	}
}

// kind names a value's type for messages.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int, int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", v)
}

// fields hands each key of a map to its reader; a key without one is an error that lists the others.
func (d *decoder) fields(path string, v any, readers map[string]func(string, any)) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong(path, "got %s, want a map", kind(v))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		full := key
		if path != "" {
			full = path + "." + key
		}
		read, ok := readers[key]
		if !ok {
			d.wrong(full, "got an unknown key, want one of %s", strings.Join(slices.Sorted(maps.Keys(readers)), " "))
			return
		}
		read(full, m[key])
	}
}

func (d *decoder) text(path string, v any) string {
	s, ok := v.(string)
	if !ok {
		d.wrong(path, "got %s, want text", kind(v))
	}
	return s
}

func (d *decoder) flag(path string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		d.wrong(path, "got %s, want true or false", kind(v))
	}
	return b
}

func list[T any](d *decoder, path string, v any, read func(string, any) T) []T {
	items, ok := v.([]any)
	if !ok {
		d.wrong(path, "got %s, want a list", kind(v))
		return nil
	}
	out := make([]T, len(items))
	for i, item := range items {
		out[i] = read(fmt.Sprintf("%s[%d]", path, i), item)
	}
	return out
}

func table[T any](d *decoder, path string, v any, read func(string, any) T) map[string]T {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong(path, "got %s, want a map", kind(v))
		return nil
	}
	out := make(map[string]T, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out[key] = read(fmt.Sprintf("%s[%q]", path, key), m[key])
	}
	return out
}

func (d *decoder) arg(path string, v any) Arg {
	switch v := v.(type) {
	case string:
		return Arg{Words: []string{v}}
	case []any:
		return Arg{Words: list(d, path, v, d.text), Optional: true}
	case map[string]any:
		var arg Arg
		d.fields(path, v, map[string]func(string, any){
			"args":     func(p string, v any) { arg.Words = list(d, p, v, d.text) },
			"if":       func(p string, v any) { arg.If = d.text(p, v) },
			"unless":   func(p string, v any) { arg.Unless = d.text(p, v) },
			"optional": func(p string, v any) { arg.Optional = d.flag(p, v) },
		})
		return arg
	}
	d.wrong(path, "got %s, want a word, a list of words, or a map with args", kind(v))
	return Arg{}
}

func (d *decoder) file(path string, v any) File {
	if s, ok := v.(string); ok {
		return File{Text: s}
	}
	var f File
	d.fields(path, v, map[string]func(string, any){
		"text":   func(p string, v any) { f.Text = d.text(p, v) },
		"data":   func(_ string, v any) { f.Data = v },
		"format": func(p string, v any) { f.Format = d.text(p, v) },
		"if":     func(p string, v any) { f.If = d.text(p, v) },
		"unless": func(p string, v any) { f.Unless = d.text(p, v) },
	})
	return f
}

func (d *decoder) escape(path string, v any) Escape {
	var e Escape
	d.fields(path, v, map[string]func(string, any){
		"match": func(p string, v any) { e.Match = d.text(p, v) },
		"with":  func(p string, v any) { e.With = d.text(p, v) },
	})
	return e
}

func (d *decoder) stream(path string, v any) Stream {
	var s Stream
	d.fields(path, v, map[string]func(string, any){
		"rules":      func(p string, v any) { s.Rules = list(d, p, v, d.rule) },
		"cumulative": func(p string, v any) { s.Cumulative = d.flag(p, v) },
	})
	return s
}

func (d *decoder) rule(path string, v any) Rule {
	var r Rule
	d.fields(path, v, map[string]func(string, any){
		"when":  func(p string, v any) { r.When = table(d, p, v, d.scalars) },
		"each":  func(p string, v any) { r.Each = d.text(p, v) },
		"if":    func(p string, v any) { r.If = table(d, p, v, d.scalars) },
		"take":  func(p string, v any) { r.Take = table(d, p, v, d.paths) },
		"per":   func(p string, v any) { r.Per = d.text(p, v) },
		"piece": func(p string, v any) { r.Piece = d.flag(p, v) },
		"total": func(p string, v any) { r.Total = d.flag(p, v) },
	})
	return r
}

// scalars leaves the value as it is; Validate checks it.
func (d *decoder) scalars(_ string, v any) any { return v }

// paths reads one path or a list of them.
func (d *decoder) paths(path string, v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	return list(d, path, v, d.text)
}
