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
		late := 0
		for _, unit := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} { // it must come to the slow call
			calls := 0
			late = 0
			iso := lisp.New().NewIsolate(lisp.Limits{Time: 3 * unit})
			iso.Grant("host", lisp.Capable(lisp.Capability{Name: "host",
				Call: func(_ context.Context, args []value.Value) (value.Value, error) {
					calls++
					if calls > before {
						late++
						time.Sleep(4 * unit)
					}
					return args[0], nil
				}}))
			res := iso.Eval(context.Background(), "(dotimes [i 200] (host i))")
			if res.Err == nil || res.Err.Kind != "limit/time" {
				t.Errorf("%d quick calls, then slow ones: got %v, want limit/time", before, res.Err)
			}
			if late > 0 {
				break
			}
		}
		if late != 1 {
			t.Errorf("%d quick calls, then slow ones: got %d slow calls, want 1", before, late)
		}
	}
}

// The timer ends with its evaluation: the next one of the isolate has all of its time.
func TestTheClockOfACallIsItsEvaluations(t *testing.T) {
	for _, unit := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} { // a slow machine needs some of it
		last := unit == 5*time.Second
		if clockOfACall(t, unit, last) || last {
			return
		}
	}
}

// clockOfACall runs three evaluations, each of which takes most of its time, and tells whether all ended well.
func clockOfACall(t *testing.T, unit time.Duration, last bool) bool {
	t.Helper()
	iso := lisp.New().NewIsolate(lisp.Limits{Time: 10 * unit})
	iso.Grant("host", lisp.Capable(lisp.Capability{Name: "host",
		Call: func(_ context.Context, args []value.Value) (value.Value, error) { return args[0], nil }}))
	iso.Grant("nap", lisp.Capable(lisp.Capability{Name: "nap",
		Call: func(context.Context, []value.Value) (value.Value, error) {
			time.Sleep(7 * unit)
			return value.Nil, nil
		}}))
	for range 3 {
		if res := iso.Eval(context.Background(), "(dotimes [i 50] (host i)) (nap) :done"); res.Err != nil || res.Value != ":done" {
			if last {
				t.Errorf("got %v %v, want :done", res.Value, res.Err)
			}
			return false
		}
	}
	return true
}
