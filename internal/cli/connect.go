package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
	"github.com/reflection-dev/zeno/nrepl"
)

type connectCmd struct {
	Expr []string `short:"e" name:"expr" placeholder:"EXPR" sep:"none" help:"Evaluate EXPR there and print its value. May be given several times."`
	Addr string   `arg:"" optional:"" help:"host:port or the path of a Unix socket. Default: the daemon of the home."`
}

// Run implements `zeno connect`: a REPL, or expressions, in a zeno that runs elsewhere.
func (cmd *connectCmd) Run(a *app) error {
	ctx := a.signals.ctx
	addr, err := a.address(cmd.Addr)
	if err != nil {
		return err
	}
	client, err := nrepl.Dial(ctx, addr, a.std.Getenv("ZENO_NREPL_TOKEN"))
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.Clone(ctx)
	if err != nil {
		return err
	}
	r := &remote{app: a, client: client, session: session, ns: "user"}
	if len(cmd.Expr) > 0 {
		for _, e := range cmd.Expr {
			r.eval(ctx, e)
		}
	} else if err := r.loop(ctx); err != nil {
		return err
	}
	if r.failed && (len(cmd.Expr) > 0 || !terminal(a.std.In)) { // as at the prompt of `zeno`: a person has seen it
		return reported(ExitFailed)
	}
	return nil
}

// address is where to connect: what was said, else what the daemon of the home wrote.
func (a *app) address(said string) (string, error) {
	if said != "" {
		return said, nil
	}
	h, err := home.Resolve(a.home, a.std.Getenv)
	if err != nil {
		return "", usage(err)
	}
	port, err := os.ReadFile(filepath.Join(h.Dir, core.PortFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("connect: no zeno serves %s; `zeno --home %s --daemon` starts one", h.Dir, quote(h.Dir))
	}
	if err != nil {
		return "", fmt.Errorf("connect: failed to find the daemon: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(port))), nil
}

// remote is a conversation with another zeno.
type remote struct {
	app     *app
	client  *nrepl.Client
	session string
	ns      string
	failed  bool
}

// eval evaluates code there and shows what comes back as it comes. An interrupt stops the evaluation, not the
// conversation.
func (r *remote) eval(ctx context.Context, code string) {
	interrupt := func() { _ = r.client.Interrupt(context.WithoutCancel(ctx), r.session) }
	r.app.signals.onInterrupt.Store(&interrupt)
	defer r.app.signals.onInterrupt.Store(nil)
	m, err := r.client.Do(ctx, nrepl.Message{"op": "eval", "code": code, "session": r.session, "ns": r.ns}, r.show)
	if err != nil {
		r.failed = true
		fmt.Fprintf(r.app.std.Err, "zeno: %v\n", err)
		return
	}
	if ns, ok := m["ns"].(string); ok {
		r.ns = ns
	}
	for _, s := range nrepl.Status(m) {
		r.failed = r.failed || s == "eval-error" || s == "error" || s == "interrupted"
		if s == "interrupted" {
			fmt.Fprintln(r.app.std.Err, "; interrupted")
		}
	}
}

func (r *remote) show(m nrepl.Message) {
	if s, ok := m["out"].(string); ok {
		fmt.Fprint(r.app.std.Out, s)
	}
	if s, ok := m["err"].(string); ok {
		fmt.Fprint(r.app.std.Err, s)
	}
	if s, ok := m["value"].(string); ok {
		fmt.Fprintln(r.app.std.Out, s)
	}
}

// loop reads balanced input and evaluates it there until the input ends.
func (r *remote) loop(ctx context.Context) error {
	in, err := r.lines()
	if err != nil {
		return err
	}
	defer in.close()
	var text strings.Builder
	var open nesting
	for ctx.Err() == nil {
		prompt := r.ns + "=> "
		if text.Len() > 0 {
			prompt = continuation(prompt)
		}
		line, err := in.line(prompt)
		switch {
		case errors.Is(err, errAborted):
			text.Reset()
			open = nesting{}
			continue
		case errors.Is(err, io.EOF):
			if strings.TrimSpace(text.String()) != "" {
				r.eval(ctx, text.String())
			}
			return nil
		case err != nil:
			return err
		}
		text.WriteString(line + "\n")
		open.line(line)
		if open.open() || strings.TrimSpace(text.String()) == "" {
			continue
		}
		in.remember(strings.TrimSpace(text.String()))
		r.eval(ctx, text.String())
		text.Reset()
		open = nesting{}
	}
	return nil
}

// completeTime is how long the other zeno may take to complete a word.
const completeTime = 2 * time.Second

// complete asks the other zeno what the word before the cursor may go on to.
func (r *remote) complete(line string, pos int) (head string, options []string, tail string) {
	head, word, tail := wordAt(line, pos)
	if word == "" {
		return head, nil, tail
	}
	ctx, cancel := context.WithTimeout(r.app.signals.ctx, completeTime)
	defer cancel()
	m, err := r.client.Do(ctx, nrepl.Message{"op": "completions", "prefix": word, "ns": r.ns, "session": r.session}, nil)
	if err != nil {
		return head, nil, tail // the next evaluation says so
	}
	list, _ := m["completions"].([]any)
	for _, x := range list {
		d, _ := x.(nrepl.Message)
		if c, _ := d["candidate"].(string); strings.HasPrefix(c, word) && c != word && harmless(c) == c && len(options) < maxOptions {
			options = append(options, c)
		}
	}
	slices.Sort(options)
	return head, options, tail
}

func (r *remote) lines() (lines, error) {
	interactive := terminal(r.app.std.In)
	if !interactive || !editable(r.app.std) {
		return newPlain(r.app, interactive), nil
	}
	return newEditor(r.app, historyFile(nil, r.app.std.Getenv), r.complete)
}
