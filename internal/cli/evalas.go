package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/lisp"
)

// Run implements `zeno eval`.
func (e *evalCmd) Run(a *app) error {
	if e.Connect != "" {
		return e.remote(a)
	}
	code, err := e.code(a)
	if err != nil {
		return err
	}
	run := func(ctx context.Context, c *core.Core) error { return e.print(a, c.EvalAs(ctx, e.Role, code)) }
	if e.Role == "" {
		return a.withLoaded(engine{}, run)
	}
	// What init.joke prints is no part of the outcome.
	return a.withHome(engine{out: a.std.Err}, run)
}

func (e *evalCmd) code(a *app) (string, error) {
	switch {
	case len(e.Expr) > 0 && e.File != "":
		return "", usage(fmt.Errorf("eval: got both -e and the file %s, want one", e.File))
	case len(e.Expr) > 0:
		return strings.Join(e.Expr, "\n"), nil
	case e.File == "" && terminal(a.std.In):
		return "", usage(fmt.Errorf("eval: got no code, want -e EXPR, a file, or - for stdin"))
	case e.File == "":
		return a.source("-")
	}
	return a.source(e.File)
}

func (e *evalCmd) print(a *app, res lisp.Result) error {
	if e.JSON {
		if err := printJSON(a.std.Out, outcomeOf(res)); err != nil {
			return err
		}
	} else {
		printText(a.std.Out, res)
		if res.Err != nil {
			fmt.Fprintln(a.std.Err, a.explain(res.Err))
		}
	}
	if res.Err != nil {
		return reported(evalCode(res.Err))
	}
	return nil
}

// printText writes what was printed and the value, each ending its line.
func printText(out *os.File, res lisp.Result) {
	text := res.Out
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if res.Err == nil && res.Value != "nil" {
		text += res.Value + "\n"
	}
	_, _ = out.WriteString(text)
}

// outcome is an evaluation as `zeno eval --json` prints it.
type outcome struct {
	Value string       `json:"value,omitempty"`
	Out   string       `json:"out"`
	Error *failureInfo `json:"error,omitempty"`
	Steps int64        `json:"steps"`
	Bytes int64        `json:"bytes"`
	Calls int64        `json:"calls"`
	MS    float64      `json:"ms"`
}

type failureInfo struct {
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	Data    string   `json:"data,omitempty"`
	Line    int32    `json:"line,omitempty"`
	Column  int32    `json:"column,omitempty"`
	Stack   []string `json:"stack,omitempty"`
}

func outcomeOf(res lisp.Result) outcome {
	o := outcome{Value: res.Value, Out: res.Out, Steps: res.Used.Steps, Bytes: res.Used.Alloc, Calls: res.Used.Calls,
		MS: float64(res.Elapsed.Microseconds()) / 1000}
	if e := res.Err; e != nil {
		o.Error = &failureInfo{Kind: e.Kind, Message: e.Message, Hint: e.Hint, Data: e.Data, Stack: e.Stack}
		if e.Pos != nil {
			o.Error.Line, o.Error.Column = e.Pos.Line, e.Pos.Column
		}
	}
	return o
}

func printJSON(out *os.File, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("failed to print the result: %w", err)
	}
	return nil
}
