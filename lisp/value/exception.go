package value

import (
	"fmt"
	"strconv"
	"strings"
)

// Exception is a Lisp error. It is thrown as a Go panic of *Exception, and is an error for Go.
type Exception struct {
	Header
	Class   string // "ExceptionInfo", "ArithmeticException", …: what catch asks for
	Message Value  // a string or nil
	Data    Value  // the map of ex-info, or nil
	Cause   Value  // an exception or nil
	Trace   []Frame
	Pos     *Pos
	Hint    string // what to do about it, for a person or a model
	Err     error  // the Go error behind it, or nil
}

// Errorf makes an exception of the class. Its message reads `noun: got X, want Y`.
func Errorf(class, format string, args ...any) *Exception {
	return &Exception{Header: Head(KindException), Class: class, Message: Str(fmt.Sprintf(format, args...))}
}

// ExInfo makes an ExceptionInfo. msg is a string or nil, data a map, cause an exception or nil.
func ExInfo(msg, data, cause Value) *Exception {
	return &Exception{Header: Head(KindException), Class: "ExceptionInfo", Message: msg, Data: data, Cause: cause}
}

// WrapError makes an exception of a Go error.
func WrapError(err error) *Exception {
	if ex, ok := err.(*Exception); ok {
		return ex
	}
	return &Exception{Header: Head(KindException), Class: "Exception", Message: Str(err.Error()), Err: err}
}

// Error is the message for Go, without class or stack.
func (e *Exception) Error() string {
	if e.Message.Kind() == KindString {
		return e.Message.Text()
	}
	return e.Class
}

// Unwrap gives the Go error behind e.
func (e *Exception) Unwrap() error { return e.Err }

// At notes where the error was thrown, unless it already knows.
func (e *Exception) At(t *Thread) *Exception {
	if e.Trace == nil {
		e.Trace = t.Trace(64)
	}
	if e.Pos == nil {
		e.Pos = t.Pos
	}
	return e
}

// ancestry names the parent of each class of exception.
var ancestry = map[string]string{
	"ExceptionInfo": "RuntimeException", "RuntimeException": "Exception", "Exception": "Throwable",
	"Error": "Throwable", "StackOverflowError": "Error", "AssertionError": "Error",
	"ArithmeticException": "RuntimeException", "ClassCastException": "RuntimeException",
	"IllegalArgumentException": "RuntimeException", "IllegalStateException": "RuntimeException",
	"ArityException": "IllegalArgumentException", "NumberFormatException": "IllegalArgumentException",
	"IndexOutOfBoundsException": "RuntimeException", "NullPointerException": "RuntimeException",
	"UnsupportedOperationException": "RuntimeException", "ConcurrentModificationException": "RuntimeException",
	"NoSuchElementException": "RuntimeException", "StringIndexOutOfBoundsException": "IndexOutOfBoundsException",
	"ArrayIndexOutOfBoundsException": "IndexOutOfBoundsException",
	"PatternSyntaxException":         "IllegalArgumentException", "CompilerException": "RuntimeException",
	"EvalError": "RuntimeException", "ParseError": "RuntimeException",
	"TimeoutException": "Exception", "CancellationException": "IllegalStateException", "InterruptedException": "Exception",
	"ExecutionException": "Exception",
	"IOException":        "Exception", "FileNotFoundException": "IOException", "InternalError": "Error",
}

// KnownClass tells whether class names a class of exception.
func KnownClass(class string) bool {
	if strings.HasPrefix(class, "java.") || strings.HasPrefix(class, "clojure.lang.") {
		class = class[strings.LastIndexByte(class, '.')+1:]
	}
	_, ok := ancestry[class]
	return ok || class == "Throwable" || class == "Object" || class == "ExInfo"
}

// IsA tells whether e is of the class or of one below it. As in the dialect, Error catches everything, like Throwable and
// Exception, since there are no errors that a program must not see.
func (e *Exception) IsA(class string) bool {
	if i := strings.LastIndexByte(class, '.'); i >= 0 {
		class = class[i+1:]
	}
	switch class {
	case "Throwable", "Exception", "Error", "Object":
		return true
	case "ExInfo": // Joker's name
		class = "ExceptionInfo"
	case "EvalError": // in Joker, what the evaluator throws, and not the program
		return e.Class != "ExceptionInfo" && e.Class != "ParseError"
	}
	for c := e.Class; c != ""; c = ancestry[c] {
		if c == class {
			return true
		}
	}
	return false
}

// ArityError says that c was called with n arguments.
func ArityError(c *Code, n int) *Exception {
	n -= c.Hidden
	want := c.Arities
	if c.Builtin != nil {
		want = c.Builtin.arities()
	}
	name := c.Name
	if c.Pos != nil && strings.HasSuffix(name, "/fn") { // one without a name is told by its place
		name += " of " + c.Pos.String()
	}
	return Errorf("ArityException", "%s: got %d argument%s, want %s", name, n, plural(n), want)
}

// Plural is a count with its noun: 1 form, 2 forms.
func Plural(n int, noun string) string { return strconv.Itoa(n) + " " + noun + plural(n) }

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// TypeError says that the function who got v where it wants something else: `+: got "a" (string), want a number`.
func TypeError(t *Thread, who string, v Value, want string) *Exception {
	if v.IsNil() {
		return Errorf("NullPointerException", "%s: got nil, want %s", who, want)
	}
	return Errorf("ClassCastException", "%s: got %s (%s), want %s", who, Brief(t, v), v.Kind(), want)
}

// IndexError says that i lies outside a collection of n elements.
func IndexError(who string, i, n int) *Exception {
	return Errorf("IndexOutOfBoundsException", "%s: got index %d, want 0 to %d", who, i, n-1)
}

// ArgError is an IllegalArgumentException.
func ArgError(format string, args ...any) *Exception {
	return Errorf("IllegalArgumentException", format, args...)
}

// StateError is an IllegalStateException.
func StateError(format string, args ...any) *Exception {
	return Errorf("IllegalStateException", format, args...)
}
