package value

import (
	"strings"
	"sync"
)

// The bounds of an Interner, for keywords and symbols each.
const (
	internEntries = 65_536 // names of trusted code
	internAgents  = 16_384 // names of isolates, all together, before they are forgotten
	internEach    = 1_024  // names, of both kinds, that one evaluation of an isolate adds
	internLength  = 128    // bytes of a name
)

// Interner keeps one object per keyword and per symbol of a runtime. It is bounded, since agents fill it with names of
// their own making. A name that is not kept, being too long or one too many, is made anew by every look-up, which costs
// speed only: names compare by content.
//
// Names of trusted code are kept for good. Those of isolates are kept apart, a share for each evaluation, and forgotten
// when there are many: no agent can take the place of others for longer than they need to read a name again.
// It is safe for concurrent use; the zero Interner is ready.
type Interner struct {
	mu       sync.RWMutex
	keywords names[Keyword]
	symbols  names[Symbol]
}

// names are the objects of one kind, by name.
type names[T any] struct{ trusted, agents map[string]*T }

func (ns *names[T]) find(full string) *T {
	if x := ns.trusted[full]; x != nil {
		return x
	}
	return ns.agents[full]
}

// add keeps x for t, unless there is one already or it has no place.
func (ns *names[T]) add(t *Thread, full string, x *T) *T {
	if old := ns.find(full); old != nil {
		return old
	}
	if t.Env == nil || !t.Env.Isolate {
		return keep(&ns.trusted, internEntries, full, x)
	}
	if t.Run.names.Add(1) > internEach {
		return x
	}
	if len(ns.agents) >= internAgents {
		ns.agents = nil
	}
	return keep(&ns.agents, internAgents, full, x)
}

func keep[T any](m *map[string]*T, most int, full string, x *T) *T {
	if *m == nil {
		*m = map[string]*T{}
	}
	if len(*m) < most {
		(*m)[full] = x
	}
	return x
}

// Keyword gives the keyword of "name" or "ns/name", without the colon. It keeps no part of full.
func (in *Interner) Keyword(t *Thread, full string) *Keyword {
	return intern(in, &in.keywords, t, full, NewKeyword)
}

// Symbol gives the symbol of "name" or "ns/name", without position or metadata. It keeps no part of full.
func (in *Interner) Symbol(t *Thread, full string) *Symbol {
	return intern(in, &in.symbols, t, full, NewSymbol)
}

func intern[T any](in *Interner, ns *names[T], t *Thread, full string, make func(ns, name string) *T) *T {
	in.mu.RLock()
	x := ns.find(full)
	in.mu.RUnlock()
	if x != nil {
		return x
	}
	t.Charge(96 + len(full))
	full = strings.Clone(full)
	space, name := OwnName(t, full)
	x = make(space, name)
	if len(full) > internLength {
		return x
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return ns.add(t, full, x)
}
