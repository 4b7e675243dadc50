package value

import "github.com/reflection-dev/zeno/lisp/limit"

// Interrupt ends the evaluation as a limit does, for a reason of the host's: no Lisp code of it runs any more, on any
// thread.
func (t *Thread) Interrupt() { t.trip(limit.Interrupt, 0, 0) }
