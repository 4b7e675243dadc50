package value

import "sync/atomic"

// Hash is a hash that agrees with Equal. It is the same in every process, except for values that are equal only to
// themselves, such as functions and atoms.
func Hash(t *Thread, v Value) uint64 {
	switch k := v.Kind(); {
	case k == KindNil:
		return 0
	case k.IsNumber():
		return NumHash(t, v)
	case k == KindKeyword:
		return As[Keyword](v).hash
	case k == KindString:
		return As[String](v).hashOf(t)
	case k == KindSymbol:
		return As[Symbol](v).hash
	case k == KindBool:
		if v.Truthy() {
			return 0x9ae16a3b2f90404f
		}
		return 0xc949d7c7509e6557
	case k == KindChar:
		return mix(uint64(v.Char()) + 'c'<<32)
	case k.IsColl():
		return hashColl(t, v, k)
	case k == KindUUID || k == KindInst || k == KindTaggedLiteral || k == KindReaderConditional:
		return hashLiteral(t, v)
	}
	return mix(v.address())
}

func (s *String) hashOf(t *Thread) uint64 {
	if h := s.hash.Load(); h != 0 {
		return h
	}
	t.Steps(len(s.s) >> 4)
	h := mix(hashString(hashSeed, s.s)) | 1
	s.hash.Store(h)
	return h
}

// HashUnordered hashes elements in whatever order, as a set of them does.
func HashUnordered(t *Thread, coll Value) uint64 {
	if k := coll.Kind(); k.IsSet() || k.IsMap() {
		return Hash(t, coll)
	}
	var h uint64
	Each(t, coll, func(x Value) bool {
		h += mix(Hash(t, x) ^ 's')
		return true
	})
	return mix(h) | 1
}

// hashColl hashes a collection, and remembers the hash where there is a place for it.
func hashColl(t *Thread, v Value, k Kind) uint64 {
	cache := hashCache(v, k)
	if cache != nil {
		if h := cache.Load(); h != 0 {
			return h
		}
	}
	t.Enter()
	var h uint64
	switch {
	case k.IsSequential():
		h = hashOrdered(t, v)
	case k.IsSet():
		Each(t, v, func(x Value) bool {
			h += mix(Hash(t, x) ^ 's')
			return true
		})
	default:
		EachKV(t, v, func(key, val Value) bool {
			h += mix(Hash(t, key)*31 + mix(Hash(t, val)))
			return true
		})
		if k == KindRecord {
			h ^= hashName(As[Record](v).typ.NS, As[Record](v).typ.Name, 'r')
		}
	}
	t.Leave()
	h = mix(h) | 1
	if cache != nil {
		cache.Store(h)
	}
	return h
}

func hashOrdered(t *Thread, v Value) uint64 {
	h := uint64(1)
	it := NewIter(v)
	for {
		x, ok := it.Next(t)
		if !ok {
			return h
		}
		h = h*31 + Hash(t, x)
	}
}

func hashCache(v Value, k Kind) *atomic.Uint64 {
	switch k {
	case KindVector:
		return &As[Vector](v).hash
	case KindArrayMap:
		return &As[ArrayMap](v).hash
	case KindHashMap:
		return &As[HashMap](v).hash
	case KindSortedMap:
		return &As[SortedMap](v).hash
	case KindRecord:
		return &As[Record](v).hash
	case KindHashSet:
		return &As[HashSet](v).hash
	case KindSortedSet:
		return &As[SortedSet](v).hash
	}
	return nil
}
