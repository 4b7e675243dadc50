package spawn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// A CLI runs in a box (sandbox.Backend) unless its request says otherwise. It sees its private home, its session's
// directory and its working directory at the paths they have on the host, the programs it needs read-only, and of the
// network its model server, its own endpoint as http://zeno.internal/mcp/<role>, and what Box.Egress allows. The token and
// the key are placeholders in there: the proxy puts the values in.

// Box is what a boxed spawn may use, beside what every spawn needs. The zero value: nothing more, and the defaults below.
type Box struct {
	// Image is the root; empty and "host" are a view of this host's programs.
	Image string `json:"image,omitempty"`
	// Volume is the working directory, kept between spawns, in place of Request.Work.
	Volume string `json:"volume,omitempty"`
	// Read are files and directories of the host to show, read-only.
	Read    []string          `json:"read,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Secrets []sandbox.Secret  `json:"secrets,omitempty"`
	// Egress is what it may reach besides its model and its endpoint; empty: nothing.
	Egress sandbox.Egress `json:"egress,omitzero"`

	CPUs   float64 `json:"cpus,omitempty"`   // as in sandbox.Spec
	Memory int64   `json:"memory,omitempty"` // default 4 GiB
	Pids   int     `json:"pids,omitempty"`
	Disk   int64   `json:"disk,omitempty"`

	TTL         time.Duration `json:"ttl,omitempty"`
	IdleTimeout time.Duration `json:"idle-timeout,omitempty"`

	Backend string `json:"backend,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	Seccomp string `json:"seccomp,omitempty"`
}

// Boxes makes boxes. sandbox/native's Backend is one.
type Boxes interface {
	Run(ctx context.Context, spec sandbox.Spec) (sandbox.Result, error)
	Exec(ctx context.Context, name string, spec sandbox.ExecSpec) (sandbox.Result, error)
}

// DefaultBoxMemory bounds a boxed CLI where its Box does not: an agent and its tools need more than one program does.
const DefaultBoxMemory = 4 << 30

// boxWork is where a box has its volume.
const boxWork = sandbox.DefaultWorkdir

// The variables by which a box's proxy knows the token and the model's key. The token's is not ZENO_TOKEN, which holds the
// same placeholder: some CLIs drop variables with TOKEN in their names from what they expand.
const (
	tokenEnv = "ZENO_MCP"
	keyEnv   = "ZENO_API_KEY"
)

// boxed tells whether the request's agent runs in a box.
func (q Request) boxed() bool { return !q.scripted() && q.Sandbox != SandboxNone }

// checkBox reports what no box could hold.
func (q Request) checkBox(conf Config) error {
	if q.Sandbox != "" && q.Sandbox != SandboxNone {
		return fmt.Errorf("sandbox: got %q, want :none, a profile such as {:egress … :memory …}, or nothing for the default box", q.Sandbox)
	}
	if !q.boxed() {
		return nil
	}
	if conf.Boxes == nil {
		return errors.New("sandbox: this zeno makes no boxes; " + unboxedHint)
	}
	if b := q.Box.Backend; b != "" && b != "native" {
		return fmt.Errorf("sandbox: :backend: got :%s, and an agent runs in the native box only; want :native, or (zeno.sandbox/run …) for a program", b)
	}
	if len(q.Secrets) > 0 {
		return fmt.Errorf("secrets: got %s for a box, where no value may be; want it in the :secrets of the :sandbox profile, with the hosts it is for",
			strings.Join(q.Secrets, ", "))
	}
	if q.Box.Volume != "" && q.Work != "" {
		return fmt.Errorf("work: got %q and the volume %q, want one of them", q.Work, q.Box.Volume)
	}
	for _, env := range []map[string]string{q.Env, q.Box.Env} {
		for name, value := range env {
			if q.APIKey != "" && strings.Contains(value, q.APIKey) {
				return fmt.Errorf("env %s: got the model's key in it, want no secret in a box", name)
			}
			if name == tokenEnv || name == keyEnv {
				return fmt.Errorf("env: got the name %s, which is zeno's own in a box; want another", name)
			}
		}
	}
	return nil
}

const unboxedHint = "`:sandbox :none` runs the agent without one: it can reach what you can then"

