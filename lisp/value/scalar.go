package value

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// MetaBox is the metadata of an object, and where the reader saw it.
type MetaBox struct {
	M    Value // a map or nil
	Pos  *Pos
	Bare bool // M was given after reading: (meta form) shows no :line and :column of its own
}

// String is a string. It counts and indexes by Unicode code point.
type String struct {
	Header
	s    string
	hash atomic.Uint64
	size atomic.Int64 // code points + 1, once counted
}

// Str makes a string. The caller has charged for its bytes.
func Str(s string) Value { return Of(&String{Header: Header{kind: KindString}, s: s}) }

// Text gives the text behind a KindString.
func (v Value) Text() string {
	if v.Kind() != KindString { // too many callers to trust each of them with memory
		panic(Errorf("ClassCastException", "text: got %s, want a string", v.Kind()))
	}
	return As[String](v).s
}

// Len counts code points.
func (s *String) Len() int {
	if n := s.size.Load(); n > 0 {
		return int(n - 1)
	}
	n := utf8.RuneCountInString(s.s)
	s.size.Store(int64(n) + 1)
	return n
}

// ASCII tells whether every code point is one byte, so that indices are byte offsets.
func (s *String) ASCII() bool { return s.Len() == len(s.s) }

// Symbol names something.
type Symbol struct {
	Header
	NS, Name string
	hash     uint64
	meta     *MetaBox
}

// NewSymbol makes a symbol; ns may be empty.
func NewSymbol(ns, name string) *Symbol {
	return &Symbol{Header: Head(KindSymbol), NS: ns, Name: name, hash: hashName(ns, name, 's')}
}

// Sym makes a symbol of "name" or "ns/name".
func Sym(s string) Value {
	ns, name := SplitName(s)
	return Of(NewSymbol(ns, name))
}

// FullName is ns/name or name.
func (s *Symbol) FullName() string { return joinName(s.NS, s.Name) }

// Pos is where the reader saw the symbol, or nil.
func (s *Symbol) Pos() *Pos {
	if s.meta == nil {
		return nil
	}
	return s.meta.Pos
}

// At gives the symbol a position.
func (s *Symbol) At(p *Pos) *Symbol {
	box := &MetaBox{Pos: p}
	if s.meta != nil {
		box.M = s.meta.M
	}
	return &Symbol{Header: Head(KindSymbol), NS: s.NS, Name: s.Name, hash: s.hash, meta: box}
}

// Same tells whether two symbols have the same name.
func (s *Symbol) Same(o *Symbol) bool {
	return s == o || s.hash == o.hash && s.Name == o.Name && s.NS == o.NS
}

// Keyword is a name that stands for itself. Two keywords of one name are equal and identical, whether one object or two.
type Keyword struct {
	Header
	NS, Name string
	hash     uint64
}

// NewKeyword makes a keyword; ns may be empty.
func NewKeyword(ns, name string) *Keyword {
	return &Keyword{Header: Head(KindKeyword), NS: ns, Name: name, hash: hashName(ns, name, 'k')}
}

// Kw makes a keyword of "name" or "ns/name".
func Kw(s string) Value {
	ns, name := SplitName(s)
	return Of(NewKeyword(ns, name))
}

// FullName is ns/name or name, without the colon.
func (k *Keyword) FullName() string { return joinName(k.NS, k.Name) }

// Same tells whether two keywords have the same name.
func (k *Keyword) Same(o *Keyword) bool {
	return k == o || k.hash == o.hash && k.Name == o.Name && k.NS == o.NS
}

// OwnName gives "ns/name" as two strings that keep no more than themselves alive: a symbol may outlive its other half.
func OwnName(t *Thread, s string) (ns, name string) {
	t.Steps(len(s) >> 3)
	ns, name = SplitName(s)
	if ns == "" {
		return ns, name
	}
	t.Charge(len(s))
	return strings.Clone(ns), strings.Clone(name)
}

// SplitName parts "ns/name" at its first slash; "/" is a name.
func SplitName(s string) (ns, name string) {
	i := strings.IndexByte(s, '/')
	if i <= 0 || i == len(s)-1 {
		return "", s
	}
	return s[:i], s[i+1:]
}

func joinName(ns, name string) string {
	if ns == "" {
		return name
	}
	return ns + "/" + name
}

// hashString is a 64-bit FNV-1a with a final mix: the same in every process, so that the order of a map never changes.
func hashString(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

const hashSeed = 14695981039346656037

func hashName(ns, name string, tag byte) uint64 {
	h := hashString(hashSeed^uint64(tag), ns)
	return mix(hashString(h*31+'/', name))
}

// mix spreads the bits of h over all 64.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
