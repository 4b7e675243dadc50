package lisp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/compile"
)

// Whoever uses a name that the dialect leaves out on purpose is told so, and why, the agent too.
func TestLeftOutNamesSayWhy(t *testing.T) {
	rt := lisp.New()
	s := lisp.NewSession(rt.NewEnv(lisp.EnvConfig{}))
	iso := rt.NewIsolate(lisp.Limits{})
	reasons, names := compile.LeftOutNames()
	for _, why := range reasons {
		for _, name := range names[why] {
			for _, src := range []string{name, "clojure.core/" + name, "(" + name + " 1)"} {
				_, err := s.Eval(context.Background(), lisp.Input{Src: src})
				res := iso.Eval(context.Background(), src)
				if err == nil || res.Err == nil {
					t.Errorf("%s: got %v and %v, want two errors", src, err, res.Err)
					continue
				}
				for _, text := range []string{err.Error(), res.Err.Error()} {
					if want := "left out on purpose: it " + why; !strings.Contains(text, want) {
						t.Errorf("%s: got %q, want %q in it", src, text, want)
					}
				}
			}
		}
	}
}
