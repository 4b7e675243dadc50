package lisp_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// After many calls of the host a timer stands in for reading the clock: a call that outlasts the evaluation still ends it,
// at once and not when the program next asks.
func TestTimeEndsAtTheCallThatOutlastsIt(t *testing.T) {
	for _, before := range []int{0, 15, 16, 17, 100} {
		calls, late := 0, 0
		iso := lisp.New().NewIsolate(lisp.Limits{Time: 300 * time.Millisecond})
		iso.Grant("host", lisp.Capable(lisp.Capability{Name: "host",
			Call: func(_ context.Context, args []value.Value) (value.Value, error) {
				calls++
				if calls > before {
					late++
					time.Sleep(400 * time.Millisecond)
				}
				return args[0], nil
			}}))
		res := iso.Eval(context.Background(), "(dotimes [i 200] (host i))")
		if res.Err == nil || res.Err.Kind != "limit/time" || late != 1 {
			t.Errorf("%d quick calls, then slow ones: got %v after %d slow calls, want limit/time after 1", before, res.Err, late)
		}
	}
}

// The timer ends with its evaluation: the next one of the isolate has all of its time.
func TestTheClockOfACallIsItsEvaluations(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{Time: time.Second})
	iso.Grant("host", lisp.Capable(lisp.Capability{Name: "host",
		Call: func(_ context.Context, args []value.Value) (value.Value, error) { return args[0], nil }}))
	iso.Grant("nap", lisp.Capable(lisp.Capability{Name: "nap",
		Call: func(context.Context, []value.Value) (value.Value, error) {
			time.Sleep(700 * time.Millisecond)
			return value.Nil, nil
		}}))
	for range 3 {
		if res := iso.Eval(context.Background(), "(dotimes [i 50] (host i)) (nap) :done"); res.Err != nil || res.Value != ":done" {
			t.Fatalf("got %v %v, want :done", res.Value, res.Err)
		}
	}
}
