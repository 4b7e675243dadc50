package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// onceForm is the options of zeno.journal/once.
type onceForm struct {
	OnUnknown value.Value `lisp:"on-unknown"`
}

// onceCall is one call of zeno.journal/once.
type onceCall struct {
	core   *Core
	t      *value.Thread
	key    string
	value  value.Value
	thrown *value.Exception
}

// onceKeys marks the context of a thread with the keys that it works on.
type onceKeys struct{}

// onceDo is zeno.journal/once.
func (c *Core) onceDo(ctx context.Context, t *value.Thread, key, f value.Value, o *onceForm) (value.Value, error) {
	if c.once == nil {
		return value.Nil, errNoMarks
	}
	call := &onceCall{core: c, t: t, key: c.keyText(t, key)}
	w := journal.Work{Key: call.key, Body: func() (string, string) { return call.run(f, journal.MarkFailed) }}
	if o != nil && !o.OnUnknown.IsNil() {
		w.OnUnknown = func(m journal.Mark) (string, string) {
			return call.run(o.OnUnknown, "", bind.Encode(t, map[string]any{"key": readEDN(t, m.Key), "started": m.Started}))
		}
	}
	held, _ := t.Context.Value(onceKeys{}).([]string)
	if slices.Contains(held, call.key) {
		panic(value.StateError("once %s: got a call from within its own work, want another key", call.key))
	}
	before := t.Context
	t.Context = context.WithValue(before, onceKeys{}, append(slices.Clip(held), call.key))
	defer func() { t.Context = before }()
	m, ran, err := c.once.Do(ctx, w)
	switch {
	case err != nil:
		panic(value.WrapError(err))
	case call.thrown != nil:
		panic(call.thrown)
	case ran:
		return call.value, nil
	}
	return call.earlier(m), nil
}

// run calls f and says what to record. failed is the state for one that throws; one that was cancelled may or may not
// have done its work.
func (call *onceCall) run(f value.Value, failed string, args ...value.Value) (state, result string) {
	t := call.t
	call.value, call.thrown = t.Try(func() value.Value {
		return lisp.Plain(t, t.Call(f, args...), lisp.Crossing{What: "once " + call.key + ": its value", Lossy: true})
	})
	ex := call.thrown
	if ex == nil {
		return journal.MarkDone, call.core.secrets.Text(value.PrStr(t, call.value))
	}
	if failed == "" || t.Context.Err() != nil {
		return "", ""
	}
	data := value.Nil
	if !ex.Data.IsNil() {
		data = lisp.Plain(t, ex.Data, lisp.Crossing{What: "once " + call.key + ": the data of its error", Lossy: true})
	}
	return failed, call.core.secrets.Text(value.PrStr(t, value.NewMap(t, value.Kw("message"), value.Str(ex.Error()), value.Kw("class"), value.Str(ex.Class), value.Kw("data"), data)))
}

// earlier is the value of work that was done before, or throws.
func (call *onceCall) earlier(m journal.Mark) value.Value {
	t := call.t
	switch m.State {
	case journal.MarkDone:
		return readEDN(t, m.Result)
	case journal.MarkFailed:
		was := readEDN(t, m.Result)
		message, data := value.Str(""), value.Nil
		if was.Kind().IsMap() {
			message, _ = value.Get(t, was, value.Kw("message"))
			data, _ = value.Get(t, was, value.Kw("data"))
		}
		panic(onceInfo(t, fmt.Sprintf("once %s: it has failed before: %s", m.Key, message.Text()), "failed", m,
			value.Kw("message"), message, value.Kw("data"), data))
	}
	panic(onceInfo(t, fmt.Sprintf("once %s: it began at %s and nobody knows how it ended; find out, then (zeno.journal/forget! key) to have it done again, or give :on-unknown", m.Key, m.Started.Format("2006-01-02 15:04:05 MST")), "unknown", m))
}

func onceInfo(t *value.Thread, message, state string, m journal.Mark, more ...value.Value) *value.Exception {
	ex := value.Errorf("ExceptionInfo", "%s", message)
	ex.Data = value.NewMap(t, append([]value.Value{value.Kw("zeno/once"), value.Kw(state), value.Kw("key"), readEDN(t, m.Key),
		value.Kw("started"), bind.Encode(t, timeOrNil(m.Started))}, more...)...)
	return ex
}

// keyText is the key of a mark: plain data, printed. It is recorded as it is, since another text would be another key: a
// secret in it is refused.
func (c *Core) keyText(t *value.Thread, key value.Value) string {
	if key.IsNil() {
		panic(value.ArgError("once: got nil as the key, want data that names the work"))
	}
	text := value.PrStr(t, lisp.Plain(t, key, lisp.Crossing{What: "once: its key"}))
	if c.secrets.Text(text) != text {
		panic(value.ArgError("once: got a key that holds a secret, want one without: keys are recorded"))
	}
	return text
}

// readEDN reads what was recorded as printed.
func readEDN(t *value.Thread, text string) value.Value {
	if strings.TrimSpace(text) == "" {
		return value.Nil
	}
	v, err := read.New(t, text, read.Options{EDN: true}).Read()
	if err != nil {
		panic(value.StateError("once: got a recorded value that does not read: %v", err))
	}
	return v
}

// onceMark is zeno.journal/mark.
func (c *Core) onceMark(ctx context.Context, t *value.Thread, key value.Value) (value.Value, error) {
	if c.once == nil {
		return value.Nil, errNoMarks
	}
	m, ok, err := c.once.Marks.LookMark(ctx, c.keyText(t, key))
	if err != nil || !ok {
		return value.Nil, err
	}
	return bind.Encode(t, map[string]any{"key": readEDN(t, m.Key), "state": bind.Keyword(m.State), "value": readEDN(t, m.Result),
		"started": timeOrNil(m.Started), "ended": timeOrNil(m.Ended)}), nil
}

// onceForget is zeno.journal/forget!.
func (c *Core) onceForget(ctx context.Context, t *value.Thread, key value.Value) (bool, error) {
	if c.once == nil {
		return false, errNoMarks
	}
	return c.once.Marks.ForgetMark(ctx, c.keyText(t, key))
}
