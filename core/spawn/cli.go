package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// runCLI prepares the home, runs the backend's CLI in it and judges how it went.
func (s *run) runCLI(ctx context.Context) Result {
	b, _ := s.req.entry(s.conf) // check has found it
	programs, err := s.programs(b)
	if err != nil {
		return failure(err)
	}
	var box *boxing
	if s.req.boxed() {
		if box, err = s.planBox(ctx, b, programs); err != nil {
			return failure(err)
		}
	}
	d, err := s.makeDirs(b.Rehome)
	if err != nil {
		return failure(err)
	}
	defer s.release(d)
	plan, err := b.Plan(s.valuesIn(box, d))
	if err != nil {
		return failure(err)
	}
	if s.req.Resume != "" {
		if err := checkHeads(d.session, b.Rehome, plan.Dir); err != nil {
			return failure(err)
		}
	}
	if err := carryOut(plan, d.home, box != nil); err != nil {
		return failure(err)
	}
	if err := s.announce(); err != nil {
		return failure(err)
	}
	out := newOutput(s, b, plan.Allowed)
	exit, err := 0, error(nil)
	if box != nil {
		exit, err = s.executeBoxed(ctx, box, s.spec(box, d, programs[0], plan, out), out)
	} else {
		exit, err = s.execute(ctx, programs[0], d.home, plan, out)
	}
	if err != nil {
		return failure(err)
	}
	res := s.judge(ctx, b, out, exit)
	res.Exit, res.Answer, res.Session, res.Usage = exit, out.reader.Answer, out.reader.Session, s.used.with(out.reader.Usage())
	res.Boxed = box != nil
	res.Stderr = out.stderr.text(s.red)
	for i, note := range out.reader.Advice {
		res.Advice = append(res.Advice, Advice{Round: i + 1, Verdict: Note, Text: note})
	}
	if b.Stream.Cumulative && res.Session != "" {
		s.rememberUsage(res.Session, out.reader.Total())
	}
	return res
}

// valuesIn are what fills the backend's templates, for a box where there is one.
func (s *run) valuesIn(box *boxing, d dirs) backend.Values {
	if box == nil {
		return s.values(d)
	}
	return box.inBox(s.values(d), s.req.Box.Volume)
}

// programs finds the CLI, and then what it needs, on the spawn's PATH. An image has its own, unless its box is shown the
// host's.
func (s *run) programs(b backend.Backend) ([]string, error) {
	names := append([]string{b.Argv[0].Words[0]}, b.Needs...)
	if s.req.boxed() && !hostRoot(s.req.Box.Image) {
		for i, name := range names {
			names[i] = s.shown(name)
		}
		return names, nil
	}
	found := make([]string, len(names))
	for i, name := range names {
		path, err := lookPath(s.conf.Path, name)
		if err != nil {
			return nil, &requestError{fmt.Errorf("backend %s: %w; install it: %s (tried with %s)", b.Name, err, b.Install, b.Tried)}
		}
		found[i] = path
	}
	return found, nil
}

// lookPath finds a program on a PATH that is not this process's. Relative entries do not count.
func lookPath(path, name string) (string, error) {
	candidates := []string{name}
	if !strings.ContainsRune(name, filepath.Separator) {
		candidates = nil
		for _, dir := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, file := range candidates {
		info, err := os.Stat(file)
		if filepath.IsAbs(file) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("program %s: got none on PATH", name)
}

// carryOut writes a plan's files and links into the home and makes its directory. The home of a spawn that goes on was an
// agent's for a while: nothing that it left in there, a link or a pipe, leads a write anywhere else or holds it up.
func carryOut(plan backend.Plan, home string, boxed bool) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("failed to prepare the home: %w", err)
	}
	defer root.Close()
	for _, f := range plan.Files {
		if err := place(root, home, f.Path, func(name string) error {
			file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = file.Write(f.Data)
			return errors.Join(err, file.Close())
		}); err != nil {
			return err
		}
	}
	for _, l := range plan.Links {
		if err := place(root, home, l.Path, func(name string) error { return root.Symlink(l.Target, name) }); err != nil {
			return err
		}
	}
	if boxed && !within(plan.Dir, home) { // given, or the box's own
		return nil
	}
	if err := os.MkdirAll(plan.Dir, 0o700); err != nil {
		return fmt.Errorf("failed to prepare the directory to start in: %w", err)
	}
	return nil
}

