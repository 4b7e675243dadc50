package value

// placed is a symbol with all that says where it stands, in one allocation: the reader makes one for each that it meets.
type placed struct {
	sym Symbol
	box MetaBox
	pos Pos
}

// PlacedBytes is what a symbol with a position takes, besides its name.
const PlacedBytes = 112

// SymbolAt gives a symbol that stands at pos, which shares its name with all others of that name.
func (in *Interner) SymbolAt(t *Thread, full string, pos Pos) *Symbol {
	s := in.Symbol(t, full)
	t.Charge(PlacedBytes)
	p := &placed{sym: Symbol{Header: Head(KindSymbol), NS: s.NS, Name: s.Name, hash: s.hash}, pos: pos}
	p.box.Pos, p.sym.meta = &p.pos, &p.box
	return &p.sym
}

// place is metadata with the position it points to, in one allocation.
type place struct {
	box MetaBox
	pos Pos
}

// PlaceBytes is what the position of a collection takes.
const PlaceBytes = 64

// PlaceNew notes that v stands at pos. v is a list, vector, map or set that the caller has just made of elements and
// shared with nobody: it may be changed in place.
func PlaceNew(t *Thread, v Value, pos Pos) Value {
	t.Charge(PlaceBytes)
	p := &place{pos: pos}
	p.box.Pos = &p.pos
	switch {
	case v.Kind() == KindList:
		As[List](v).meta = &p.box
		return v
	case v.Kind() == KindVector && As[Vector](v).count > 0:
		As[Vector](v).meta = &p.box
		return v
	}
	t.Charge(PlaceBytes)
	v, _ = withBox(v, &p.box)
	return v
}

// HidePlace keeps the place of v, which the caller has just noted, out of its metadata: errors still tell it.
func HidePlace(v Value) Value {
	if b := metaBox(v); b != nil {
		b.Bare = true
	}
	return v
}
