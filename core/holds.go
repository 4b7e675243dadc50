package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/budget"
	"github.com/reflection-dev/zeno/core/grant"
	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/gateway"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// What the operator takes away or lends while an agent runs stands beside the grant, which is the program's. A revocation
// and the end of a lease are kept in the state directory; a function that was lent is gone after a restart.

// leased are capabilities that were lent beyond the grant.
type leased struct {
	mu   sync.Mutex
	caps map[leaseKey]*grant.Capability
}

type leaseKey struct {
	who  budget.Who
	name string
}

func (x *leased) set(k leaseKey, c *grant.Capability) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.caps == nil {
		x.caps = map[leaseKey]*grant.Capability{}
	}
	if c == nil {
		delete(x.caps, k)
		return
	}
	x.caps[k] = c
}

// of lists what a spawn was lent, itself or by its role.
func (x *leased) of(caller gateway.Caller) []*grant.Capability {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []*grant.Capability
	for k, c := range x.caps {
		if k.who.Spawn == caller.Spawn || k.who.Spawn == "" && k.who.Role == caller.Role {
			out = append(out, c)
		}
	}
	return out
}

// withLeased is the grant of a spawn with what it was lent for now.
func (c *Core) withLeased(caller gateway.Caller, g *grant.Grant) *grant.Grant {
	if c.advises(caller.Spawn) {
		return g
	}
	for _, lent := range c.leased.of(caller) {
		w := warden{c, caller.Role, caller.Spawn}
		if w.Held(lent.Name) == nil {
			g = g.WithLeased(lent)
		}
	}
	return g
}

// Held implements grant.Warden.
func (w warden) Held(name string) *grant.HeldError {
	l, err := w.core.ledger()
	if err != nil { // it may say that the capability is revoked
		return &grant.HeldError{Name: name, Kind: grant.Revoked, Since: time.Now(), Why: "the record of what is revoked cannot be read"}
	}
	h, ok := l.HoldOn(w.role, w.root(), name)
	switch {
	case !ok:
		return nil
	case h.Until.IsZero():
		return &grant.HeldError{Name: name, Kind: grant.Revoked, Since: h.At, Why: h.Why}
	case l.Now().Before(h.Until):
		return nil
	}
	return &grant.HeldError{Name: name, Kind: grant.Expired, Since: h.Until, Why: h.Why}
}

// root is the id of the spawn whose attempt this is: what is revoked from a spawn is so in all its attempts.
func (w warden) root() string {
	if j := w.core.jobs.attempt(w.id); j != nil {
		return j.id
	}
	return w.id
}

// whoForm is a role as a keyword, or a spawn as its id or as a map with :id.
type whoForm budget.Who

// DecodeLisp implements bind.Decoder.
func (w *whoForm) DecodeLisp(t *value.Thread, v value.Value) error {
	switch {
	case v.Kind() == value.KindKeyword:
		w.Role = value.As[value.Keyword](v).FullName()
		return nil
	case v.Kind() == value.KindString && v.Text() != "":
		w.Spawn = v.Text()
		return nil
	case v.Kind().IsMap():
		if id, _ := value.Get(t, v, value.Kw("id")); id.Kind() == value.KindString && id.Text() != "" {
			w.Spawn = id.Text()
			return nil
		}
	}
	return fmt.Errorf("got %s (%s), want a role such as :worker, the id of a spawn, or what spawn-async gave", value.Brief(t, v), v.Kind())
}

type leaseForm struct {
	For bind.Duration `lisp:"for"`
	Fn  value.Value   `lisp:"fn"`
	Why string        `lisp:"why"`
}

type whyForm struct {
	Why string `lisp:"why"`
}

// maxLease bounds a lease.
const maxLease = 366 * 24 * time.Hour

// holdFunctions are those of zeno.grant that need the engine.
func (c *Core) holdFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("revoke!", "([who name] [who name {:keys [why]}])",
			"Takes a capability from a role (a keyword) or a spawn (its id), at its next call, also while it runs. It stays so until (restore! who name), across restarts. Gives false, and says why, where nothing of that name is granted at the moment.", c.revoke),
		bind.Func("lease!", "([who name {:keys [for fn why]}])",
			`Lets a capability be called for so long from now on, such as {:for "10m"}; after that it fails at its next call. With :fn, a function or capability map, it is lent beyond the grant. Gives false, and says why, where it changes nothing at the moment.`, c.lease),
		bind.Func("restore!", "([who name])", "Ends what revoke! or lease! said: the grant alone counts again. Tells whether there was anything.", c.restore),
		bind.Func("held", "([])", "Lists what is revoked or leased: [{:who … :name … :until … :why … :at …}].", c.held),
	}
}