// boxing is the box of one run, planned.
type boxing struct {
	boxes    Boxes
	name     string
	proxy    *egress.Proxy
	policy   egress.Policy
	secrets  secret.Resolver
	baseURL  string // of the model, as the box names it
	endpoint string
	read     []string // programs to show
	path     string   // PATH in the box
	after    []string // directories after those of an image's PATH
}

// planBox decides about the box: its network, its secrets, its programs. Nothing has been made when it fails.
func (s *run) planBox(ctx context.Context, b backend.Backend, programs []string) (*boxing, error) {
	boxes, err := s.conf.Boxes()
	if err != nil {
		return nil, &requestError{fmt.Errorf("sandbox: %w; %s", err, unboxedHint)}
	}
	x := &boxing{boxes: boxes, name: boxName(s.req.ID), secrets: s.conf.Secrets}
	if hostRoot(s.req.Box.Image) {
		if err := s.hiddenState(); err != nil {
			return nil, &requestError{err}
		}
		if x.read, x.path, err = s.show(programs); err != nil {
			return nil, &requestError{err}
		}
	}
	for _, p := range programs {
		if !hostRoot(s.req.Box.Image) && filepath.IsAbs(p) && !slices.Contains(x.after, filepath.Dir(p)) {
			x.after = append(x.after, filepath.Dir(p))
		}
	}
	conf, err := s.network(ctx, b, x)
	if err != nil {
		return nil, &requestError{err}
	}
	if x.proxy, err = egress.New(conf); err != nil {
		return nil, &requestError{fmt.Errorf("sandbox: %w", err)}
	}
	return x, nil
}

func hostRoot(image string) bool { return image == "" || image == "host" }

// boxName is the name of a spawn's box: its id, where that is one.
func boxName(id string) string {
	if name := strings.ToLower(id); sandbox.ValidName(name) {
		return name
	}
	return "spawn-" + shortHash(id)
}

// spec is the box as the backend makes it.
func (s *run) spec(x *boxing, d dirs, program string, plan backend.Plan, out *output) sandbox.Spec {
	q := s.req.Box
	spec := sandbox.Spec{
		Name: x.name, Holder: "spawn " + s.req.ID, Image: q.Image, Argv: append([]string{program}, plan.Argv[1:]...),
		Stdin: strings.NewReader(plan.Stdin), Volume: q.Volume, Workdir: boxWork, Dir: plan.Dir, Path: x.after,
		Read: append(slices.Clone(q.Read), x.read...), Write: []string{d.home, d.session}, Env: s.boxEnv(x, d, plan),
		Secrets: q.Secrets, Egress: sandbox.Egress{Default: string(x.policy.Default)},
		CPUs: q.CPUs, Memory: q.Memory, Pids: q.Pids, Disk: q.Disk,
		// The run's own clock ends it before: with what the stream said by then.
		Timeout: s.req.Timeout + s.req.Grace + time.Minute, TTL: q.TTL, IdleTimeout: q.IdleTimeout,
		Backend: q.Backend, Runtime: q.Runtime, Seccomp: q.Seccomp,
		Stdout: out.writer(newLines(s.conf.MaxLine, out.line)), Stderr: out.writer(out.stderr), MaxOut: 1, Proxy: x.proxy,
	}
	if q.Volume == "" {
		spec.Write = append(spec.Write, d.work)
	}
	if spec.Memory == 0 {
		spec.Memory = DefaultBoxMemory
	}
	return spec
}

// boxEnv is everything the CLI gets but the proxy's own: placeholders, and where the certificates are.
func (s *run) boxEnv(x *boxing, d dirs, plan backend.Plan) map[string]string {
	held := x.proxy.Placeholders()
	env := map[string]string{"HOME": d.home}
	if x.path != "" {
		env["PATH"] = x.path
	}
	for _, more := range []map[string]string{plan.Env, s.req.Box.Env, s.req.Env} {
		maps.Copy(env, more)
	}
	for name := range held {
		delete(env, name)
	}
	env["ZENO_TOKEN"] = held[tokenEnv]
	return env
}

// inBox makes of what a run fills templates with what it fills them with for a box.
func (x *boxing) inBox(v backend.Values, volume string) backend.Values {
	held := x.proxy.Placeholders()
	v.Endpoint, v.BaseURL, v.Token, v.APIKey = x.endpoint, x.baseURL, held[tokenEnv], held[keyEnv]
	if volume != "" {
		v.Work = boxWork
	}
	return v
}