// place puts something new at a path of the home, in the stead of what was there.
func place(root *os.Root, home, path string, put func(name string) error) error {
	name, err := filepath.Rel(home, path)
	if err == nil {
		err = root.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err == nil {
		err = root.RemoveAll(name)
	}
	if err == nil {
		err = put(name)
	}
	if err != nil {
		return fmt.Errorf("failed to prepare the home: %w", err)
	}
	return nil
}

// environment is everything the CLI gets: what zeno sets, what the backend declares, what the request declares.
func (s *run) environment(plan backend.Plan, home string) []string {
	env := []string{"PATH=" + s.conf.Path, "HOME=" + home, "ZENO_TOKEN=" + s.token}
	for name, value := range plan.Env {
		if _, overridden := s.req.Env[name]; !overridden {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range s.req.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env[3:])
	return env
}

// execute runs the program under a guard until it ends or ctx does; then nothing of its tree is left. It returns the
// exit code, -1 where the guard was killed.
func (s *run) execute(ctx context.Context, program, home string, plan backend.Plan, out *output) (int, error) {
	cmd := exec.Command(program, plan.Argv[1:]...)
	cmd.Args[0] = plan.Argv[0]
	cmd.Dir, cmd.Env = plan.Dir, s.environment(plan, home)
	cmd.Stdin = strings.NewReader(plan.Stdin)
	cmd.WaitDelay = time.Second // for the copying of stdin, when the CLI never read it
	handle, err := guard.Wrap(s.conf.Guard, cmd, s.req.Grace)
	if err != nil {
		return 0, err
	}
	defer handle.Abandon()
	if err := out.attach(cmd); err != nil {
		return 0, err
	}
	defer out.close()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("failed to start the guard %s: %w", s.conf.Guard[0], err)
	}
	handle.Started()
	out.start()
	s.supervise(ctx, cmd, handle, out)
	if !cmd.ProcessState.Exited() {
		// Someone killed the guard, which took the CLI itself along (see guard); the rest is known by its home.
		guard.KillByEnv("HOME=" + home)
	}
	out.finish()
	return cmd.ProcessState.ExitCode(), nil
}

// pollEvery is how often a running spawn is looked at for a stall.
const pollEvery = 100 * time.Millisecond

// supervise waits for the guard to end, and asks it to when ctx ends or nothing happens for too long.
func (s *run) supervise(ctx context.Context, cmd *exec.Cmd, handle *guard.Handle, out *output) {
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code is read from ProcessState
		close(done)
	}()
	tick := time.NewTicker(min(pollEvery, s.req.Stall/4+time.Millisecond))
	defer tick.Stop()
	var revoked time.Time // since when the token is gone
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.checkStall(out)
			s.checkRevoked(&revoked)
		case <-ctx.Done():
			handle.Kill()
			select {
			case <-done:
			case <-time.After(s.req.Grace + 2*time.Second):
				// The guard itself hangs.
				_ = cmd.Process.Kill()
				<-done
			}
			return
		}
	}
}

// revokedGrace is how long a CLI whose token was taken away may take to end its turn; some wait for an answer for ever.
const revokedGrace = 10 * time.Second

// checkRevoked stops a spawn whose token was taken away.
func (s *run) checkRevoked(since *time.Time) {
	switch {
	case !s.conf.Gateway.Activity(s.req.ID).Revoked:
	case since.IsZero():
		*since = time.Now()
	case time.Since(*since) > revokedGrace:
		s.stop(Failed, "%s", errRevoked)
	}
}

// errRevoked says what became of a spawn without a token.
const errRevoked = "MCP: the token of this spawn was taken away while it ran, so that its last evals were not answered"

// checkStall stops a spawn without output and without a running or recent eval.
func (s *run) checkStall(out *output) {
	quiet := time.Since(out.lastSeen())
	if quiet < s.req.Stall {
		return
	}
	seen := s.conf.Gateway.Activity(s.req.ID)
	if seen.Active > 0 || !seen.Last.IsZero() && time.Since(seen.Last) < s.req.Stall {
		return
	}
	s.stop(Stalled, "got no output and no eval for %v: its model server is slow or hangs, or the CLI does; give the spawn a longer stall", s.req.Stall)
}
