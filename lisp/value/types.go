package value

import "strings"

// Type is what class gives: a built-in type, named as on the JVM so that code written for it dispatches alike, or one that
// defrecord, deftype or reify made.
type Type = RecordType

func class(name string, supers ...*Type) *Type {
	i := strings.LastIndexByte(name, '.')
	t := &Type{Header: Head(KindType), NS: name[:i], Name: name[i+1:]}
	for _, s := range supers {
		t.addSuper(s)
		for _, ss := range s.Supers {
			t.addSuper(ss)
		}
	}
	t.Supers = append(t.Supers, typeObject)
	return t
}

// addSuper keeps Supers without repetition; Object comes last and is added by class.
func (r *RecordType) addSuper(s *Type) {
	if s == typeObject {
		return
	}
	for _, x := range r.Supers {
		if x == s {
			return
		}
	}
	r.Supers = append(r.Supers, s)
}

// The built-in types. They never change.
var (
	typeObject = &Type{Header: Header{kind: KindType}, NS: "java.lang", Name: "Object"}
	typeNil    = class("zeno.lang.Nil")
	typeHost   = class("zeno.lang.Host")

	typeNumber     = class("java.lang.Number")
	typeComparable = class("java.lang.Comparable")
	typeChars      = class("java.lang.CharSequence")
	typeRunnable   = class("java.lang.Runnable")
	typeCallable   = class("java.util.concurrent.Callable")
	typeIterable   = class("java.lang.Iterable")
	typeJColl      = class("java.util.Collection", typeIterable)
	typeJList      = class("java.util.List", typeJColl)
	typeJMap       = class("java.util.Map")
	typeJSet       = class("java.util.Set", typeJColl)
	typeJFuture    = class("java.util.concurrent.Future")

	typeIFn         = class("clojure.lang.IFn", typeCallable, typeRunnable)
	typeFnMark      = class("clojure.lang.Fn")
	typeNamed       = class("clojure.lang.Named")
	typeIMeta       = class("clojure.lang.IMeta")
	typeIObj        = class("clojure.lang.IObj", typeIMeta)
	typeSeqable     = class("clojure.lang.Seqable")
	typeSequential  = class("clojure.lang.Sequential")
	typeCounted     = class("clojure.lang.Counted")
	typeIndexed     = class("clojure.lang.Indexed", typeCounted)
	typeReversible  = class("clojure.lang.Reversible")
	typeSorted      = class("clojure.lang.Sorted")
	typeIColl       = class("clojure.lang.IPersistentCollection", typeSeqable)
	typeIStack      = class("clojure.lang.IPersistentStack", typeIColl)
	typeILookup     = class("clojure.lang.ILookup")
	typeAssociative = class("clojure.lang.Associative", typeIColl, typeILookup)
	typeISeq        = class("clojure.lang.ISeq", typeIColl)
	typeIList       = class("clojure.lang.IPersistentList", typeSequential, typeIStack)
	typeIVector     = class("clojure.lang.IPersistentVector", typeAssociative, typeSequential, typeIStack, typeReversible, typeIndexed)
	typeIMap        = class("clojure.lang.IPersistentMap", typeAssociative, typeCounted, typeIterable)
	typeISet        = class("clojure.lang.IPersistentSet", typeIColl, typeCounted)
	typeIMapEntry   = class("clojure.lang.IMapEntry")
	typeIDeref      = class("clojure.lang.IDeref")
	typeIPending    = class("clojure.lang.IPending")
	typeIRef        = class("clojure.lang.IRef", typeIDeref, typeIMeta)
	typeIAtom       = class("clojure.lang.IAtom")
	typeIRecord     = class("clojure.lang.IRecord")
	typeIType       = class("clojure.lang.IType")
	typeExInfoMark  = class("clojure.lang.IExceptionInfo")

	typeLong = class("java.lang.Long", typeNumber, typeComparable)
)

