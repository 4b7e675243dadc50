package core

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// secretSource finds the values of boxes' secrets: as the program's function says, else in the environment.
type secretSource struct {
	c  *Core
	by atomic.Pointer[value.Value]
}

// secretFunctions are the namespace zeno.secret.
func (c *Core) secretFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("resolver!", "([f])",
			`Says where the values of boxes' secrets come from: (f NAME) gives {:env "VAR"}, {:file "/path"}, {:exec ["pass" "show" "x"]}, the value itself as a string, or nil for the environment variable NAME. It is called at each launch of a box. nil instead of f: the environment.`,
			c.boxes.secrets.set),
	}
}

func (s *secretSource) set(f value.Value) error {
	switch {
	case f.IsNil():
		s.by.Store(nil)
	case isFunction(f):
		s.by.Store(&f)
	default:
		return fmt.Errorf("resolver!: got a %s, want a function of one name, or nil", f.Kind())
	}
	return nil
}

// Resolve implements secret.Resolver.
func (s *secretSource) Resolve(ctx context.Context, name string) (secret.Value, error) {
	f := s.by.Load()
	if f == nil {
		return secret.Env{}.Resolve(ctx, name)
	}
	from, err := s.c.env.Call(ctx, *f, value.Str(name))
	if err != nil {
		return secret.Value{}, fmt.Errorf("secret %s: the resolver failed: %w", name, err)
	}
	if from.IsNil() {
		return secret.Env{}.Resolve(ctx, name)
	}
	data, err := bind.Plain(s.c.env.Thread(ctx), from)
	if err != nil { // it quotes what it was given
		return secret.Value{}, fmt.Errorf("secret %s: the resolver gave a %s, want a string or a map", name, from.Kind())
	}
	if text, ok := data.(string); ok {
		v, err := secret.New(text)
		if err != nil {
			return v, fmt.Errorf("secret %s: %w", name, err)
		}
		return v, nil
	}
	r, err := secret.Of(data)
	if err != nil {
		return secret.Value{}, fmt.Errorf("secret %s: %w", name, err)
	}
	return r.Resolve(ctx, name)
}

// egressOf records what the proxy of a box decides.
func (c *Core) egressOf(box string) func(egress.Event) {
	return func(e egress.Event) { _, _ = c.record(egressEvent(box, e)) } // a failure is reported
}

// egressEvent is a decision of a box's proxy as the journal holds it.
func egressEvent(box string, e egress.Event) journal.Event {
	out := journal.Event{At: e.Time, Kind: "egress", Outcome: "ok", Elapsed: e.Took, Data: map[string]any{"what": string(e.Kind)}}
	switch {
	case e.Refused != "":
		out.Outcome = "refused"
	case e.Error != "":
		out.Outcome = "error"
	}
	for k, v := range map[string]string{"box": box, "host": e.Host, "method": e.Method, "path": e.Path, "refused": e.Refused, "error": e.Error} {
		if v != "" {
			out.Data[k] = clip(strings.ToValidUTF8(v, "�"))
		}
	}
	for k, n := range map[string]int64{"port": int64(e.Port), "status": int64(e.Status), "sent": e.Sent, "received": e.Received, "dropped": e.Dropped} {
		if n != 0 {
			out.Data[k] = n
		}
	}
	if len(e.Secrets) > 0 {
		names := make([]any, len(e.Secrets))
		for i, s := range e.Secrets {
			names[i] = s
		}
		out.Data["secrets"] = names
	}
	if u := e.Usage; u != nil {
		out.Data["usage"] = map[string]any{"dialect": u.Dialect, "model": u.Model, "input": u.Input, "output": u.Output,
			"cache-read": u.CacheRead, "cache-write": u.CacheWrite, "known": u.Known, "partial": u.Partial}
	}
	return out
}
