package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// channel brings a question to a person. Answers come back another way: by Core.Answer, or `zeno answer`.
type channel interface {
	send(ctx context.Context, q ask.Ask) error
	name() string
}

const (
	channelTime  = 30 * time.Second // of one try to send
	channelTries = 3
)

// send brings q to the channels, on a goroutine of its own. A channel that fails is tried again a few times; the question is
// in the inbox just the same.
func (a *asks) send(d *ask.Desk, q ask.Ask) {
	a.mu.Lock()
	list := a.core.rehearsal.channels(a.channels)
	taken := a.busy["send "+q.ID]
	a.busy["send "+q.ID] = true
	a.mu.Unlock()
	if taken {
		return
	}
	a.spawnGo(func() {
		for _, ch := range list {
			a.sendBy(ch, q)
		}
		_, _, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool { q.Sent = true; return true }, ask.Asked)
		a.warned(err)
		a.mu.Lock()
		delete(a.busy, "send "+q.ID)
		a.mu.Unlock()
	})
}

func (a *asks) sendBy(ch channel, q ask.Ask) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(a.core.ctx, channelTime)
		err := ch.send(ctx, q)
		cancel()
		if err == nil || a.core.ctx.Err() != nil {
			return
		}
		if try == channelTries {
			a.core.warn(fmt.Sprintf("question %s: channel %s failed %d times, the last time with: %s; the question is in the inbox", q.ID, ch.name(), try, Explain(err)))
			return
		}
		if !a.sleep(time.Duration(try*try) * askLook) {
			return
		}
	}
}

// replChannel says it where the operator sees it.
type replChannel struct{ core *Core }

func (ch replChannel) name() string { return ":repl" }

func (ch replChannel) send(_ context.Context, q ask.Ask) error {
	from := "the program"
	if q.Role != "" {
		from = fmt.Sprintf(":%s (spawn %s)", q.Role, q.Spawn)
	}
	ch.core.warn(fmt.Sprintf("question %s of %s: %s\n  answer it with `zeno answer %s TEXT`, or (zeno.ask/answer! %q \"…\"), until %s",
		q.ID, from, q.Line(), q.ID, q.ID, q.Deadline.Local().Format("2006-01-02 15:04")))
	return nil
}

// httpChannel sends nothing: who comes to the inbox finds the question there.
type httpChannel struct{}

func (httpChannel) name() string                        { return ":http" }
func (httpChannel) send(context.Context, ask.Ask) error { return nil }

// fnChannel is a function of the program.
type fnChannel struct {
	core *Core
	f    value.Value
}

func (ch fnChannel) name() string { return "{:send f}" }

func (ch fnChannel) send(ctx context.Context, q ask.Ask) error {
	_, err := ch.core.env.Do(ctx, func(t *value.Thread) value.Value {
		return t.Call(ch.f, bind.Encode(t, askFormOf(q)))
	})
	return err
}

// execChannel runs a command with the question as JSON on its standard input. It is done when it exits with 0.
type execChannel struct {
	argv []string
	dir  string // where it runs, and a path such as ./notify begins: the home, wherever zeno was started
}

func (ch execChannel) name() string { return fmt.Sprintf("{:exec %q}", ch.argv) }

func (ch execChannel) send(ctx context.Context, q ask.Ask) error {
	in, err := json.Marshal(q)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, ch.argv[0], ch.argv[1:]...)
	cmd.Dir = ch.dir
	cmd.Stdin = bytes.NewReader(append(in, '\n'))
	var out tailBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("got no end within %v", channelTime)
		}
		return fmt.Errorf("%w%s", err, out.words())
	}
	return nil
}

// tailBuffer keeps the end of what a command says.
type tailBuffer struct{ b []byte }

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b); n > 1000 {
		t.b = append(t.b[:0], t.b[n-500:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) words() string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "�"))
	if s == "" {
		return ""
	}
	return ": " + s
}

// channelForm is a channel as the program writes it.
type channelForm struct {
	Send value.Value `lisp:"send"`
	Exec []string    `lisp:"exec"`
}

// setChannel is zeno.ask/channel!.
func (c *Core) setChannel(t *value.Thread, v value.Value) error {
	forms := []value.Value{v}
	if v.Kind().IsVector() {
		forms = nil
		value.Each(t, v, func(x value.Value) bool { forms = append(forms, x); return true })
	}
	var list []channel
	for _, f := range forms {
		ch, err := c.channelOf(t, f)
		if err != nil {
			return err
		}
		list = append(list, ch)
	}
	c.asks.mu.Lock()
	defer c.asks.mu.Unlock()
	c.asks.channels = list
	return nil
}

func (c *Core) channelOf(t *value.Thread, v value.Value) (channel, error) {
	switch {
	case v.Kind() == value.KindKeyword:
		switch name := value.As[value.Keyword](v).FullName(); name {
		case "repl":
			return replChannel{c}, nil
		case "http":
			return httpChannel{}, nil
		default:
			return nil, fmt.Errorf("channel: got :%s, want :repl, :http, {:send f} or {:exec [\"command\" …]}", name)
		}
	case v.Kind().IsMap():
		var f channelForm
		if err := bind.Decode(t, v, &f); err != nil {
			return nil, fmt.Errorf("channel: %w", err)
		}
		switch {
		case !f.Send.IsNil() && len(f.Exec) == 0 && isFunction(f.Send):
			return fnChannel{c, f.Send}, nil
		case f.Send.IsNil() && len(f.Exec) > 0 && f.Exec[0] != "":
			dir := ""
			if h := c.conf.Home; h != nil {
				dir = h.Dir
			}
			return execChannel{f.Exec, dir}, nil
		}
		return nil, errors.New("channel: got a map without just one of :send, a function, and :exec, a command; want one of them")
	}
	return nil, fmt.Errorf("channel: got %s, want :repl, :http, {:send f}, {:exec [\"command\" …]}, or a vector of those", value.Brief(t, v))
}
