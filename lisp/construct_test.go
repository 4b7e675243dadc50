package lisp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// A program throws exceptions of any class but the one that says that the language itself is broken.
func TestInternalErrorIsNotForPrograms(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	defer env.Close()
	for _, src := range []string{`(throw (InternalError. "x"))`, `(throw (new InternalError "x"))`,
		`(throw (new-object* InternalError "x"))`, `(throw (java.lang.InternalError. "x"))`} {
		_, err := env.Eval(context.Background(), src, "t.joke")
		var e *lisp.Error
		if !errors.As(err, &e) || e.Kind == "internal" {
			t.Errorf("%s: got %v, want it refused", src, err)
		}
	}
	_, err := env.Eval(context.Background(), `(throw (IllegalStateException. "x"))`, "t.joke")
	var e *lisp.Error
	if !errors.As(err, &e) || e.Class != "IllegalStateException" || e.Message != "x" {
		t.Errorf("an exception of a program: got %v, want IllegalStateException: x", err)
	}
}
