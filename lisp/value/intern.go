package value

import (
	"strings"
	"sync"
)

// The bounds of an Interner: agents fill it with names of their own making.
const (
	internEntries = 65_536
	internLength  = 128 // bytes of a name
)

// Interner keeps one object per keyword and per symbol of a runtime. It is bounded: past 65,536 names of each kind, and
// for names longer than 128 bytes, every look-up makes a new object, which costs speed only, since names compare by
// content. It is safe for concurrent use; the zero Interner is ready.
type Interner struct {
	mu       sync.RWMutex
	keywords map[string]*Keyword
	symbols  map[string]*Symbol
}

// Keyword gives the keyword of "name" or "ns/name", without the colon. It keeps no part of full.
func (in *Interner) Keyword(t *Thread, full string) *Keyword {
	in.mu.RLock()
	k := in.keywords[full]
	in.mu.RUnlock()
	if k != nil {
		return k
	}
	t.Charge(96 + len(full))
	full = strings.Clone(full)
	ns, name := OwnName(t, full)
	return in.addKeyword(full, NewKeyword(ns, name))
}

// Symbol gives the symbol of "name" or "ns/name", without position or metadata. It keeps no part of full.
func (in *Interner) Symbol(t *Thread, full string) *Symbol {
	in.mu.RLock()
	s := in.symbols[full]
	in.mu.RUnlock()
	if s != nil {
		return s
	}
	t.Charge(96 + len(full))
	full = strings.Clone(full)
	ns, name := OwnName(t, full)
	return in.addSymbol(full, NewSymbol(ns, name))
}

func (in *Interner) addKeyword(full string, k *Keyword) *Keyword {
	if len(full) > internLength {
		return k
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.keywords[full]; old != nil {
		return old
	}
	if in.keywords == nil {
		in.keywords = map[string]*Keyword{}
	}
	if len(in.keywords) < internEntries {
		in.keywords[full] = k
	}
	return k
}

func (in *Interner) addSymbol(full string, s *Symbol) *Symbol {
	if len(full) > internLength {
		return s
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.symbols[full]; old != nil {
		return old
	}
	if in.symbols == nil {
		in.symbols = map[string]*Symbol{}
	}
	if len(in.symbols) < internEntries {
		in.symbols[full] = s
	}
	return s
}
