package msb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

func TestRunIsCreateExecRemove(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	var stream bytes.Buffer
	s := box("sh", "-c", "echo out; echo err >&2; exit 3")
	s.Volume, s.Stdout = "agent-a1", &stream
	begin := time.Now()
	res := run(t, b, s)
	if res.Exit != 3 || res.Status != "failed" || res.Out != "out\n" || res.Err != "err\n" || stream.String() != "out\n" || res.Name != "a1" {
		t.Errorf("got %+v and %q", res, stream.String())
	}
	want := []string{"--version", "doctor", "volume", "create", "exec", "inspect", "remove"}
	if got := f.commands(); !slices.Equal(got, want) {
		t.Errorf("got the calls %v, want %v", got, want)
	}
	// The fake's create leaves something that holds its output open for ten seconds, as a machine does.
	const held = 9 * time.Second
	took := time.Since(begin)
	for tries := 0; took > held && tries < 3; tries++ { // on a slow machine all of it may take as long
		begin = time.Now()
		run(t, b, s)
		took = time.Since(begin)
	}
	if took > held {
		t.Errorf("took %v: create waits for the machine's end", took)
	}
	if left, err := os.ReadDir(b.names().Dir); err != nil || len(left) > 0 {
		t.Errorf("left %v %v of the box's record, want nothing", left, err)
	}
}

// Codes of a shell pass; 1 of a program is a failure, and 1 because the machine went down is not taken for it.
func TestExitCodes(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	for _, code := range []int{0, 1, 2, 126, 127} {
		want := "failed"
		if code == 0 {
			want = "ok"
		}
		if res := run(t, b, box("sh", "-c", fmt.Sprint("exit ", code))); res.Exit != code || res.Status != want || res.KilledBy != "" {
			t.Errorf("%d: got %+v", code, res)
		}
	}
	if res := run(t, b, box("sh", "-c", `rm "$UP"; exit 1`)); res.Status != "killed" || res.KilledBy != "unknown" {
		t.Errorf("a box that went down: got %+v, want killed", res)
	}
}

// An open standard input keeps msb from ending: it is closed unless the caller gives a stream.
func TestStandardInputIsClosed(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	harm := exec.Command("cat")
	in, err := harm.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harm.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- harm.Wait() }()
	select {
	case <-ended:
		t.Fatal("cat ended with an open standard input: the test shows nothing")
	case <-time.After(100 * time.Millisecond):
	}
	in.Close()
	<-ended
	if res := run(t, b, box("cat")); res.Status != "ok" || res.Out != "" {
		t.Errorf("got %+v, want the end of input at once", res)
	}
	s := box("cat")
	s.Stdin = strings.NewReader("a stream")
	if res := run(t, b, s); res.Out != "a stream" {
		t.Errorf("got %q, want the stream", res.Out)
	}
}

// A task reaches the program whole, from the environment inside the box, and is in no command line.
func TestTheTaskIsFedInsideTheBox(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	for _, text := range []string{"one line", "quotes ' \" $HOME `id` \\n\n\n", strings.Repeat("ö€😀\n", 30_000)} {
		s := box("sh", "-c", "cat; env | grep -c ZENO_IN_ >&2")
		s.In = text
		res := run(t, b, s)
		if res.Out != text || strings.TrimSpace(res.Err) != "0" {
			t.Errorf("got %d bytes and %q variables in its environment, want %d and 0", len(res.Out), res.Err, len(text))
		}
	}
	for _, c := range f.calls("exec") {
		if strings.Contains(strings.Join(c.argv, " "), "one line") {
			t.Errorf("the task is in the command line: %q", c.argv)
		}
	}
}

