package grant

import (
	"fmt"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

// checkLimits refuses limits that would be others than was written: zero would count as not given, and so as the default,
// and a depth beyond what anyone gets would be cut.
func checkLimits(t *value.Thread, grant value.Value) error {
	limits, ok := value.Get(t, grant, value.Kw("limits"))
	if !ok || !limits.Kind().IsMap() {
		return nil
	}
	for _, name := range []string{"steps", "alloc", "bytes", "depth", "output", "calls", "threads"} {
		v, ok := value.Get(t, limits, value.Kw(name))
		if !ok || v.Kind() != value.KindInt {
			continue
		}
		if n := v.Int(); n < 1 {
			return fmt.Errorf("grant: :limits :%s: got %d, want more than 0; without it the default counts", name, n)
		} else if name == "depth" && n > limit.MaxDepth {
			return fmt.Errorf("grant: :limits :depth: got %d, want at most %d", n, limit.MaxDepth)
		}
	}
	return nil
}
