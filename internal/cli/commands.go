package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// replCommands are the words that the REPL takes by themselves.
func replCommands() []string {
	return []string{":doc", ":help", ":inbox", ":ns", ":processes", ":quit", ":reload", ":spawns"}
}

const replHelp = `Type Lisp; what you define stays, and replaces what agents see from their next call on.
  *1 *2 *3 *e        the last values, the last error
  (doc map)          documentation, also :doc map; (source f) (dir ns) (apropos "map") (find-doc "lazy")
  :ns  :ns NAME      the namespaces; go to one (made if it is not there)
  :processes         what runs again and again, and how it went; :spawns the agents that run
  :inbox             the questions that wait for a person; (zeno.ask/answer! "Q-1" "yes") answers
  :reload            take in what changed in the home's files; :reload NAME one namespace, changed or not
  :help  :quit       this; leave (also ctrl-D)
  tab completes, up and down walk the history, ctrl-C interrupts what runs
`

// command does what a line such as :help asks for. done is false where the text is Lisp after all.
func (r *repl) command(text string) (done, quit bool) {
	word, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	switch {
	case arg == "" && r.status(word):
	case word == ":reload" && (arg == "" || plainName(arg)):
		r.reload(arg)
	case arg == "" && (word == ":quit" || word == ":exit" || word == ":q"):
		return true, true
	case arg == "" && (word == ":help" || word == ":h"):
		fmt.Fprint(r.out, replHelp)
	case word == ":ns" && arg == "":
		r.namespaces()
	case word == ":ns" && plainName(arg):
		r.session.Set("*ns*", value.Of(r.core.Env().Raw().Create(arg)))
	case word == ":doc" && plainName(arg):
		r.doc(arg)
	default:
		return false, false
	}
	r.line++
	return true, false
}

func plainName(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\n()[]{}\"';`,~@^") }

func (r *repl) doc(name string) {
	text := ""
	_ = r.attend(func(ctx context.Context) error {
		_, err := r.core.Env().Do(ctx, func(t *value.Thread) value.Value {
			t.Bind([]*value.Var{t.Env.NSVar}, []value.Value{value.Of(r.session.Namespace())})
			text = lisp.Doc(t, name)
			return value.Nil
		})
		return err
	})
	if text == "" {
		text = name + " has no documentation here"
	}
	fmt.Fprintln(r.out, text)
}