// msb's own --timeout does not end every program (the fake ignores it): ours does, and the box is removed.
func TestBoundsOfTime(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	const sleep = "echo begun; exec sleep 60"
	for _, c := range []struct {
		want   string
		change func(*sandbox.Spec)
	}{
		{sandbox.KilledTimeout, func(s *sandbox.Spec) { s.Timeout = 700 * time.Millisecond }},
		{sandbox.KilledTTL, func(s *sandbox.Spec) { s.TTL = 700 * time.Millisecond }},
		{sandbox.KilledIdle, func(s *sandbox.Spec) { s.IdleTimeout = 500 * time.Millisecond }},
	} {
		s := box("sh", "-c", sleep)
		c.change(&s)
		begin := time.Now()
		res := run(t, b, s)
		if res.KilledBy != c.want || res.Status != "killed" || res.Exit != 137 || time.Since(begin) > 50*time.Second {
			t.Errorf("%s: got %+v after %v", c.want, res, time.Since(begin))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := box("sh", "-c", sleep)
	s.Stdout = told(cancel)
	res, err := b.Run(ctx, s)
	if err != nil || res.KilledBy != sandbox.KilledCancel {
		t.Errorf("got %+v %v, want killed by cancel", res, err)
	}
	if creates, removes := len(f.calls("create")), len(f.calls("remove")); removes < 4 || creates > removes {
		t.Errorf("%d boxes were made and %d removed", creates, removes)
	}
}

// told calls a function when something is written.
type told func()

func (f told) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestAMachineThatDoesNotStart(t *testing.T) {
	f := newFake(t)
	f.will("hang", "")
	b := f.backend(func(c *Config) { c.Boot = 500 * time.Millisecond })
	_, err := b.Run(context.Background(), box("true"))
	if err == nil || !strings.Contains(err.Error(), "did not start within") {
		t.Errorf("got %v, want that it did not start", err)
	}
	if len(f.calls("remove")) != 1 {
		t.Errorf("got the calls %v, want a removal", f.commands())
	}
}

const canary = "canary-value-8d1f"

// A secret's value is in the environment of the command that makes the box, and nowhere else: no command line, no other
// command's environment, no file, no error, no event.
func TestValuesTravelInTheLaunchersEnvironmentOnly(t *testing.T) {
	f := newFake(t)
	f.will("nostart", "error: bad token "+canary)
	var events strings.Builder
	resolver := secret.Func(func(context.Context, string) (secret.Value, error) { return secret.New(canary) })
	b := f.backend(func(c *Config) {
		c.Secrets = resolver
		c.Events = func(e sandbox.Event) { fmt.Fprintln(&events, e) }
	})
	s := box("env")
	s.Egress = sandbox.Egress{Default: sandbox.EgressDeny, Allow: []sandbox.Rule{{Host: "a.example"}}}
	s.Secrets = []sandbox.Secret{{Env: "TOKEN", Hosts: []string{"a.example"}}}
	_, err := b.Run(context.Background(), s)
	if err == nil || !strings.Contains(err.Error(), "bad token $MSB_TOKEN") {
		t.Errorf("got %v, want msb's words without the value", err)
	}
	os.Remove(filepath.Join(f.home, "fake", "nostart"))
	res := run(t, b, s)
	if strings.Contains(res.Out+res.Err+events.String(), canary) {
		t.Error("the value is in the output or an event")
	}
	creates := f.calls("create")
	if len(creates) != 2 || !strings.Contains(creates[1].env, "TOKEN="+canary) || !has(creates[1].argv, "--secret", "TOKEN@a.example") {
		t.Fatalf("got %+v, want the value in the launcher's environment", creates)
	}
	for _, c := range f.calls("") {
		if strings.Contains(strings.Join(c.argv, "\n"), canary) || c.argv[0] != "create" && strings.Contains(c.env, canary) {
			t.Errorf("%s has the value", c.argv[0])
		}
	}
	err = filepath.WalkDir(f.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".create.env") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			t.Errorf("%s holds the value", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A value that is missing refuses the run before anything is made: msb finds it only when the box starts.
func TestAMissingValueIsFoundFirst(t *testing.T) {
	f := newFake(t)
	b := f.backend(func(c *Config) { c.Secrets = secret.Env{Lookup: func(string) (string, bool) { return "", false }} })
	s := box("true")
	s.Egress = sandbox.Egress{Default: sandbox.EgressPublic}
	s.Secrets = []sandbox.Secret{{Env: "TOKEN", Hosts: []string{"a.example"}}}
	_, err := b.Run(context.Background(), s)
	if !errors.Is(err, secret.ErrMissing) || !strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("got %v, want that TOKEN has no value", err)
	}
	if got := f.commands(); len(got) > 0 {
		t.Errorf("got the calls %v, want none", got)
	}
}

// The launcher sees little of this process's environment.
func TestTheLaunchersEnvironment(t *testing.T) {
	t.Setenv("OPERATORS_KEY", canary)
	t.Setenv("MSB_BACKEND", "cloud")
	f := newFake(t)
	run(t, f.backend(), box("true"))
	for _, c := range f.calls("") {
		if strings.Contains(c.env, canary) || !strings.Contains(c.env, "MSB_BACKEND=local") {
			t.Errorf("%s: got the environment %q", c.argv[0], c.env)
		}
	}
}

// `volume create` of a name that is there fails as everything does; that one failure is none, others are.
func TestAVolumeThatIsThere(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	s := box("true")
	s.Volume = "agent-a1"
	for range 2 {
		if res := run(t, b, s); res.Status != "ok" {
			t.Errorf("got %+v", res)
		}
	}
	f.will("novolume", "")
	if _, err := b.Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v, want msb's own words", err)
	}
}

func TestTheVolumeIsBounded(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	s := box("sh", "-c", `head -c 3000000 /dev/zero >"$MSB_HOME/volumes/agent-a1/big"; exec sleep 60`)
	s.Volume, s.Disk = "agent-a1", 1<<20
	if res := run(t, b, s); res.KilledBy != sandbox.KilledDisk {
		t.Errorf("got %+v, want killed by disk", res)
	}
}

// Where msb has no machine, no version that is known or is not there, the run is refused and says what to do.
func TestWhatTheHostLacks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fake)
		want   []string
	}{
		{"no program", func(f *fake) { os.RemoveAll(filepath.Join(f.home, "bin")) }, []string{"MSB_HOME", Package}},
		{"another version", func(f *fake) { f.will("version", "msb 0.7.1\n") }, []string{"0.7.1", Package}},
		{"no virtualisation", func(f *fake) {
			f.will("novirt", "warning: no reflinks\n  → buy a disk\nerror: CPU virtualization is not available\n  → no vmx\n  → enable it\n")
		},
			[]string{"CPU virtualization", "enable it"}},
		{"no image", func(f *fake) { f.will("noimage", ""); f.will("nostart", "error: x") }, []string{"debian:12", "msb load -i"}},
		{"other words", func(f *fake) { f.will("usage", "") }, []string{"unexpected argument", "0.6.18"}},
	} {
		f := newFake(t)
		c.change(f)
		b := f.backend(func(conf *Config) {
			get := conf.Getenv
			conf.Getenv = func(k string) string {
				if k == "PATH" {
					return "/usr/bin:/bin"
				}
				return get(k)
			}
		})
		_, err := b.Run(context.Background(), box("true"))
		var no *sandbox.Unenforceable
		if !errors.As(err, &no) {
			t.Errorf("%s: got %v, want an Unenforceable", c.name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %q in it", c.name, err, w)
			}
		}
		if strings.Contains(err.Error(), "buy a disk") {
			t.Errorf("%s: got %v, want no advice on warnings", c.name, err)
		}
		if rep := b.Probe(context.Background()); rep.Usable && c.name != "no image" && c.name != "other words" {
			t.Errorf("%s: Probe: got usable: %v", c.name, rep)
		}
	}
}
