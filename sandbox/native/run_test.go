//go:build linux

package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

func TestABoxRunsAProgram(t *testing.T) {
	defer func() {
		if err := noleak.Find(); err != nil {
			t.Error(err)
		}
	}()
	b := backend(t)
	defer b.Close()
	res := sh(t, b, `cat; echo "$GREETING"; pwd; echo oops >&2; exit 7`, func(s *sandbox.Spec) {
		s.In, s.Env = "text\n", map[string]string{"GREETING": "hé"}
	})
	if res.Exit != 7 || res.Out != "text\nhé\n/work\n" || res.Err != "oops\n" || res.Status != "failed" || res.KilledBy != "" {
		t.Fatalf("got %+v", res)
	}
	if res.PeakRSS <= 0 || res.Ms <= 0 {
		t.Errorf("got peak %d and %v ms, want both", res.PeakRSS, res.Ms)
	}
	res = sh(t, b, `kill -SEGV $$`)
	if res.Exit != 139 || res.Signal != "SIGSEGV" {
		t.Errorf("got %+v, want SIGSEGV", res)
	}
}

func TestNothingOfTheHostIsInTheEnvironment(t *testing.T) {
	t.Setenv("ZENO_CANARY", "canary-of-the-host")
	b := backend(t)
	res := sh(t, b, `env; tr '\0' '\n' < /proc/1/environ; tr '\0' '\n' < /proc/self/environ`)
	if strings.Contains(res.Out, "canary") {
		t.Errorf("the environment of the host is in the box: %s", res.Out)
	}
}

func TestAMissingProgramSaysSo(t *testing.T) {
	b := backend(t)
	for _, c := range []struct {
		argv string
		want error
	}{{"no-such-program", os.ErrNotExist}, {"/etc/passwd", os.ErrPermission}, {"/no/such", os.ErrNotExist}} {
		_, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{c.argv}})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.argv) {
			t.Errorf("%s: got %v, want %v with the name", c.argv, err, c.want)
		}
	}
}

func TestOutputStreamsAndIsBounded(t *testing.T) {
	b := backend(t)
	var seen strings.Builder
	res := sh(t, b, `head -c 3000000 /dev/zero | tr '\0' x; echo end >&2`, func(s *sandbox.Spec) {
		s.Stdout, s.MaxOut = &seen, 1000
	})
	if len(res.Out) != 1000 || res.OutDropped != 2999000 || seen.Len() != 3000000 || res.Err != "end\n" {
		t.Errorf("got %d kept, %d dropped, %d streamed, err %q", len(res.Out), res.OutDropped, seen.Len(), res.Err)
	}
}

func TestALongInputNeedsNoReader(t *testing.T) {
	b := backend(t)
	in := strings.Repeat("0123456789abcdef", 1<<16)
	if res := sh(t, b, "wc -c", func(s *sandbox.Spec) { s.In = in }); strings.TrimSpace(res.Out) != "1048576" {
		t.Errorf("got %q", res.Out)
	}
	if res := sh(t, b, "exit 0", func(s *sandbox.Spec) { s.In = in }); res.Exit != 0 {
		t.Errorf("a program that reads nothing: got %+v", res)
	}
}

func TestTimeoutsAndCancelling(t *testing.T) {
	b := backend(t)
	const fork = `sleep 100 & setsid sleep 100 & (trap '' TERM INT; sleep 100) & trap '' TERM; sleep 100; echo never`
	for _, c := range []struct {
		name   string
		change func(*sandbox.Spec)
		ctx    time.Duration
		want   string
	}{
		{"timeout", func(s *sandbox.Spec) { s.Timeout = 300 * time.Millisecond }, time.Hour, sandbox.KilledTimeout},
		{"ttl", func(s *sandbox.Spec) { s.TTL = 300 * time.Millisecond }, time.Hour, sandbox.KilledTTL},
		{"idle", func(s *sandbox.Spec) { s.IdleTimeout = 300 * time.Millisecond }, time.Hour, sandbox.KilledIdle},
		{"cancel", func(s *sandbox.Spec) {}, 300 * time.Millisecond, sandbox.KilledCancel},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), c.ctx)
			defer cancel()
			s := sandbox.Spec{Argv: []string{"sh", "-c", fork}, Timeout: 3 * time.Minute}
			c.change(&s)
			begin := time.Now()
			res, err := b.Run(ctx, s)
			if err != nil || res.KilledBy != c.want || res.Status != "killed" || res.Exit != 137 {
				t.Errorf("got %+v %v, want killed by %s", res, err, c.want)
			}
			if took := time.Since(begin); took > 50*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestOutputKeepsABodyFromBeingIdle(t *testing.T) {
	b := backend(t)
	var res sandbox.Result
	for _, scale := range []float64{1, 5, 20} { // on a slow machine a pause may be longer than was said
		res = sh(t, b, fmt.Sprintf(`for i in 1 2 3 4 5 6 7 8; do echo $i; sleep %.2f; done`, 0.25*scale), func(s *sandbox.Spec) {
			s.IdleTimeout = time.Duration(scale * float64(1500*time.Millisecond))
		})
		if res.KilledBy == "" {
			break
		}
	}
	if res.Exit != 0 || res.KilledBy != "" {
		t.Errorf("got %+v, want it left alone", res)
	}
}

