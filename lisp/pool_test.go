package lisp_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
)

// An evaluation that cannot be admitted in time ends as busy, and its memory is free again when others end.
func TestMemoryAdmitsByReservation(t *testing.T) {
	rt := lisp.NewRuntime(lisp.Config{Memory: 300 << 20})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Add(1)
	admitted := make(chan struct{})
	go func() {
		defer wg.Done()
		iso := rt.NewIsolate(lisp.Limits{Bytes: 64 << 20})
		iso.Grant("admitted", lisp.Capable(lisp.Capability{Name: "admitted",
			Call: func(context.Context, []value.Value) (value.Value, error) { close(admitted); return value.Nil, nil }}))
		iso.Eval(ctx, `(admitted) (deref (promise))`)
	}()
	<-admitted
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if r := rt.NewIsolate(lisp.Limits{Bytes: 64 << 20}).Eval(short, `1`); r.Err == nil || r.Err.Kind != "busy" {
		t.Errorf("while another holds the memory: got %q %v, want busy", r.Value, r.Err)
	}
	if r := rt.NewIsolate(lisp.Limits{Bytes: 1 << 20}).Eval(ctx, `1`); r.Value != "1" {
		t.Errorf("a small one beside it: got %v, want 1", r.Err)
	}
	cancel()
	wg.Wait()
	if r := rt.NewIsolate(lisp.Limits{Bytes: 64 << 20}).Eval(context.Background(), `1`); r.Value != "1" {
		t.Errorf("afterwards: got %v, want 1", r.Err)
	}
}

// 50 isolates that hoard all at once, under GOMEMLIMIT and a hard limit of memory, end one by one and leave the process
// alive. The limit is set on a child, which runs this test again. CI has 64 MiB an isolate in 1 GiB; elsewhere it is a
// quarter of both, for a quarter of the time.
//
// GOMEMLIMIT is well below the hard limit, for the kernel counts what is mapped, and the Go runtime keeps mapped what it
// has given back or not yet touched: with 800 MiB of 1 GiB the process died now and then, at 780 MiB resident and 1.1 GiB
// mapped.
func TestHoardersDoNotKillTheProcess(t *testing.T) {
	need.Full(t, "takes half a minute; make test runs it")
	if os.Getenv("ZENO_HOARD") == "" {
		each, soft, hard := "16", "GOMEMLIMIT=200MiB", "393216" // hard in KiB
		if os.Getenv("ZENO_CI") == "1" {
			each, soft, hard = "64", "GOMEMLIMIT=600MiB", "1048576"
		}
		cmd := exec.Command("/bin/sh", "-c", `ulimit -d `+hard+` && exec "$0" -test.run '^TestHoardersDoNotKillTheProcess$' -test.v`, os.Args[0])
		cmd.Env = append(os.Environ(), "ZENO_HOARD="+each, soft)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "all ended") {
			t.Fatalf("under a hard limit of 1 GiB: %v\n%s", err, tailOf(out))
		}
		return
	}
	mib, err := strconv.ParseInt(os.Getenv("ZENO_HOARD"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	limits := lisp.Limits{Bytes: mib << 20, Time: 5 * time.Minute}
	rt := lisp.New()
	programs := []string{
		`(loop [v []] (recur (conj v (vec (range 1000)))))`,
		`(loop [m {} i 0] (recur (assoc m i (str i "` + strings.Repeat("value ", 40) + `")) (inc i)))`,
		`(loop [s "ab"] (recur (str s s)))`,
		`(def h []) (loop [] (def h (conj h (vec (range 1000)))) (recur))`,
		`(doall (map vector (range)))`,
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
			defer cancel()
			if r := rt.NewIsolate(limits).Eval(ctx, programs[i%len(programs)]); r.Err == nil || !strings.HasPrefix(r.Err.Kind, "limit/") {
				t.Errorf("%s: got %v, want a limit", programs[i%len(programs)], r.Err)
			}
		}()
	}
	wg.Wait()
	t.Log("all ended")
}

func tailOf(b []byte) string {
	return string(b[:min(len(b), 1500)]) + "\n…\n" + string(b[max(0, len(b)-2000):])
}