// kindTypes gives the type of each kind whose values all have one.
var kindTypes = [numKinds]*Type{
	KindNil: typeNil, KindBool: class("java.lang.Boolean", typeComparable), KindInt: typeLong,
	KindFloat:   class("java.lang.Double", typeNumber, typeComparable),
	KindBigInt:  class("clojure.lang.BigInt", typeNumber),
	KindRatio:   class("clojure.lang.Ratio", typeNumber, typeComparable),
	KindBigDec:  class("java.math.BigDecimal", typeNumber, typeComparable),
	KindChar:    class("java.lang.Character", typeComparable),
	KindString:  class("java.lang.String", typeChars, typeComparable),
	KindSymbol:  class("clojure.lang.Symbol", typeNamed, typeIObj, typeIFn, typeComparable),
	KindKeyword: class("clojure.lang.Keyword", typeNamed, typeIFn, typeComparable),

	KindEmptyList:   class("clojure.lang.PersistentList$EmptyList", typeIList, typeISeq, typeCounted, typeIObj, typeJList),
	KindList:        class("clojure.lang.PersistentList", typeIList, typeISeq, typeCounted, typeIObj, typeJList),
	KindCons:        class("clojure.lang.Cons", typeISeq, typeSequential, typeIObj, typeJList),
	KindLazySeq:     class("clojure.lang.LazySeq", typeISeq, typeSequential, typeIPending, typeIObj, typeJList),
	KindChunkedCons: class("clojure.lang.ChunkedCons", typeISeq, typeSequential, typeIObj, typeJList),
	KindVecSeq:      class("clojure.lang.PersistentVector$ChunkedSeq", typeISeq, typeSequential, typeCounted, typeIObj, typeJList),
	KindArraySeq:    class("clojure.lang.ArraySeq", typeISeq, typeSequential, typeCounted, typeIObj, typeJList),
	KindStringSeq:   class("clojure.lang.StringSeq", typeISeq, typeSequential, typeCounted, typeIObj, typeJList),
	KindRange:       class("clojure.lang.LongRange", typeISeq, typeSequential, typeCounted, typeIObj, typeJList),
	KindGenSeq:      class("clojure.lang.Iterate", typeISeq, typeSequential, typeIObj, typeJList),
	KindMapSeq:      class("clojure.lang.APersistentMap$Seq", typeISeq, typeSequential, typeIObj, typeJList),

	KindVector:    class("clojure.lang.PersistentVector", typeIVector, typeIFn, typeIObj, typeComparable, typeJList),
	KindMapEntry:  class("clojure.lang.MapEntry", typeIMapEntry, typeIVector, typeIFn, typeComparable, typeJList),
	KindArrayMap:  class("clojure.lang.PersistentArrayMap", typeIMap, typeIFn, typeIObj, typeJMap),
	KindHashMap:   class("clojure.lang.PersistentHashMap", typeIMap, typeIFn, typeIObj, typeJMap),
	KindSortedMap: class("clojure.lang.PersistentTreeMap", typeIMap, typeSorted, typeReversible, typeIFn, typeIObj, typeJMap),
	KindHashSet:   class("clojure.lang.PersistentHashSet", typeISet, typeIFn, typeIObj, typeJSet),
	KindSortedSet: class("clojure.lang.PersistentTreeSet", typeISet, typeSorted, typeReversible, typeIFn, typeIObj, typeJSet),

	KindFn:         class("clojure.lang.AFunction", typeFnMark, typeIFn, typeIObj),
	KindMultiFn:    class("clojure.lang.MultiFn", typeIFn),
	KindProtocolFn: class("clojure.lang.AFunction", typeFnMark, typeIFn, typeIObj),

	KindVar:               class("clojure.lang.Var", typeIRef, typeIFn),
	KindNamespace:         class("clojure.lang.Namespace", typeIMeta),
	KindAtom:              class("clojure.lang.Atom", typeIAtom, typeIRef),
	KindVolatile:          class("clojure.lang.Volatile", typeIDeref),
	KindDelay:             class("clojure.lang.Delay", typeIDeref, typeIPending),
	KindPromise:           class("clojure.lang.IPromise", typeIDeref, typeIPending, typeIFn),
	KindFuture:            class("clojure.lang.FutureTask", typeJFuture, typeIDeref, typeIPending),
	KindAgent:             class("clojure.lang.Agent", typeIRef),
	KindRef:               class("clojure.lang.Ref", typeIRef, typeIFn),
	KindReduced:           class("clojure.lang.Reduced", typeIDeref),
	KindTransientVector:   class("clojure.lang.PersistentVector$TransientVector", typeIndexed, typeIFn),
	KindTransientMap:      class("clojure.lang.PersistentHashMap$TransientHashMap", typeCounted, typeIFn),
	KindTransientSet:      class("clojure.lang.PersistentHashSet$TransientHashSet", typeCounted, typeIFn),
	KindRegex:             class("java.util.regex.Pattern"),
	KindMatcher:           class("java.util.regex.Matcher"),
	KindUUID:              class("java.util.UUID", typeComparable),
	KindInst:              class("java.util.Date", typeComparable),
	KindTaggedLiteral:     class("clojure.lang.TaggedLiteral", typeILookup),
	KindReaderConditional: class("clojure.lang.ReaderConditional", typeILookup),
	KindArray:             class("java.lang.Object[]"),
	KindType:              class("java.lang.Class"),
	KindProtocol:          class("clojure.lang.Protocol"),
	KindUnbound:           class("clojure.lang.Var$Unbound"),
	KindEduction:          class("clojure.core.Eduction", typeSeqable, typeSequential, typeIterable),
	KindHost:              typeHost,
}

