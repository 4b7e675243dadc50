package corelib

import "github.com/reflection-dev/zeno/lisp/value"

// What the function of a for* gives instead of an element. They are known by identity, so that no value that a
// program makes is taken for them, and immutable, since all environments share them.
var (
	forSkip = coreSymbol("for-skip*")
	forStop = coreSymbol("for-stop*")
)

// forPatience is how many elements a for looks at before it gives what it has, or a lazy seq of the rest when it has
// nothing. The seq that waits then lets go of the elements that were skipped.
const forPatience = 32

func doseqStar(t *value.Thread, f, coll value.Value) value.Value {
	value.Each(t, coll, func(x value.Value) bool { return t.Call1(f, x).Truthy() })
	return value.Nil
}

func forStar(t *value.Thread, f, coll value.Value) value.Value {
	t.Charge(192)
	return value.NewLazyGo(func(t *value.Thread) value.Value { return forStep(t, f, coll) }, f, coll)
}

// forStep computes the elements that come of one chunk of coll, or of one element of a seq that has no chunks.
func forStep(t *value.Thread, f, coll value.Value) value.Value {
	s := value.Seq(t, coll)
	for looked := 0; looked < forPatience; {
		if s.IsNil() {
			return value.Nil
		}
		chunk, rest := nextChunk(t, s)
		looked += len(chunk)
		out, stopped := forChunk(t, f, chunk)
		switch {
		case stopped && len(out) == 0:
			return value.Nil
		case stopped:
			return value.NewChunkedCons(t, out, value.Nil)
		case len(out) > 0:
			return value.NewChunkedCons(t, out, forStar(t, f, rest))
		}
		s = value.Seq(t, rest)
	}
	return forStar(t, f, s)
}

// forChunk calls f with each of chunk; stopped tells that f ended the seq.
func forChunk(t *value.Thread, f value.Value, chunk []value.Value) (out []value.Value, stopped bool) {
	t.Charge(16 * len(chunk))
	out = make([]value.Value, 0, len(chunk))
	t.Watch(chunk)
	t.Watch(out[:len(chunk)])
	for _, x := range chunk {
		t.Step()
		y := t.Call1(f, x)
		if stopped = y == forStop; stopped {
			break
		}
		if y != forSkip {
			out = append(out, y)
		}
	}
	t.Unwatch()
	t.Unwatch()
	return out, stopped
}

// nextChunk parts a seq into its first chunk, of one element where it has none, and the rest.
func nextChunk(t *value.Thread, s value.Value) (chunk []value.Value, rest value.Value) {
	if chunk, rest, ok := value.ChunkOf(t, s); ok {
		return chunk, rest
	}
	t.Charge(16)
	return []value.Value{value.First(t, s)}, value.Rest(t, s)
}

func forCatStar(t *value.Thread, f, coll value.Value) value.Value {
	t.Charge(192)
	return value.NewLazyGo(func(t *value.Thread) value.Value { return forCatStep(t, f, coll) }, f, coll)
}

// forCatStep finds the first element of coll for which f gives anything, and puts that before what the rest gives.
func forCatStep(t *value.Thread, f, coll value.Value) value.Value {
	s := value.Seq(t, coll)
	for looked := 0; looked < forPatience; looked++ {
		if s.IsNil() {
			return value.Nil
		}
		t.Step()
		y := t.Call1(f, value.First(t, s))
		if y == forStop {
			return value.Nil
		}
		if y != forSkip {
			if y = value.Seq(t, y); !y.IsNil() {
				return forAppend(t, y, f, value.Rest(t, s))
			}
		}
		s = value.Next(t, s)
	}
	return forCatStar(t, f, s)
}

// forAppend gives the elements of the seq s and then those that f gives for rest, a chunk of s at a time.
func forAppend(t *value.Thread, s, f, rest value.Value) value.Value {
	chunk, more := nextChunk(t, s)
	t.Charge(256 + 16*len(chunk))
	chunk = append(make([]value.Value, 0, len(chunk)), chunk...)
	tail := value.NewLazyGo(func(t *value.Thread) value.Value {
		if m := value.Seq(t, more); !m.IsNil() {
			return forAppend(t, m, f, rest)
		}
		return forCatStep(t, f, rest)
	}, more, f, rest)
	return value.NewChunkedCons(t, chunk, tail)
}
