package corelib

import (
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Dynamic is a dynamic var of the core.
type Dynamic struct {
	Name    string
	Default Value
	Doc     string
	Host    bool // absent in an isolate
}

// Dynamics lists the dynamic vars of the core, but for *ns*, *out*, *err* and *in*, which depend on the environment.
func Dynamics() []Dynamic {
	return []Dynamic{
		{Name: "*print-length*", Doc: "How many items of a collection print shows before an ellipsis; nil: all."},
		{Name: "*print-level*", Doc: "How many levels of nested collections print shows; below, a collection is #. nil: all."},
		{Name: "*print-meta*", Default: value.False, Doc: "Whether pr shows metadata."},
		{Name: "*print-dup*", Default: value.False, Doc: "Of no effect here."},
		{Name: "*print-namespace-maps*", Default: value.True, Doc: "Whether pr shows the namespace that all keys of a map share once, before it."},
		{Name: "*print-readably*", Default: value.True, Doc: "Whether pr quotes strings and characters."},
		{Name: "*flush-on-newline*", Default: value.True, Doc: "Of no effect here: output is never held back."},
		{Name: "*math-context*", Doc: "The precision and rounding that with-precision asked for."},
		{Name: "*data-readers*", Default: value.EmptyMap, Doc: "Functions by tag for tagged literals."},
		{Name: "*default-data-reader-fn*", Doc: "A function of tag and form for literals with an unknown tag."},
		{Name: "*read-eval*", Default: value.False, Doc: "False: reading never evaluates."},
		{Name: "*assert*", Default: value.True, Doc: "Whether assert checks anything."},
		{Name: "*warn-on-reflection*", Default: value.False, Doc: "Of no effect here."},
		{Name: "*unchecked-math*", Default: value.False, Doc: "Of no effect here: integers always overflow with an error."},
		{Name: "*agent*", Doc: "The agent whose action is running."},
		{Name: "*clojure-version*", Default: versionMap(1, 11, 1), Doc: "The version of Clojure whose semantics the core follows."},
		{Name: "*joker-version*", Default: versionMap(1, 9, 0), Doc: "The version of Joker whose dialect this is."},
		{Name: "*file*", Host: true, Doc: "The file being loaded."},
		{Name: "*command-line-args*", Host: true, Doc: "The arguments of the program."},
		{Name: "*1", Host: true, Doc: "The last value of the REPL."},
		{Name: "*2", Host: true, Doc: "The last value but one of the REPL."},
		{Name: "*3", Host: true, Doc: "The last value but two of the REPL."},
		{Name: "*e", Host: true, Doc: "The last exception of the REPL."},
	}
}

func versionMap(major, minor, incremental int64) Value {
	t := unlimited()
	return value.NewMap(t, value.Kw("major"), value.Int(major), value.Kw("minor"), value.Int(minor),
		value.Kw("incremental"), value.Int(incremental), value.Kw("qualifier"), value.Nil)
}

// OtherName gives the other name of a library namespace: joker.string for clojure.string and back. It gives name itself
// where there is none.
func OtherName(name string) string {
	if rest, ok := strings.CutPrefix(name, "clojure."); ok {
		return "joker." + rest
	}
	if rest, ok := strings.CutPrefix(name, "joker."); ok {
		return "clojure." + rest
	}
	return name
}

// BindIO makes *err* and *in* of a trusted environment. Output without a binding of *out* goes to the evaluation's own
// writer.
func BindIO(core *value.Namespace, _, errs io.Writer, in io.Reader) {
	set := func(name string, v Value) {
		x := core.Intern(name)
		x.Dynamic.Store(true)
		x.SetRoot(v)
	}
	if errs == nil {
		errs = io.Discard
	}
	if in == nil {
		in = strings.NewReader("")
	}
	set("*out*", value.NewHost("writer", evalOut{}))
	set("*err*", NewWriter(errs))
	set("*in*", NewReader(in))
}

// NewWriter makes a value that *out* may be bound to.
func NewWriter(w io.Writer) Value { return value.NewHost("writer", w) }