func (c *Core) hold(ctx context.Context, h budget.Hold, kind string) error {
	l, err := c.ledger()
	if err != nil {
		return err
	}
	h.At = l.Now()
	if strings.TrimSpace(h.Name) == "" {
		return errors.New("name: got none, want that of a capability")
	}
	e := journal.Event{Kind: kind, Role: h.Who.Role, Spawn: h.Who.Spawn, Outcome: "ok", Durable: true, Data: map[string]any{"name": h.Name}}
	if h.Why != "" {
		e.Data["why"] = clip(h.Why)
	}
	if !h.Until.IsZero() {
		e.Data["until"] = h.Until.UTC().Format(time.RFC3339)
	}
	if err := l.SetHold(ctx, h); err != nil {
		return err
	}
	_, err = c.record(e)
	return err
}

// missed tells why what is said of a capability changes nothing at the moment, which is most often a slip of the pen; ""
// where it does, or where nobody can tell.
func (c *Core) missed(ctx context.Context, who budget.Who, name string) string {
	role := who.Role
	if who.Spawn != "" {
		j, err := c.jobs.find(who.Spawn)
		if err != nil {
			return "no spawn " + who.Spawn + " runs"
		}
		role = j.role
	}
	if c.role(role).IsNil() {
		return "role " + role + " is not registered"
	}
	lent := slices.ContainsFunc(c.leased.of(gateway.Caller{Role: role, Spawn: who.Spawn}), func(l *grant.Capability) bool { return l.Name == name })
	if g, err := c.grant(ctx, role); err == nil && g.Find(name) == nil && !lent {
		return "role " + role + " grants no " + name
	}
	return ""
}

// told says that what is held holds nothing yet. It gives whether it does.
func (c *Core) told(op, name, missed string) bool {
	if missed != "" {
		c.warn(fmt.Sprintf("%s: %s: %s at the moment; it is held all the same, and (zeno.grant/held) lists it", op, name, missed))
	}
	return missed == ""
}

func (c *Core) revoke(ctx context.Context, who whoForm, name string, f *whyForm) (bool, error) {
	if f == nil {
		f = &whyForm{}
	}
	missed := c.missed(ctx, budget.Who(who), name)
	c.leased.set(leaseKey{budget.Who(who), name}, nil)
	err := c.hold(ctx, budget.Hold{Who: budget.Who(who), Name: name, Why: f.Why}, "grant/revoked")
	return err == nil && c.told("revoke!", name, missed), err
}

func (c *Core) lease(ctx context.Context, t *value.Thread, who whoForm, name string, f leaseForm) (bool, error) {
	span := time.Duration(f.For)
	if span <= 0 || span > maxLease {
		return false, fmt.Errorf(`:for: got %s, want how long, such as "10m", at most %s`, span, maxLease)
	}
	l, err := c.ledger()
	if err != nil {
		return false, err
	}
	var lent *grant.Capability
	if !f.Fn.IsNil() {
		if lent, err = grant.DecodeCapability(t, value.Str(name), f.Fn); err != nil {
			return false, err
		}
	}
	err = c.hold(ctx, budget.Hold{Who: budget.Who(who), Name: name, Until: l.Now().Add(span), Why: f.Why}, "grant/leased")
	if err == nil && lent != nil {
		c.leased.set(leaseKey{budget.Who(who), name}, lent)
	}
	return err == nil && c.told("lease!", name, c.missed(ctx, budget.Who(who), name)), err
}

func (c *Core) restore(ctx context.Context, who whoForm, name string) (bool, error) {
	l, err := c.ledger()
	if err != nil {
		return false, err
	}
	c.leased.set(leaseKey{budget.Who(who), name}, nil)
	had, err := l.DropHold(ctx, budget.Who(who), name)
	if err == nil && had {
		_, err = c.record(journal.Event{Kind: "grant/restored", Role: who.Role, Spawn: who.Spawn, Outcome: "ok", Durable: true, Data: map[string]any{"name": name}})
	}
	return had, err
}

func (c *Core) held() ([]any, error) {
	l, err := c.ledger()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, h := range l.Holds() {
		m := map[string]any{"name": h.Name, "at": h.At, "why": h.Why, "until": timeOrNil(h.Until)}
		m["who"] = any(bind.Keyword(h.Who.Role))
		if h.Who.Spawn != "" {
			m["who"] = h.Who.Spawn
		}
		out = append(out, m)
	}
	return out, nil
}

// dropHolds forgets what was said about a spawn that has ended.
func (c *Core) dropHolds(spawn string) {
	c.leased.drop(spawn)
	l, err := c.ledger()
	if err == nil {
		err = l.EndSpawn(context.WithoutCancel(c.ctx), spawn)
	}
	if err != nil {
		c.conf.Log.Warn("budget: failed to forget what was revoked from a spawn that has ended", "spawn", spawn, "error", err)
	}
}

func (x *leased) drop(spawn string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k := range x.caps {
		if k.who.Spawn == spawn {
			delete(x.caps, k)
		}
	}
}