// executeBoxed runs the program in its box until it ends or ctx does; then nothing of it is left.
func (s *run) executeBoxed(ctx context.Context, x *boxing, spec sandbox.Spec, out *output) (int, error) {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	done := make(chan struct{})
	var res sandbox.Result
	var err error
	go func() {
		defer close(done)
		res, err = x.boxes.Run(running, spec)
	}()
	s.superviseBox(ctx, x, kill, done, out)
	out.flush()
	if err != nil {
		return 0, s.boxError(err, spec.Argv[0])
	}
	out.killed = res.KilledBy
	return res.Exit, nil
}

// superviseBox waits for the box to end, and asks it to when ctx ends or nothing happens for too long.
func (s *run) superviseBox(ctx context.Context, x *boxing, kill func(), done <-chan struct{}, out *output) {
	tick := time.NewTicker(min(pollEvery, s.req.Stall/4+time.Millisecond))
	defer tick.Stop()
	var revoked time.Time
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.checkStall(out)
			s.checkRevoked(&revoked)
		case <-ctx.Done():
			s.term(x, done)
			kill()
			<-done
			return
		}
	}
}

// term tells everything in the box to end, and waits as long as the grace lasts. A box without a shell is not asked.
func (s *run) term(x *boxing, done <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), s.req.Grace)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = x.boxes.Exec(ctx, x.name, sandbox.ExecSpec{Argv: []string{"/bin/sh", "-c", "kill -TERM -1"}, Workdir: "/", Timeout: s.req.Grace})
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	cancel()
	<-told
}

// boxError words why a box was not made.
func (s *run) boxError(err error, program string) error {
	var field *sandbox.FieldError
	var cannot *sandbox.Unenforceable
	var busy *sandbox.Busy
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Path == program && errors.Is(err, fs.ErrNotExist) && !hostRoot(s.req.Box.Image):
		return &requestError{fmt.Errorf("program %s: the image has none, or not what runs it; want it in the image, or the directory where this host has it "+
			"in :read of the :sandbox profile, such as the node_modules of npm install --prefix: %w", filepath.Base(program), err)}
	case errors.As(err, &cannot):
		return &requestError{fmt.Errorf("%w; `zeno doctor` says what this machine can do; %s", err, unboxedHint)}
	case errors.As(err, &field), errors.As(err, &busy):
		return &requestError{err}
	}
	return fmt.Errorf("failed to run in a box: %w", err)
}

// killedBox words why a box was ended from outside; empty where it was not.
func killedBox(by string, q Box) string {
	memory := q.Memory
	if memory == 0 {
		memory = DefaultBoxMemory
	}
	switch by {
	case "":
		return ""
	case sandbox.KilledOOM:
		return fmt.Sprintf("sandbox: the box used more than %d MiB of memory; give the :sandbox profile more :memory", memory>>20)
	case sandbox.KilledDisk:
		return "sandbox: the box wrote more than its :disk holds; give the :sandbox profile more, or look at what it writes"
	case sandbox.KilledTTL:
		return "sandbox: the box outlived its :ttl; give the :sandbox profile a longer one"
	case sandbox.KilledIdle:
		return "sandbox: the box put nothing out for its :idle-timeout"
	case sandbox.KilledEgress:
		return "sandbox: the proxy of the box ended, and the box with it; see the log"
	case sandbox.KilledStop:
		return "sandbox: the box was stopped by the operator"
	}
	return "sandbox: the box was ended: " + by
}

// modelSecret and tokenSecret are values that only the proxy has.
func modelSecret(key string, hosts []string) (egress.Secret, error) {
	v, err := secret.New(key)
	if err != nil {
		return egress.Secret{}, fmt.Errorf("api-key: %w: a box's proxy hides no shorter one", err)
	}
	return egress.Secret{Env: keyEnv, Hosts: hosts, Value: v}, nil
}

// hiddenState refuses a state directory that every box of this host would show.
func (s *run) hiddenState() error {
	state, err := filepath.EvalSymlinks(s.conf.StateDir)
	if err != nil {
		return err
	}
	for _, dir := range systemDirs {
		if within(state, dir) {
			return fmt.Errorf("sandbox: the state directory is %s, and a box shows %s; want the home elsewhere, or an :image", state, dir)
		}
	}
	return nil
}

// removeTree deletes what a box may have made unreadable, too.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
