package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/loop"
	"github.com/reflection-dev/zeno/core/webhook"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// The events of webhooks.
const (
	hookAccepted = "webhook/accepted"
	hookEnded    = "webhook/ended"
)

// hooksDir is where deliveries wait, in the state directory.
const hooksDir = "webhooks"

// hooks is the instance's listener for webhooks, made by the first on-webhook! or webhooks!.
type hooks struct {
	mu     sync.Mutex
	server *webhook.Server
	hidden map[string]bool // secrets that the journal knows to leave out
}

// hookFunctions are what zeno.loop has for webhooks.
func (c *Core) hookFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("on-webhook!", "([name {:keys [secret path scheme max-body queue tolerance timeout dedupe on-unknown]} f])",
			`Calls f with every signed request of a sender: {:hook … :id … :headers {"x-event" …} :body "…" :received …}. :secret is {:env "NAME"} or {:file "PATH"}, or a vector of them while one replaces the other; :scheme is :github, :stripe or :standard. A request is answered once it is kept; f is called once for each delivery, one at a time, also after a restart. Registering again replaces f.`, c.onWebhook),
		bind.Func("webhooks!", "([{:keys [host port allow-non-loopback]}])", "Opens the listener for webhooks, apart from the agents': {:url …}. Called again it keeps the one that is open.", c.listenHooks),
		bind.Func("webhooks", "([])", "Lists the webhooks: {:name … :path … :waiting … :failed … :accepted … :refused …}.", c.listHooks),
		bind.Func("failed-deliveries", "([name])", "Lists the deliveries of a webhook whose work failed, or of which nobody knows how it ended, the oldest first.", c.failedHooks),
		bind.Func("redeliver!", "([name id])", "Has a failed delivery handled again.", c.redeliver),
		bind.Func("remove-webhook!", "([name])", "Takes a webhook out: its path is not found from now on. What waits stays until it is registered again.", c.removeHook),
	}
}

// borrowed tells whether the instance only borrows its home, or lives in a virtual time: it takes nothing in.
func (c *Core) borrowed() bool {
	_, virtual := c.conf.Clock.(*loop.Virtual)
	return c.conf.Idle || virtual
}

func (c *Core) hookServer() (*webhook.Server, error) {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	if c.hooks.server != nil {
		return c.hooks.server, nil
	}
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	c.hooks.server = webhook.New(webhook.Config{Dir: filepath.Join(state, hooksDir), Log: c.conf.Log, Accepted: c.hookAccepted,
		Seen: c.hookSeen, Report: func(hook string, d webhook.Delivery, err error) {
			c.report(fmt.Sprintf("webhook %s: delivery %s failed", hook, d.ID), err)
		}})
	if !c.booting.Load() {
		c.hooks.server.Run()
	}
	return c.hooks.server, nil
}

// openHooks is the server if there is one.
func (c *Core) openHooks() *webhook.Server {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	return c.hooks.server
}

// runHooks has deliveries handled, once the home has loaded.
func (c *Core) runHooks() {
	if s := c.openHooks(); s != nil {
		s.Run()
	}
}

func (c *Core) wakeHooks() {
	if s := c.openHooks(); s != nil {
		s.Wake()
	}
}

// hookGrace is how long requests under way may take while zeno stops.
const hookGrace = 2 * time.Second

// stopHooks takes nothing more in.
func (c *Core) stopHooks() {
	if s := c.openHooks(); s != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), hookGrace)
		defer cancel()
		_ = s.Close(ctx) // what is left is closed
	}
}

