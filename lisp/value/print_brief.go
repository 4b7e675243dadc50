package value

import (
	"context"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// briefBytes is the longest text Brief gives.
const briefBytes = 60

// Brief shows v in at most 60 bytes, for error messages. It realises nothing, runs no Lisp code and charges nothing, so
// that making an error cannot fail. t may be nil.
func Brief(t *Thread, v Value) string { return brief(t, v, 4) }

// Outline is Brief without what a reference or an exception holds, for those who may not see it.
func Outline(t *Thread, v Value) string { return brief(t, v, 0) }

func brief(t *Thread, v Value, level int) string {
	var env *Env
	if t != nil {
		env = t.Env
	}
	free := NewThread(NewRun(context.Background(), limit.Trusted()), env)
	p := Printer{Readably: true, Length: 16, Level: level, MaxBytes: briefBytes + 1, safe: true}
	p.Print(free, v)
	return clip(string(p.Buf), briefBytes)
}