// exceptionTypes gives the type of each class of exception.
var exceptionTypes = makeExceptionTypes()

func makeExceptionTypes() map[string]*Type {
	out := map[string]*Type{}
	var add func(name string) *Type
	add = func(name string) *Type {
		if t := out[name]; t != nil {
			return t
		}
		var supers []*Type
		if parent := ancestry[name]; parent != "" {
			supers = append(supers, add(parent))
		}
		if name == "ExceptionInfo" {
			supers = append(supers, typeExInfoMark)
		}
		t := class(exceptionPackage(name)+"."+name, supers...)
		out[name] = t
		return t
	}
	for name := range ancestry {
		add(name)
	}
	return out
}

func exceptionPackage(name string) string {
	switch name {
	case "ExceptionInfo", "ArityException":
		return "clojure.lang"
	case "IOException", "FileNotFoundException":
		return "java.io"
	case "ConcurrentModificationException", "NoSuchElementException":
		return "java.util"
	case "PatternSyntaxException":
		return "java.util.regex"
	case "TimeoutException", "CancellationException", "ExecutionException":
		return "java.util.concurrent"
	}
	return "java.lang"
}

// TypeOf gives the type of v; that of nil has no name in Lisp.
func TypeOf(v Value) *Type {
	switch k := v.Kind(); k {
	case KindRecord:
		return As[Record](v).typ
	case KindInstance:
		return As[Instance](v).typ
	case KindException:
		if t := exceptionTypes[As[Exception](v).Class]; t != nil {
			return t
		}
		return exceptionTypes["Exception"]
	default:
		if t := kindTypes[k]; t != nil {
			return t
		}
		return typeObject
	}
}

// Below tells whether r is s or a type of its kind.
func (r *RecordType) Below(s *Type) bool {
	if r == s {
		return true
	}
	if s == typeObject {
		return r != typeNil
	}
	for _, x := range r.Supers {
		if x == s {
			return true
		}
	}
	return false
}

// shortNames are the names of types in Joker, and others that people use, that are not their JVM names without a package.
var shortNames = map[string]*Type{
	"Int": typeLong, "Integer": typeLong, "Short": typeLong, "Byte": typeLong, "Float": kindTypes[KindFloat],
	"Char": kindTypes[KindChar], "BigFloat": kindTypes[KindBigDec], "BigInteger": kindTypes[KindBigInt],
	"Vector": typeIVector, "Map": typeIMap, "Set": typeISet, "MapSet": typeISet, "List": typeIList, "Seq": typeISeq,
	"Regex": kindTypes[KindRegex], "Type": kindTypes[KindType], "Error": exceptionTypes["Error"], "Future": typeJFuture,
	"Collection": typeIColl, "Array": kindTypes[KindArray], "Promise": kindTypes[KindPromise], "Deref": typeIDeref,
	"ExInfo": exceptionTypes["ExceptionInfo"], "Nil": typeNil, "Inst": kindTypes[KindInst],
	"java.lang.Integer": typeLong, "java.lang.Short": typeLong, "java.lang.Byte": typeLong,
	"java.lang.Float": kindTypes[KindFloat], "java.math.BigInteger": kindTypes[KindBigInt],
	"clojure.lang.APersistentMap": typeIMap, "clojure.lang.APersistentVector": typeIVector,
	"clojure.lang.APersistentSet": typeISet, "clojure.lang.AFn": typeIFn, "clojure.lang.ASeq": typeISeq,
	"clojure.lang.IPersistentStack": typeIStack,
}

// Types lists the built-in types by every name they go by: in full, without package, and as Joker calls them.
func Types() map[string]*Type {
	out := map[string]*Type{}
	add := func(t *Type) {
		if t == nil {
			return
		}
		out[t.FullName()] = t
		if !strings.ContainsAny(t.Name, "$[") {
			out[t.Name] = t
		}
	}
	for _, t := range kindTypes {
		if t == nil || t == typeNil || t == typeHost {
			continue
		}
		for _, s := range t.Supers {
			add(s)
		}
	}
	for _, t := range []*Type{typeIRecord, typeIType, typeExInfoMark, typeObject} {
		add(t)
	}
	for _, t := range kindTypes {
		add(t)
	}
	for _, t := range exceptionTypes {
		add(t)
	}
	for name, t := range shortNames {
		out[name] = t
	}
	delete(out, "Host")
	return out
}
