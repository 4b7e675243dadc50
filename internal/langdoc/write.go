package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp/compile"
)

//go:embed differs.md
var differs string

// document writes the whole reference.
func document(w io.Writer) error {
	all, err := collect(context.Background())
	if err != nil {
		return err
	}
	d := &doc{w: w}
	d.line("<!-- Written by internal/langdoc from the docstrings: go run ./internal/langdoc > docs/language.md -->\n")
	d.line("%s", strings.TrimSpace(differs))
	d.leftOut()
	d.contents(all)
	for _, n := range all {
		d.namespace(n)
	}
	return d.err
}

// doc writes Markdown; the first error stays.
type doc struct {
	w   io.Writer
	err error
}

func (d *doc) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

func (d *doc) leftOut() {
	d.line("\n### Names that are left out\n")
	d.line("Calling one says so, with the reason.\n")
	reasons, names := compile.LeftOutNames()
	for _, why := range reasons {
		d.line("- %s: %s.", code(names[why]...), why)
	}
}

func (d *doc) contents(all []namespace) {
	d.line("\n## The namespaces\n")
	d.line("In the column *agent*: whether an isolate has the namespace without any grant; *part* means not all of it.\n")
	d.line("| namespace | names | agent | what it is for |")
	d.line("|---|---|---|---|")
	for _, n := range all {
		d.line("| [%s](#%s) | %d | %s | %s |", n.title(), anchor(n.title()), len(n.names), n.agent(), firstSentence(n.doc))
	}
}

func (n namespace) title() string {
	if n.other == "" {
		return n.name
	}
	return n.name + ", " + n.other
}

// anchor is what Markdown makes of a heading.
func anchor(title string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '.' || r == ',' || r == '`':
			return -1
		}
		return r
	}
	return strings.Map(keep, strings.ToLower(title))
}

func (n namespace) agent() string {
	has := 0
	for _, e := range n.names {
		if e.isolate {
			has++
		}
	}
	switch has {
	case 0:
		return "no"
	case len(n.names):
		return "yes"
	}
	return "part"
}

func (d *doc) namespace(n namespace) {
	d.line("\n## %s\n", n.title())
	if n.doc != "" {
		d.line("%s\n", oneLine(n.doc))
	}
	part := n.agent() == "part"
	if part {
		d.line("What is marked *host* is the orchestrator's only.\n")
	}
	for _, e := range n.names {
		d.line("%s", e.item(part))
	}
}

// item is one name as an item of a list.
func (e entry) item(part bool) string {
	s := "- **" + code(e.name) + "**"
	if e.arglists != "" {
		s += " " + code(strings.TrimSuffix(strings.TrimPrefix(e.arglists, "("), ")"))
	}
	var marks []string
	if e.macro {
		marks = append(marks, "macro")
	}
	if e.dynamic {
		marks = append(marks, "dynamic")
	}
	if part && !e.isolate {
		marks = append(marks, "host")
	}
	if len(marks) > 0 {
		s += " *" + strings.Join(marks, ", ") + "*"
	}
	if e.doc != "" {
		s += "  \n  " + escaped(oneLine(e.doc))
	}
	return s
}

// code marks each text as code; one that holds a backtick is fenced by two.
func code(texts ...string) string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = "`" + s + "`"
		if strings.Contains(s, "`") {
			out[i] = "`` " + s + " ``"
		}
	}
	return strings.Join(out, " ")
}

// oneLine joins the lines of a docstring.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// escaped keeps Markdown from reading signs in a docstring as its own.
func escaped(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`).Replace(s)
}

func firstSentence(s string) string {
	s = oneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, ".")
}