func TestExecStopAndPS(t *testing.T) {
	b := backend(t)
	name := "body-1"
	ended := make(chan sandbox.Result, 1)
	go func() {
		res, err := b.Run(context.Background(), sandbox.Spec{Name: name, Argv: []string{"sh", "-c", "echo mark > /tmp/mark; sleep 100"}})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	ctx := context.Background()
	var res sandbox.Result
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		var err error
		if res, err = b.Exec(ctx, name, sandbox.ExecSpec{Argv: []string{"sh", "-c", "cat /tmp/mark; cat; grep -E 'CapEff|Seccomp:|NoNew' /proc/self/status; exit 3"}, In: "in\n"}); err == nil && strings.HasPrefix(res.Out, "mark") {
			break
		}
	}
	if res.Exit != 3 || !strings.HasPrefix(res.Out, "mark\nin\n") {
		t.Fatalf("exec: got %+v", res)
	}
	for _, want := range []string{"CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(res.Out, want) {
			t.Errorf("exec is less confined: got %s, want %s", res.Out, want)
		}
	}
	if res, err := b.Exec(ctx, name, sandbox.ExecSpec{Argv: []string{"sleep", "100"}, Timeout: 200 * time.Millisecond}); err != nil || res.KilledBy != sandbox.KilledTimeout {
		t.Errorf("exec with a timeout: got %+v %v", res, err)
	}
	if _, err := b.Exec(ctx, name, sandbox.ExecSpec{Argv: []string{"no-such"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("exec of a missing program: got %v", err)
	}
	if _, err := b.Run(ctx, sandbox.Spec{Name: name, Argv: []string{"true"}}); !errors.As(err, new(*sandbox.Busy)) {
		t.Errorf("a second body of the name: got %v, want Busy", err)
	}
	ps, err := b.PS(ctx)
	if err != nil || len(ps) != 1 || ps[0].Name != name || ps[0].Pid == 0 || ps[0].Owner != os.Getpid() {
		t.Errorf("ps: got %+v %v", ps, err)
	}
	if err := b.Stop(ctx, name); err != nil {
		t.Error(err)
	}
	if res := <-ended; res.KilledBy != sandbox.KilledStop {
		t.Errorf("stop: got %+v", res)
	}
	if err := b.Stop(ctx, name); !errors.As(err, new(*sandbox.NoBody)) {
		t.Errorf("stop of none: got %v", err)
	}
	if _, err := b.Exec(ctx, name, sandbox.ExecSpec{Argv: []string{"true"}}); !errors.As(err, new(*sandbox.NoBody)) {
		t.Errorf("exec in none: got %v", err)
	}
}

func TestVolumesAreKeptAndHeldByOne(t *testing.T) {
	b := backend(t)
	vol := func(s *sandbox.Spec) { s.Volume = "v1" }
	if res := sh(t, b, "echo kept > f; mkdir d; chmod 700 d; echo x > d/x; ls -ln", vol); res.Exit != 0 {
		t.Fatalf("got %+v", res)
	}
	if res := sh(t, b, "cat f d/x; echo more >> f", vol); res.Out != "kept\nx\n" || res.Exit != 0 {
		t.Errorf("got %+v, want what the first run wrote", res)
	}
	started := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sh(t, b, "echo go; sleep 100", vol, func(s *sandbox.Spec) { s.Name, s.Stdout, s.Holder = "first", signal(started), "spawn S-1" })
	}()
	<-started
	_, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, Volume: "v1"})
	var busy *sandbox.Busy
	if !errors.As(err, &busy) || busy.Holder != "spawn S-1" {
		t.Errorf("got %v, want the volume busy with spawn S-1", err)
	}
	b.Stop(context.Background(), "first")
	<-ended
}

type signal chan struct{}

func (s signal) Write(b []byte) (int, error) {
	select {
	case <-s:
	default:
		close(s)
	}
	return len(b), nil
}

