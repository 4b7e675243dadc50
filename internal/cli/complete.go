package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// delimiters end a word before the cursor.
const delimiters = " \t\n()[]{}\"';`,~@^#"

// complete is the REPL's completion: what the word before the cursor may go on to.
func (r *repl) complete(line string, pos int) (head string, options []string, tail string) {
	head, word, tail := wordAt(line, pos)
	if word == "" {
		return head, nil, tail
	}
	options = r.names(word)
	if len(options) == 0 {
		r.hint(word, line)
	}
	return head, options, tail
}

// hint shows how the function that word names is called, above the line that is edited.
func (r *repl) hint(word, line string) {
	args := ""
	_, _ = r.core.Env().Do(r.app.signals.ctx, func(t *value.Thread) value.Value {
		t.Bind([]*value.Var{t.Env.NSVar}, []value.Value{value.Of(r.session.Namespace())})
		args = lisp.Arglists(t, word)
		return value.Nil
	})
	if args != "" {
		fmt.Fprintf(r.app.std.Out, "\r\n%s %s\r\n%s%s", harmless(word), harmless(args), r.prompting, harmless(line))
	}
}

// wordAt splits a line at the word that ends at the cursor.
func wordAt(line string, pos int) (head, word, tail string) {
	runes := []rune(line)
	before, tail := string(runes[:min(pos, len(runes))]), string(runes[min(pos, len(runes)):])
	start := strings.LastIndexAny(before, delimiters) + 1
	return before[:start], before[start:], tail
}

// maxOptions bounds how many completions are shown.
const maxOptions = 200

// names gives the names that start with word, sorted.
func (r *repl) names(word string) []string {
	env, ns := r.core.Env().Raw(), r.session.Namespace()
	found := map[string]bool{}
	add := func(name string) {
		if strings.HasPrefix(name, word) && name != word {
			found[name] = true
		}
	}
	qualifier, _, qualified := strings.Cut(word, "/")
	switch {
	case word[0] == ':':
		for _, k := range r.core.Env().CompleteKeyword(ns, word) {
			add(k)
		}
		for _, c := range replCommands() {
			add(c)
		}
	case qualified:
		if full, ok := ns.Aliased(qualifier); ok {
			publics(env.Namespace(full), qualifier+"/", add)
		} else {
			publics(env.Namespace(qualifier), qualifier+"/", add)
		}
	default:
		unqualified(env, ns, add)
	}
	out := slices.Sorted(maps.Keys(found))
	return out[:min(len(out), maxOptions)]
}

// unqualified adds what a name without a slash may mean, and what may stand before one.
func unqualified(env *value.Env, ns *value.Namespace, add func(string)) {
	for _, v := range ns.Vars() {
		add(v.Name)
	}
	for name := range ns.Refers() {
		add(name)
	}
	publics(env.Core, "", add)
	for alias := range ns.Aliases() {
		add(alias + "/")
	}
	for _, n := range env.Namespaces() {
		add(n.Name)
	}
	for _, special := range strings.Fields("catch def do finally fn if let loop new quote recur set! throw try var") {
		add(special)
	}
}

func publics(ns *value.Namespace, prefix string, add func(string)) {
	if ns == nil {
		return
	}
	for _, v := range ns.Vars() {
		if !v.Private.Load() {
			add(prefix + v.Name)
		}
	}
}
