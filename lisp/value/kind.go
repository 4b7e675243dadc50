package value

// Kind is the type of a value.
type Kind uint32

// The kinds. Order matters where IsSeq and its like test a range.
const (
	KindNil Kind = iota
	KindBool
	KindInt
	KindFloat
	KindBigInt
	KindRatio
	KindBigDec
	KindChar
	KindString
	KindSymbol
	KindKeyword

	KindEmptyList // first seq
	KindList
	KindCons
	KindLazySeq
	KindChunkedCons
	KindVecSeq
	KindArraySeq
	KindStringSeq
	KindRange
	KindGenSeq
	KindMapSeq // last seq

	KindVector // first associative
	KindMapEntry
	KindArrayMap // first map
	KindHashMap
	KindSortedMap
	KindRecord // last map
	KindHashSet
	KindSortedSet

	KindFn // first callable that is only that
	KindMultiFn
	KindProtocolFn

	KindVar
	KindNamespace
	KindAtom
	KindVolatile
	KindDelay
	KindPromise
	KindFuture
	KindAgent
	KindRef
	KindReduced
	KindTransientVector
	KindTransientMap
	KindTransientSet
	KindRegex
	KindMatcher
	KindUUID
	KindInst
	KindTaggedLiteral
	KindReaderConditional
	KindArray
	KindException
	KindType
	KindProtocol
	KindInstance // of a deftype or reify
	KindUnbound
	KindEduction
	KindHost // a Go value of the embedder

	numKinds
)

var kindNames = [numKinds]string{
	"nil", "boolean", "integer", "float", "big integer", "ratio", "big decimal", "char", "string", "symbol", "keyword",
	"list", "list", "seq", "lazy seq", "seq", "seq", "seq", "seq", "range", "seq", "seq",
	"vector", "map entry", "map", "map", "sorted map", "record", "set", "sorted set",
	"function", "multimethod", "protocol method",
	"var", "namespace", "atom", "volatile", "delay", "promise", "future", "agent", "ref", "reduced",
	"transient vector", "transient map", "transient set", "regex", "matcher", "uuid", "inst", "tagged literal",
	"reader conditional", "array", "exception", "type", "protocol", "object", "unbound var", "eduction", "host object",
}

// String is the name that error messages use.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// IsNumber tells whether k is a number.
func (k Kind) IsNumber() bool { return k >= KindInt && k <= KindBigDec }

// IsInteger tells whether k is an integer of any size.
func (k Kind) IsInteger() bool { return k == KindInt || k == KindBigInt }

// IsSeq tells whether k is a seq (a list, a lazy seq, a view of a collection).
func (k Kind) IsSeq() bool { return k >= KindEmptyList && k <= KindMapSeq }

// IsVector tells whether k is a vector; a map entry is one.
func (k Kind) IsVector() bool { return k == KindVector || k == KindMapEntry }

// IsMap tells whether k is a map; a record is one.
func (k Kind) IsMap() bool { return k >= KindArrayMap && k <= KindRecord }

// IsSet tells whether k is a set.
func (k Kind) IsSet() bool { return k == KindHashSet || k == KindSortedSet }

// IsSequential tells whether values of k are equal by their elements in order.
func (k Kind) IsSequential() bool { return k.IsSeq() || k.IsVector() }

// IsColl tells whether k is a collection.
func (k Kind) IsColl() bool { return k >= KindEmptyList && k <= KindSortedSet }
