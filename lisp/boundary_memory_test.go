package lisp_test

import (
	"context"
	"testing"

	"github.com/reflection-dev/zeno/lisp"
)

// What macros expand to has names, so an agent can call it with anything. Each of these once read memory as what it is
// not.
func TestHelpersOfMacrosTrustNothing(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{})
	if res := iso.Eval(context.Background(), `(defprotocol P (p [x])) (deftype T [])`); res.Err != nil {
		t.Fatal(res.Err)
	}
	for _, code := range []string{
		`(aset-double (double-array 1) 0 :k)`,
		`(aset-float (float-array 1) 0 "x")`,
		`(no-clause* 1 2)`,
		`(protocol* 'P nil false [1])`,
		`(protocol* 'P nil false [['p]])`,
		`(protocol* 'P nil false [[1 '([x]) nil]])`,
		`(protocol-fn* P 7)`,
		`(protocol-fn* P -1)`,
		`(protocol-fn* P :k)`,
		`(reify* [P] [])`,
		`(reify* [P] [5])`,
		`(type-methods* T [P] [:k])`,
	} {
		res := iso.Eval(context.Background(), code)
		if res.Err == nil || res.Err.Kind != "type" && res.Err.Kind != "value" {
			t.Errorf("%s: got %q, %v, want an error of type or value", code, res.Value, res.Err)
		}
	}
}
