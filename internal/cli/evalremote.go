package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/nrepl"
)

// ownDaemon is what --connect says for the daemon of the home.
const ownDaemon = "home"

// nreplCmd is `zeno nrepl`: `zeno eval --connect` under the name that scripts of other systems look for.
type nreplCmd struct {
	Connect string   `name:"connect" placeholder:"ADDR" default:"home" help:"host:port, the path of a Unix socket, or home for the daemon of the home (the default)."`
	Expr    []string `short:"e" name:"expr" placeholder:"EXPR" sep:"none" help:"Code. May be given several times: it is joined."`
	JSON    bool     `name:"json" help:"Print the outcome as JSON: all values, what was printed, the error's class."`
	File    string   `arg:"" optional:"" help:"A file of code; - or nothing is stdin."`
}

// Run implements `zeno nrepl`.
func (cmd *nreplCmd) Run(a *app) error {
	return (&evalCmd{Connect: cmd.Connect, Expr: cmd.Expr, JSON: cmd.JSON, File: cmd.File}).remote(a)
}

// remoteOutcome is an evaluation in another zeno as `zeno eval --connect --json` prints it.
type remoteOutcome struct {
	Values []string `json:"values"`          // of the forms, in order, as far as it got
	Out    string   `json:"out"`             // what was printed
	Err    string   `json:"err,omitempty"`   // what went to *err*, the report of an error too
	Error  string   `json:"error,omitempty"` // the class of what was thrown
}

// remote evaluates the code in a zeno that runs elsewhere, over nREPL, with the full power of its orchestrator.
func (e *evalCmd) remote(a *app) error {
	if e.Role != "" {
		return usage(errors.New("eval: got both --connect and --role, want one: what is evaluated there has no role"))
	}
	code, err := e.code(a)
	if err != nil {
		return err
	}
	said := e.Connect
	if said == ownDaemon {
		said = ""
	}
	ctx := a.signals.ctx
	client, session, err := a.converse(ctx, said)
	if err != nil {
		return err
	}
	defer client.Close()
	interrupt := func() { _ = client.Interrupt(context.WithoutCancel(ctx), session) }
	a.signals.onInterrupt.Store(&interrupt)
	defer a.signals.onInterrupt.Store(nil)
	m := nrepl.Message{"op": "eval", "code": code, "session": session}
	if e.File != "" && e.File != "-" {
		m["file"], m["line"], m["column"] = e.File, 1, 1
	}
	return e.converse(ctx, a, client, m)
}

// converse sends the code and shows what comes back: output as it comes and the last value, or all of it as JSON.
func (e *evalCmd) converse(ctx context.Context, a *app, client *nrepl.Client, m nrepl.Message) error {
	res, failed := remoteOutcome{Values: []string{}}, false
	var out, errs strings.Builder
	session, _ := m["session"].(string)
	in := &remoteInput{app: a, client: client, session: session}
	defer in.end(ctx)
	last, err := client.Do(ctx, m, func(m nrepl.Message) {
		in.hear(ctx, m)
		text, _ := m["out"].(string)
		trouble, _ := m["err"].(string)
		if e.JSON {
			out.WriteString(text)
			errs.WriteString(trouble)
		} else {
			fmt.Fprint(a.std.Out, text)
			fmt.Fprint(a.std.Err, trouble)
		}
		if v, ok := m["value"].(string); ok {
			res.Values = append(res.Values, v)
		}
		if class, ok := m["ex"].(string); ok {
			res.Error, failed = class, true
		}
	})
	if err != nil {
		return err
	}
	for _, s := range nrepl.Status(last) {
		failed = failed || s == "eval-error" || s == "error" || s == "interrupted"
	}
	if e.JSON {
		res.Out, res.Err = out.String(), errs.String()
		if err := printJSON(a.std.Out, res); err != nil {
			return err
		}
	} else if n := len(res.Values); n > 0 && !failed && res.Values[n-1] != "nil" {
		fmt.Fprintln(a.std.Out, res.Values[n-1])
	}
	if failed {
		return reported(ExitFailed)
	}
	return nil
}