func TestLayersMakeARoot(t *testing.T) {
	b := backend(t)
	top, bottom := layer(t), layer(t)
	write := func(dir, name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	copyBusybox(t, filepath.Join(bottom, "bin"))
	write(bottom, "etc/lower", "low", 0o644)
	write(bottom, "etc/both", "low", 0o644)
	write(top, "etc/both", "top", 0o644)
	os.Symlink("/work/../../../../../tmp/evil", filepath.Join(bottom, "run"))
	root := func(s *sandbox.Spec) {
		s.Root = sandbox.Root{Layers: []string{bottom, top}, Env: map[string]string{"FROM": "image"}, Workdir: "/w"}
	}
	res := sh(t, b, "cat /etc/lower /etc/both; echo; echo $FROM; pwd; echo new > /etc/both; cat /etc/both; id -u; rm /etc/lower; ls /etc/lower; ls /usr", root)
	if !strings.HasPrefix(res.Out, "lowtop\nimage\n/w\nnew\n0\n") {
		t.Errorf("got %+v", res)
	}
	if text, _ := os.ReadFile(filepath.Join(bottom, "etc/lower")); string(text) != "low" {
		t.Errorf("the layer was changed: %q", text)
	}
	if _, err := os.Lstat("/tmp/evil"); err == nil {
		t.Error("a link in an image led to the host")
	}
}

func layer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	return dir
}

// copyBusybox makes a layer that can run something: one static program.
func copyBusybox(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile("/bin/busybox")
	if err != nil {
		need.Skip(t, "busybox-static is not installed")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"busybox"} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "cat", "echo", "pwd", "id", "rm", "ls", "true"} {
		if err := os.Symlink("busybox", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a stage two of its own the program re-executes itself.
func TestReexec(t *testing.T) {
	if early == nil {
		t.Fatal(errEarly)
	}
	if _, err := backend(t, func(c *native.Config) { c.Stage2 = "" }).Run(context.Background(), sandbox.Spec{Argv: []string{"true"}}); !errors.As(err, new(*sandbox.Unenforceable)) {
		t.Errorf("without Self: got %v, want a refusal: this program was not asked to be stage two", err)
	}
	b := backend(t, func(c *native.Config) { c.Stage2, c.Self = "", true })
	if res := sh(t, b, "sleep 0.2; echo hello"); res.Out != "hello\n" { // longer than stage two needs to settle
		t.Errorf("got %+v", res)
	}
}

func TestBadSpecsNameTheField(t *testing.T) {
	b := backend(t)
	for field, s := range map[string]sandbox.Spec{
		":argv":    {},
		":name":    {Argv: []string{"true"}, Name: "../x"},
		":workdir": {Argv: []string{"true"}, Workdir: "/proc/self"},
		":memory":  {Argv: []string{"true"}, Memory: 5},
		":pids":    {Argv: []string{"true"}, Pids: 1},
		":seccomp": {Argv: []string{"true"}, Seccomp: "none"},
		":env":     {Argv: []string{"true"}, Env: map[string]string{"A=B": "x"}},
		":egress":  {Argv: []string{"true"}, Egress: sandbox.Egress{Default: "open"}},
		":read":    {Argv: []string{"true"}, Read: []string{"/a/../b"}},
		":volume":  {Argv: []string{"true"}, Volume: "A"},
		":secrets": {Argv: []string{"true"}, Secrets: []sandbox.Secret{{Env: "K", Hosts: []string{"h"}}}},
	} {
		_, err := b.Run(context.Background(), s)
		var bad *sandbox.FieldError
		if !errors.As(err, &bad) || !strings.HasPrefix(bad.Field, field) {
			t.Errorf("%s: got %v, want an error that names it", field, err)
		}
	}
}

func TestWhatIsNotThereIsNotShown(t *testing.T) {
	_, err := backend(t).Run(context.Background(), sandbox.Spec{Argv: []string{"true"}, Read: []string{"/usr", "/nowhere"}})
	var bad *sandbox.FieldError
	if !errors.As(err, &bad) || bad.Field != ":read 1" || !strings.Contains(bad.Text, "/nowhere") {
		t.Errorf("got %v, want the field and the path", err)
	}
}

func TestWhatCannotBeEnforcedIsRefused(t *testing.T) {
	b := backend(t)
	for what, s := range map[string]sandbox.Spec{
		":image":   {Argv: []string{"true"}, Image: "zeno-agent:base"},
		":egress":  {Argv: []string{"true"}, Egress: sandbox.Egress{Default: sandbox.EgressPublic}},
		":backend": {Argv: []string{"true"}, Backend: "msb"},
	} {
		_, err := b.Run(context.Background(), s)
		var no *sandbox.Unenforceable
		if !errors.As(err, &no) || !strings.HasPrefix(no.What, what) || no.Why == "" {
			t.Errorf("%s: got %v, want a refusal", what, err)
		}
	}
}

func TestProbe(t *testing.T) {
	r := backend(t).Probe(context.Background())
	if !r.Usable {
		t.Fatalf("got\n%s", r)
	}
	for _, what := range []string{"boxes", "ids", "seccomp", "landlock", "memory", "pids", "cpus", "disk", "volumes"} {
		if c, ok := r.Find(what); !ok || !c.OK || c.How == "" {
			t.Errorf("%s: got %+v", what, c)
		}
	}
}
