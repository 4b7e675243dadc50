package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// leftOut lists the names of clojure.core and of Joker's core that this dialect leaves out on purpose, by the reason, which
// ends a sentence that starts with the name. docs/language.md shows the same.
func leftOut() map[string]string {
	return map[string]string{
		"is about JVM classes, and there is no JVM here; use functions, records, protocols and reify": `
			gen-class gen-interface proxy proxy-super proxy-mappings proxy-name proxy-call-with-super construct-proxy init-proxy
			update-proxy get-proxy-class bean definline primitives-classnames method-sig StackTraceElement->vec
			PrintWriter-on`,
		"wraps a Java object, and there are none here; a seq comes from seq, iterate or lazy-seq": `
			enumeration-seq iterator-seq resultset-seq`,
		"belongs to compiling to class files and class loaders; code is compiled in memory, and require finds it": `
			add-classpath compile *compile-files* *compile-path* *compiler-options* *fn-loader* *source-path*
			*use-context-classloader* *verbose-defrecords* *allow-unresolved-vars* with-loading-context`,
		"makes printing run code of the program's, and printing must stay within the limits of whoever prints; write a function that gives a string": `
			print-method print-dup print-ctor print-simple`,
		"is the old way to make maps with fixed keys; use defrecord, or plain maps": `
			defstruct create-struct struct struct-map accessor`,
		"needs an executor to name, and agents here run on goroutines; send and send-off do": `
			set-agent-send-executor! set-agent-send-off-executor! await1`,
		"was replaced by restart-agent":                             "clear-agent-errors",
		"reads ahead on a thread of its own; use a channel or pmap": "seque",
		"means something inside a syntax-quoted form only, where the reader takes it: ~ and ~@": `
			unquote unquote-splicing`,
		"would let reading run code, which it never does here": "*reader-resolver* *suppress-read*",
		"is an inner part of Clojure's own implementation": `
			-cache-protocol-fn -reset-methods EMPTY-NODE ->ArrayChunk ->Vec ->VecNode ->VecSeq`,
		"is for Joker's linter, and there is none here":                                                                    "*linter-config* *linter-mode*",
		"fetches code from URLs when it is required; put libraries on the paths of the home, where a person has seen them": "ns-sources",
		"depends on how the program was started, which a program should not; use *file* or *command-line-args*":            "*main-file* *repl*",
	}
}

// LeftOut tells why a name of clojure.core or of Joker's core is not here; false for any other name.
func LeftOut(name string) (reason string, ok bool) {
	for why, names := range leftOut() {
		if slices.Contains(strings.Fields(names), name) {
			return why, true
		}
	}
	return "", false
}

// LeftOutNames gives the names that are left out by the reason, both sorted.
func LeftOutNames() (reasons []string, names map[string][]string) {
	names = map[string][]string{}
	for why, list := range leftOut() {
		names[why] = slices.Sorted(slices.Values(strings.Fields(list)))
	}
	return slices.Sorted(maps.Keys(names)), names
}

// interop is a call of a method, (.name x …), in trusted code: an error when it is made and not before, as on the JVM, where
// a method is found only then. So a library loads of which one function reaches for the JVM. Nil: it is none. An agent is
// told at once.
func (a *analyser) interop(form, head, rest value.Value) node {
	if a.t.Env.Isolate || head.Kind() != value.KindSymbol {
		return nil
	}
	sym := value.As[value.Symbol](head)
	if sym.NS != "" || len(sym.Name) < 2 || sym.Name[0] != '.' || sym.Name[1] == '.' || a.lookup(sym) != nil || resolveVar(a.t, sym) != nil {
		return nil
	}
	pos := a.place(sym.Pos())
	b := &value.Builtin{Name: sym.Name}
	b.N = func(t *value.Thread, _ []value.Value) value.Value {
		ex := value.Errorf("UnresolvedSymbolException", "symbol: unable to resolve %s", sym.Name)
		ex.Hint, ex.Pos = absent(t, sym), pos
		panic(ex)
	}
	return a.call(form, value.Of(value.NewBuiltin(sym.Name, b)), rest)
}

// construct is a call of a constructor, (Point. 1 2): of a type of the program's own or of an exception. Nil: it is none.
func (a *analyser) construct(form, head, rest value.Value) node {
	if head.Kind() != value.KindSymbol {
		return nil
	}
	sym := value.As[value.Symbol](head)
	class := constructorName(sym)
	if class == nil || a.lookup(sym) != nil || resolveVar(a.t, sym) != nil {
		return nil
	}
	v := constructed(a.t, class)
	if v == nil {
		return nil
	}
	name := value.WithPos(value.Of(value.NewSymbol(v.NS, v.Name)), sym.Pos())
	return a.call(form, value.Of(value.NewSymbol(a.t.Env.Core.Name, "new-object*")), value.Cons(a.t, name, rest))
}

// newForm is (new Point 1 2), which is (Point. 1 2).
func (a *analyser) newForm(form value.Value, args []value.Value, c ctx) node {
	if len(args) > 0 && args[0].Kind() == value.KindSymbol {
		sym := value.As[value.Symbol](args[0])
		ctor := value.WithPos(value.Of(value.NewSymbol(sym.NS, sym.Name+".")), sym.Pos())
		if n := a.construct(form, ctor, value.NewList(a.t, args[1:]...)); n != nil {
			return n
		}
	}
	return a.misplaced(form, args, c)
}

// absent says why sym, which means nothing, is not here, where that is known: the dialect leaves it out, it is about the
// JVM, or its namespace is not loaded. An agent loads nothing, and is told of its grant elsewhere.
func absent(t *value.Thread, sym *value.Symbol) string {
	switch ns, name := sym.NS, sym.Name; {
	case ns == "" || ns == "clojure.core" || ns == "joker.core":
		if why, ok := LeftOut(name); ok {
			return "left out on purpose: it " + why
		}
		if len(name) > 1 && (name[0] == '.' || strings.HasSuffix(name, ".")) && !strings.HasPrefix(name, "..") {
			return "there are no Java objects here to call; use functions, such as those of clojure.string"
		}
		if strings.IndexByte(name, '.') > 0 && (namespaceOf(t, t.NS(), name) != nil || strings.HasPrefix(name, "clojure.") || strings.HasPrefix(name, "joker.")) {
			return "it is the name of a namespace; quote it, as in (require '" + name + ")"
		}
	case ns[0] >= 'A' && ns[0] <= 'Z' || strings.HasPrefix(ns, "java."):
		return "there are no Java classes here; use functions, such as parse-long or those of clojure.math and clojure.string"
	case !t.Env.Isolate && namespaceOf(t, t.NS(), ns) == nil:
		return "there is no namespace or alias " + ns + " here; require it first"
	}
	return ""
}
