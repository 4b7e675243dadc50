package value

import (
	"regexp"
	"sync/atomic"
)

// Regex is a compiled pattern. Package corelib compiles and runs it; two are equal only when they are one object.
type Regex struct {
	Header
	Source string // as written, in Java's syntax
	Go     string // translated to RE2
	Size   int    // instructions: what a step over one character costs at most
	Groups int    // capturing groups, without the whole
	Names  []string
	Search *regexp.Regexp // finds a match from the start of a text

	Literal string                        // what the pattern is when it is no more than text; "" otherwise
	Resume  atomic.Pointer[regexp.Regexp] // finds from inside a text; see corelib/regex.go
	Whole   atomic.Pointer[regexp.Regexp] // matches a whole text
}

// Matcher is a search through one text. Any thread may go on with it.
type Matcher struct {
	Header
	Re    *Regex
	Text  string
	State atomic.Pointer[MatchState]
}

// MatchState is where a Matcher stands. It is never written once it is made.
type MatchState struct {
	Next int   // where the next search starts, a byte offset
	Done bool  // there are no more
	Loc  []int // the last match, as of regexp.FindSubmatchIndex; nil: none
}
