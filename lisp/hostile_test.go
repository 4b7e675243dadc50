package lisp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
)

// hostile is one program of testdata/hostile: its first line, `;; want: …`, lists the kinds of error one of which must end
// it; none is no error, any leaves it open. Nothing else may happen: the process lives, the isolate still works, and a
// neighbour never notices.
type hostile struct {
	name, code string
	want       []string
}

func hostilePrograms(t testing.TB) []hostile {
	t.Helper()
	files, err := filepath.Glob("testdata/hostile/*.joke")
	if err != nil || len(files) < 100 {
		t.Fatalf("testdata/hostile: got %d programs, %v, want all of them", len(files), err)
	}
	var out []hostile
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(b), "\n")
		want, ok := strings.CutPrefix(first, ";; want: ")
		if !ok {
			t.Fatalf("%s: got first line %q, want ;; want: and kinds of error", f, first)
		}
		out = append(out, hostile{strings.TrimSuffix(filepath.Base(f), ".joke"), string(b), strings.Fields(want)})
	}
	return out
}

func TestHostilePrograms(t *testing.T) {
	rt := lisp.New()
	for _, h := range hostilePrograms(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			limits, want := lisp.Limits{}, h.want
			if testing.Short() { // a twentieth of the time; what would end by itself may meet a limit
				limits = lisp.Limits{Steps: 500_000, Alloc: 64 << 20, Bytes: 16 << 20}
				want = append([]string{"limit/steps", "limit/alloc", "limit/bytes"}, want...)
			}
			if !slices.Contains(h.want, "limit/time") { // the others end by another limit, however slow the machine is
				limits.Time = 10 * time.Minute
			}
			iso := rt.NewIsolate(limits)
			neighbour := rt.NewIsolate(lisp.Limits{})
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
			defer cancel()
			evalCtx := ctx
			if slices.Contains(h.want, "cancelled") && slices.Contains(h.want, "limit/time") { // nothing else would end it
				var stop context.CancelFunc
				evalCtx, stop = context.WithTimeout(ctx, 200*time.Millisecond)
				defer stop()
			}
			start := time.Now()
			res := iso.Eval(evalCtx, h.code)
			took := time.Since(start)
			kind := "none"
			if res.Err != nil {
				kind = res.Err.Kind
			}
			if !slices.Contains(want, "any") && !slices.Contains(want, kind) {
				t.Errorf("%s: ended as %s (%v), want one of %v", h.code, kind, res.Err, want)
			}
			t.Logf("%s after %v: steps %d, bytes %d", kind, took, res.Used.Steps, res.Used.Alloc)
			for _, i := range []*lisp.Isolate{iso, neighbour} {
				if r := i.Eval(ctx, `(reduce + (map inc (range 100)))`); r.Err != nil || r.Value != "5050" {
					t.Errorf("afterwards: got %q, %v, want 5050", r.Value, r.Err)
				}
			}
		})
	}
}

// A 100 MB literal and 2,000,000 nested parentheses arrive as code.
func TestHostileSources(t *testing.T) {
	rt := lisp.New()
	for name, code := range map[string]string{
		"nested parentheses": strings.Repeat("(", 2_000_000),
		"balanced nest":      strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000),
		"quotes":             strings.Repeat("'", 2_000_000) + "x",
		"huge string":        `"` + strings.Repeat("x", 100<<20) + `"`,
		"huge vector":        "[" + strings.Repeat("1 ", 20<<20) + "]",
		"huge number":        strings.Repeat("9", 10<<20),
		"huge symbol":        strings.Repeat("a", 50<<20),
	} {
		t.Run(name, func(t *testing.T) {
			iso := rt.NewIsolate(lisp.Limits{})
			res := iso.Eval(context.Background(), code)
			if res.Err == nil {
				t.Fatalf("got no error, want one")
			}
			t.Logf("%s: %s", res.Err.Kind, res.Err.Message)
			if r := iso.Eval(context.Background(), `1`); r.Value != "1" {
				t.Errorf("afterwards: got %v, want 1", r)
			}
		})
	}
}

// A limit runs no finally: what the program would do after it never happens.
func TestLimitRunsNoFinally(t *testing.T) {
	iso := lisp.New().NewIsolate(lisp.Limits{})
	iso.Eval(context.Background(), `(def a (atom 0))`)
	iso.Eval(context.Background(), `(try (loop [] (recur)) (catch Throwable e (reset! a 1)) (finally (reset! a 2)))`)
	if r := iso.Eval(context.Background(), `@a`); r.Value != "0" {
		t.Errorf("got %s, want 0: neither catch nor finally may run", r.Value)
	}
}

// Isolates see nothing of each other.
func TestIsolatesShareNothing(t *testing.T) {
	rt := lisp.New()
	a, b := rt.NewIsolate(lisp.Limits{}), rt.NewIsolate(lisp.Limits{})
	ctx := context.Background()
	a.Eval(ctx, `(def secret 42)`)
	if r := a.Eval(ctx, `secret`); r.Value != "42" {
		t.Fatalf("its own definition: got %v, want 42", r)
	}
	for _, code := range []string{`secret`, `user/secret`, `@#'secret`, `@#'user/secret`, `(eval 'secret)`} {
		if r := b.Eval(ctx, code); r.Err == nil || r.Err.Kind != "unresolved" {
			t.Errorf("%s: got %v %v, want unresolved", code, r.Value, r.Err)
		}
	}
}

// Cancelling stops an evaluation at once.
func TestCancel(t *testing.T) {
	rt := lisp.New()
	for _, code := range []string{`(loop [] (recur))`, `(count (range))`, `(deref (promise))`, `@(future (loop [] (recur)))`} {
		iso := rt.NewIsolate(lisp.Limits{Steps: 1 << 50, Alloc: 1 << 50})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Add(1)
		var res lisp.Result
		go func() {
			defer wg.Done()
			res = iso.Eval(ctx, code)
		}()
		time.Sleep(20 * time.Millisecond)
		cancel()
		wg.Wait()
		if res.Err == nil || res.Err.Kind != "cancelled" {
			t.Errorf("%s: got %v, want cancelled", code, res.Err)
		}
	}
}

func contains(xs []string, x string) bool { return slices.Contains(xs, x) }
