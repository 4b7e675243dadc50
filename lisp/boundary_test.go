package lisp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// What an agent hands to the orchestrator, which has no limits, is charged as if nothing in it were shared: a capability
// that prints its argument must not be made to print more than the agent may hold.
func TestSharedStructureIsChargedWhole(t *testing.T) {
	rt := lisp.New()
	env := rt.NewEnv(lisp.EnvConfig{})
	defer env.Close()
	for _, tt := range []struct{ name, code, want string }{
		{"a string many times", `(def s (apply str (repeat 100000 "0123456789"))) (keep-it (vec (repeat 1000 s)))`, "limit/bytes"},
		{"a keyword many times", `(def k (keyword (apply str (repeat 100000 "0123456789")))) (keep-it (vec (repeat 1000 k)))`, "limit/bytes"},
		{"one vector twice in the next", `(loop [x [1] n 0] (if (< n 40) (recur [x x] (inc n)) (keep-it x)))`, "limit/"},
		{"the same, plain from the last call", `(loop [x [1] n 0] (if (< n 40) (recur (keep-it [x x]) (inc n)) n))`, "limit/"},
		{"the same in a map", `(loop [x {:a 1} n 0] (if (< n 40) (recur (keep-it {:a x :b x}) (inc n)) n))`, "limit/"},
		{"a call of many arguments", `(def s (apply str (repeat 100000 "0123456789"))) (apply keep-it (repeat 1000 s))`, "limit/bytes"},
		{"what fits", `(def s (apply str (repeat 100 "0123456789"))) (count (keep-it (vec (repeat 1000 s))))`, ""},
		{"what fits, again and again", `(dotimes [n 500] (keep-it (vec (repeat 100 "0123456789"))))`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := rt.NewIsolate(lisp.Limits{})
			longest := 0
			i.Grant("keep-it", lisp.Capable(lisp.Capability{Name: "keep-it", Call: func(_ context.Context, args []value.Value) (value.Value, error) {
				p := value.NewPrinter(true)
				p.MaxBytes = 1 << 30
				p.Print(env.Thread(context.Background()), value.NewArraySeq(args))
				longest = max(longest, len(p.Buf))
				return args[0], nil
			}}))
			res := i.Eval(context.Background(), tt.code)
			kind := ""
			if res.Err != nil {
				kind = res.Err.Kind
			}
			if !strings.HasPrefix(kind, tt.want) || tt.want == "" && kind != "" {
				t.Errorf("got %q (%v), want %q", kind, res.Err, tt.want)
			}
			if longest > 64<<20 {
				t.Errorf("the capability printed %d bytes, want at most the bytes limit", longest)
			}
		})
	}
}

// A cancelled future ends the Go code that it waits for.
func TestCancelReachesGoCode(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	block := bind.Func("block", "([])", "Waits for its context.", func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	env := lisp.New().NewEnv(lisp.EnvConfig{Namespaces: map[string][]value.Builtin{"host": {block}}})
	defer env.Close()
	if _, err := env.Eval(context.Background(), `(def f (future (host/block)))`, "test"); err != nil {
		t.Fatal(err)
	}
	<-began
	if _, err := env.Eval(context.Background(), `(future-cancel f)`, "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != context.Canceled {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	case <-time.After(time.Minute):
		t.Fatal("the Go code still runs after the cancel")
	}
}

// What holds something, such as a connection with its token, is no data: an agent that meets one in a result or in the data
// of an error learns what it is, and nothing of what it holds.
func TestWhatAnObjectHoldsDoesNotCross(t *testing.T) {
	rt := lisp.New()
	env := rt.NewEnv(lisp.EnvConfig{})
	defer env.Close()
	for _, holder := range []string{
		`(atom "s3cret")`, `(atom {:token "s3cret"})`, `(volatile! "s3cret")`, `(ref "s3cret")`, `(agent "s3cret")`,
		`(delay "s3cret")`, `(doto (delay "s3cret") deref)`, `(doto (promise) (deliver "s3cret"))`, `(doto (future "s3cret") deref)`,
		`(reduced "s3cret")`, `(ex-info "s3cret" {})`, `(ex-info "x" {:token "s3cret"})`, `(object-array ["s3cret"])`,
		`(transient ["s3cret"])`, `(fn [] "s3cret")`, `(let [s "s3cret"] (reify Object (toString [_] s)))`,
	} {
		for how, code := range map[string]string{
			"a result":             `(fn [] ` + holder + `)`,
			"inside a result":      `(fn [] {:a [` + holder + `]})`,
			"the data of an error": `(fn [] (throw (ex-info "failed" {:conn ` + holder + `})))`,
		} {
			t.Run(how+" "+holder, func(t *testing.T) {
				f, err := env.Eval(context.Background(), code, "t")
				if err != nil {
					t.Fatal(err)
				}
				iso := rt.NewIsolate(lisp.Limits{})
				iso.Grant("cap", lisp.Capable(lisp.Capability{Name: "cap",
					Call: func(ctx context.Context, _ []value.Value) (value.Value, error) { return env.Call(ctx, f) }}))
				for _, c := range []string{`(cap)`, `(try (cap) (catch Exception e [(ex-message e) (ex-data e) (str e) (pr-str e) (Throwable->map e)]))`} {
					res := iso.Eval(context.Background(), c)
					told := res.Value
					if res.Err != nil {
						told += res.Err.Message + res.Err.Data + res.Err.Hint
					}
					if told == "" || strings.Contains(told, "s3cr") {
						t.Errorf("%s: the agent was told %s", c, told)
					}
				}
			})
		}
	}
}
