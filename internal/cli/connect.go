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
	client, session, err := a.converse(ctx, cmd.Addr)
	if err != nil {
		return err
	}
	defer client.Close()
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

// converse begins a session of the server at addr; "" is the zeno that serves the home.
func (a *app) converse(ctx context.Context, addr string) (*nrepl.Client, string, error) {
	var own *home.Home // nil: an address was said
	if addr == "" {
		var err error
		if own, err = home.Resolve(a.home, a.std.Getenv); err != nil {
			return nil, "", usage(err)
		}
		if addr, err = a.address(own); err != nil {
			return nil, "", err
		}
	}
	token := a.std.Getenv(tokenVar)
	client, err := nrepl.Dial(ctx, addr, token)
	if err != nil {
		if own != nil {
			if _, served, e := own.Served(); e == nil && !served { // what a killed one has left
				return nil, "", notRunning(own)
			}
		}
		return nil, "", err
	}
	session, err := client.Clone(ctx)
	if errors.Is(err, nrepl.ErrUnauthorized) {
		err = fmt.Errorf("%w; put it into $%s", err, tokenVar)
	}
	if err != nil {
		discard(client)
		return nil, "", err
	}
	return client, session, nil
}

// address is where the zeno that serves h wrote that it listens, or the socket that it was told to listen on if this
// command was told the same.
func (a *app) address(h *home.Home) (string, error) {
	port, err := os.ReadFile(filepath.Join(h.Dir, core.PortFile))
	if err == nil {
		return net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(port))), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("connect: failed to find the daemon: %w", err)
	}
	if socket := a.std.Getenv(socketVar); socket != "" {
		return socket, nil
	}
	pid, served, err := h.Served()
	if err != nil || !served {
		return "", notRunning(h)
	}
	return "", fmt.Errorf("connect: process %s serves %s, and wrote no %s: it listens on a Unix socket ($%s), whose path `zeno connect PATH` takes, or on nothing; see what it printed", pid, h.Dir, core.PortFile, socketVar)
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
	in := &remoteInput{app: r.app, client: r.client, session: r.session}
	m, err := r.client.Do(ctx, nrepl.Message{"op": "eval", "code": code, "session": r.session, "ns": r.ns}, func(m nrepl.Message) {
		r.show(m)
		in.hear(ctx, m)
	})
	in.end(ctx)
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