// hooksQuiet waits until no delivery is being handled, and tells whether that came.
func (c *Core) hooksQuiet(ctx context.Context) bool {
	s := c.openHooks()
	for s != nil && s.Busy() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

func (c *Core) endHooks(ctx context.Context) error {
	if s := c.openHooks(); s != nil {
		return s.Stop(ctx, context.Cause(c.ctx))
	}
	return nil
}

type hookForm struct {
	Secret    value.Value   `lisp:"secret,required"`
	Path      string        `lisp:"path"`
	Scheme    string        `lisp:"scheme"`
	MaxBody   bind.Size     `lisp:"max-body"`
	Queue     int           `lisp:"queue"`
	Tolerance bind.Duration `lisp:"tolerance"`
	Timeout   bind.Duration `lisp:"timeout"`
	Dedupe    string        `lisp:"dedupe"`
	OnUnknown string        `lisp:"on-unknown"`
}

// secretForm says where a secret is.
type secretForm struct {
	Env  string `lisp:"env"`
	File string `lisp:"file"`
}

func (c *Core) onWebhook(t *value.Thread, name string, o hookForm, f value.Value) error {
	if !isFunction(f) {
		return fmt.Errorf("webhook %s: got %s (%s), want a function or a var such as #'f", name, value.Brief(t, f), f.Kind())
	}
	secrets, err := c.hookSecrets(t, name, o.Secret)
	if err != nil {
		return err
	}
	if o.Dedupe != "" && o.Dedupe != "id" && o.Dedupe != "body" {
		return fmt.Errorf("webhook %s: :dedupe: got %q, want :id or :body", name, o.Dedupe)
	}
	if o.OnUnknown != "" && o.OnUnknown != "report" && o.OnUnknown != "again" {
		return fmt.Errorf("webhook %s: :on-unknown: got %q, want :report or :again", name, o.OnUnknown)
	}
	again := o.OnUnknown == "again"
	h := webhook.Hook{Name: name, Path: o.Path, Scheme: o.Scheme, Secrets: secrets, ByBody: o.Dedupe == "body", MaxBody: int64(o.MaxBody),
		MaxQueue: o.Queue, Tolerance: time.Duration(o.Tolerance), Timeout: time.Duration(o.Timeout),
		Handle: func(ctx context.Context, d webhook.Delivery) error { return c.handleHook(ctx, d, f, again) }}
	if c.borrowed() {
		return nil
	}
	s, err := c.hookServer()
	if err != nil {
		return err
	}
	return s.Add(h)
}

// hookSecrets makes the function that reads the secrets, and reads them once: a name that is not there is an error now.
func (c *Core) hookSecrets(t *value.Thread, hook string, v value.Value) (func() ([]string, error), error) {
	bad := fmt.Errorf(`webhook %s: :secret: want {:env "NAME"} or {:file "PATH"}, or a vector of them: the secret itself has no place in a program`, hook)
	var forms []secretForm
	if v.Kind().IsMap() {
		forms = make([]secretForm, 1)
		if bind.Decode(t, v, &forms[0]) != nil {
			return nil, bad
		}
	} else if v.Kind() == value.KindString || bind.Decode(t, v, &forms) != nil || len(forms) == 0 {
		return nil, bad
	}
	read := func() ([]string, error) {
		var out []string
		for _, f := range forms {
			s, err := c.readSecret(f)
			if err != nil {
				return nil, fmt.Errorf("webhook %s: :secret: %w", hook, err)
			}
			out = append(out, s)
		}
		return out, nil
	}
	_, err := read()
	return read, err
}

// readSecret reads a secret, which no record is to hold from then on.
func (c *Core) readSecret(f secretForm) (string, error) {
	s := ""
	switch {
	case (f.Env == "") == (f.File == ""):
		return "", errors.New("got both or none of :env and :file, want one")
	case f.Env != "":
		if s = os.Getenv(f.Env); s == "" {
			return "", fmt.Errorf("got the variable %s, which is not set in zeno's environment", f.Env)
		}
	default:
		path := f.File
		if h := c.conf.Home; h != nil && !filepath.IsAbs(path) {
			path = filepath.Join(h.Dir, path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if s = strings.TrimRight(string(b), "\r\n"); s == "" {
			return "", fmt.Errorf("got the file %s, which is empty", path)
		}
	}
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	if !c.hooks.hidden[s] {
		if c.hooks.hidden == nil {
			c.hooks.hidden = map[string]bool{}
		}
		c.hooks.hidden[s] = true
		c.secrets.Hide(s)
	}
	return s, nil
}

func (c *Core) hookAccepted(_ context.Context, d webhook.Delivery) error {
	_, err := c.record(journal.Event{Kind: hookAccepted, Outcome: "ok", Durable: true,
		Data: map[string]any{"hook": d.Hook, "id": d.ID, "bytes": len(d.Body)}})
	return err
}

// hookKey is the key of the mark of a delivery, as (zeno.journal/once key) would write it.
func hookKey(hook, id string) string { return fmt.Sprintf("[:webhook %q %q]", hook, id) }

func (c *Core) hookSeen(ctx context.Context, hook, id string) (bool, error) {
	if c.once == nil {
		return false, nil
	}
	_, ok, err := c.once.Marks.LookMark(ctx, hookKey(hook, id))
	return ok, err
}

// errUnknownEnd is why a delivery lies with the failed ones whose work was cut short by the end of zeno.
var errUnknownEnd = errors.New("its work began and nobody knows how it ended; find out, then (zeno.loop/redeliver! name id) has it handled again")

// handleHook calls f with d, once.
func (c *Core) handleHook(ctx context.Context, d webhook.Delivery, f value.Value, again bool) error {
	if c.admits() != nil {
		return webhook.ErrLater
	}
	if c.once == nil {
		return c.callHook(ctx, d, f)
	}
	var failed error
	body := func() (state, result string) {
		switch failed = c.callHook(ctx, d, f); {
		case failed == nil:
			return journal.MarkDone, "nil"
		case ctx.Err() != nil && c.ctx.Err() != nil:
			return "", "" // cut short
		}
		return journal.MarkFailed, fmt.Sprintf("{:message %q}", clip(c.secrets.Text(failed.Error())))
	}
	w := journal.Work{Key: hookKey(d.Hook, d.ID), Body: body}
	if again {
		w.OnUnknown = func(journal.Mark) (string, string) { return body() }
	}
	m, ran, err := c.once.Do(ctx, w)
	switch {
	case err != nil:
		return err
	case ran || m.State == journal.MarkDone:
		return failed
	case m.State == journal.MarkFailed:
		return fmt.Errorf("it has failed before: %s", m.Result)
	}
	return errUnknownEnd
}

func (c *Core) callHook(ctx context.Context, d webhook.Delivery, f value.Value) error {
	begun := time.Now()
	_, err := c.env.Do(ctx, func(t *value.Thread) value.Value { return t.Call1(f, deliveryMap(t, d)) })
	e := journal.Event{Kind: hookEnded, Outcome: "ok", Elapsed: time.Since(begun), Data: map[string]any{"hook": d.Hook, "id": d.ID}}
	if err != nil {
		e.Outcome, e.Data["error"] = "error", clip(err.Error())
	}
	_, _ = c.record(e) // a failure is reported; the mark is what counts
	return err
}

// deliveryMap is a delivery as the program sees it. The names of headers are strings.
func deliveryMap(t *value.Thread, d webhook.Delivery) value.Value {
	heads := make([]value.Value, 0, 2*len(d.Headers))
	for k, v := range d.Headers {
		heads = append(heads, value.Str(k), value.Str(v))
	}
	m := bind.Encode(t, map[string]any{"hook": bind.Keyword(d.Hook), "id": d.ID, "body": d.Body, "received": d.Received})
	if d.Error != "" {
		m = value.Assoc(t, m, value.Kw("error"), value.Str(d.Error))
	}
	return value.Assoc(t, m, value.Kw("headers"), value.NewMap(t, heads...))
}

func (c *Core) listenHooks(ctx context.Context, f listenForm) (map[string]string, error) {
	addr, err := f.addr()
	if err != nil {
		return nil, err
	}
	if c.borrowed() {
		return nil, nil
	}
	s, err := c.hookServer()
	if err != nil {
		return nil, err
	}
	at, err := s.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return map[string]string{"url": "http://" + at}, nil
}

// HookInfo is a webhook as `zeno ps` shows it.
type HookInfo struct {
	Name     string `json:"name" lisp:"name"`
	Path     string `json:"path" lisp:"path"`
	Scheme   string `json:"scheme" lisp:"scheme"`
	Waiting  int    `json:"waiting" lisp:"waiting"`
	Failed   int    `json:"failed" lisp:"failed"`
	Running  bool   `json:"running,omitempty" lisp:"running"`
	Accepted int64  `json:"accepted" lisp:"accepted"`
	Refused  int64  `json:"refused" lisp:"refused"`
	Handled  int64  `json:"handled" lisp:"handled"`
}

func (c *Core) hookInfos() []HookInfo {
	s := c.openHooks()
	if s == nil {
		return nil
	}
	var out []HookInfo
	for _, h := range s.Hooks() {
		out = append(out, HookInfo{h.Name, h.Path, h.Scheme, h.Waiting, h.Failed, h.Running, h.Accepted, h.Refused, h.Handled})
	}
	return out
}

func (c *Core) listHooks() []HookInfo {
	if l := c.hookInfos(); l != nil {
		return l
	}
	return []HookInfo{}
}

var errNoHooks = errors.New("got no webhook, want one registered: (zeno.loop/on-webhook! …)")

func (c *Core) failedHooks(t *value.Thread, name string) (value.Value, error) {
	s := c.openHooks()
	if s == nil {
		return value.Nil, errNoHooks
	}
	ds, err := s.Failed(name)
	if err != nil {
		return value.Nil, err
	}
	out := make([]value.Value, len(ds))
	for i, d := range ds {
		out[i] = deliveryMap(t, d)
	}
	return value.NewVector(t, out), nil
}

func (c *Core) redeliver(ctx context.Context, name, id string) error {
	s := c.openHooks()
	if s == nil {
		return errNoHooks
	}
	return s.Again(name, id, func() error {
		if c.once == nil {
			return nil
		}
		_, err := c.once.Marks.ForgetMark(ctx, hookKey(name, id))
		return err
	})
}

func (c *Core) removeHook(name string) bool {
	s := c.openHooks()
	return s != nil && s.Remove(name)
}
