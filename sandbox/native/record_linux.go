package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
)

// record is what the next zeno needs in order to end a box that this one left. It is written before anything is made, and
// added to once there is a process. A process is known by its number and its start: numbers come back.
type record struct {
	ID         string    `json:"id,omitempty"`
	Name       string    `json:"name,omitempty"`
	Argv       []string  `json:"argv,omitempty"`
	Volume     string    `json:"volume,omitempty"`
	Cgroups    []string  `json:"cgroups,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Owner      int       `json:"owner,omitempty"`
	OwnerStart uint64    `json:"owner-start,omitempty"`
	Pid        int       `json:"pid,omitempty"`
	PidStart   uint64    `json:"pid-start,omitempty"`
	Stopped    bool      `json:"stopped,omitempty"` // by another process, which says so before it kills
}

func (b *Backend) recordDir() string { return filepath.Join(b.cfg.StateDir, "boxes") }

func (b *Backend) recordPath(id string) string { return filepath.Join(b.recordDir(), id+".json") }

// create writes the record of a box that is about to be made. It is one line; what is known later are
// lines that a seat adds, so that each is one write. It has its name when it is whole, and until then one that says whose
// it is: whoever finds it knows whether it is still being written.
func (b *Backend) create(r *record) (*os.File, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND
	begun := filepath.Join(b.recordDir(), fmt.Sprintf("new-%d-%d-%s", r.Owner, r.OwnerStart, r.ID))
	f, err := os.OpenFile(begun, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(b.recordDir(), 0o700); err != nil {
			return nil, fmt.Errorf("failed to make the directory of records: %w", err)
		}
		f, err = os.OpenFile(begun, flags, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to record a box: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = os.Rename(begun, b.recordPath(r.ID))
	}
	if err != nil {
		f.Close()
		os.Remove(begun)
		return nil, fmt.Errorf("failed to record a box: %w", err)
	}
	return f, nil
}

// sweep removes records that a zeno which is gone had begun to write: nothing was made yet.
func (b *Backend) sweep() error {
	begun, _ := filepath.Glob(filepath.Join(b.recordDir(), "new-*-*-*"))
	var errs []error
	for _, f := range begun {
		var owner int
		var start uint64
		if n, _ := fmt.Sscanf(filepath.Base(f), "new-%d-%d-", &owner, &start); n == 2 && !alive(owner, start) {
			if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// readRecord reads all lines. What is no record, of a machine that lost its power, has no owner.
func (b *Backend) readRecord(id string) (r record, err error) {
	text, err := os.ReadFile(b.recordPath(id))
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&r); err != nil || r.ID != id {
		return record{ID: id}, nil
	}
	for d.Decode(&r) == nil { // what the later lines add
	}
	return r, nil
}

func (b *Backend) records() ([]record, error) {
	entries, err := os.ReadDir(b.recordDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list boxes: %w", err)
	}
	var out []record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		r, err := b.readRecord(strings.TrimSuffix(e.Name(), ".json"))
		if err != nil {
			continue // it ended meanwhile
		}
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Started.Before(out[j].Started) })
	return out, nil
}

// PS lists the live bodies of every zeno on this state directory.
func (b *Backend) PS(context.Context) ([]sandbox.Body, error) {
	rs, err := b.records()
	var out []sandbox.Body
	for _, r := range rs {
		if r.Name != "" && r.Pid != 0 && alive(r.Pid, r.PidStart) {
			out = append(out, sandbox.Body{Name: r.Name, Backend: "native", Pid: r.Pid, Volume: r.Volume, Argv: r.Argv,
				Started: r.Started, Owner: r.Owner})
		}
	}
	return out, err
}

func (b *Backend) stopForeign(ctx context.Context, name string) error {
	rs, err := b.records()
	if err != nil {
		return err
	}
	for _, r := range rs {
		if r.Name == name && r.Pid != 0 && alive(r.Pid, r.PidStart) {
			b.noteStopped(r.ID)
			return killPid(ctx, r.Pid, r.PidStart)
		}
	}
	return &sandbox.NoBody{Name: name}
}

// noteStopped tells the owner of a box why it ends. A record that is gone, or takes no line, keeps nobody from stopping it.
func (b *Backend) noteStopped(id string) {
	f, err := os.OpenFile(b.recordPath(id), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString(`{"stopped":true}` + "\n")
	_ = f.Close()
}

// nameWait bounds the wait for another zeno that takes a name just now.
const nameWait = 5 * time.Second

// register records whose box it is. A name that was asked for is that of no other body, of any zeno on this state
// directory: who stops one by its name stops the one that was meant.
func (b *Backend) register(s *seat, y *body, named bool) error {
	r := record{Name: y.spec.Name, Argv: y.spec.Argv, Volume: y.spec.Volume, Started: y.started}
	if !named {
		return s.note(r)
	}
	dir, err := lockDir(b.recordDir())
	if err != nil {
		return fmt.Errorf("failed to take the name %s: %w", r.Name, err)
	}
	defer dir.Close()
	rs, err := b.records()
	if err != nil {
		return err
	}
	for _, o := range rs {
		if o.Name == r.Name && o.ID != s.id && (alive(o.Owner, o.OwnerStart) || alive(o.Pid, o.PidStart)) {
			return &sandbox.Busy{What: "name", Name: r.Name, Holder: fmt.Sprintf("a body of zeno %d that started at %s", o.Owner, o.Started.Format(time.TimeOnly))}
		}
	}
	return s.note(r)
}

// lockDir locks a directory until it is closed.
func lockDir(name string) (*os.File, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for begin := time.Now(); err == unix.EWOULDBLOCK && time.Since(begin) < nameWait; {
		time.Sleep(time.Millisecond)
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// Reap ends what zenos that are gone have left: their boxes' processes, cgroups and records.
func (b *Backend) Reap(ctx context.Context) ([]string, error) {
	rs, err := b.records()
	if err != nil {
		return nil, err
	}
	var found []string
	errs := []error{b.sweep()}
	for _, r := range rs {
		if alive(r.Owner, r.OwnerStart) {
			continue
		}
		if err := b.reap(ctx, &r); err != nil {
			errs = append(errs, fmt.Errorf("failed to reap box %s: %w", r.Name, err))
			continue
		}
		if r.Name != "" {
			found = append(found, r.Name)
		}
		b.event("reaped", r.Name, "left by zeno %d", r.Owner)
	}
	b.host.look()
	if n := b.host.cgroups.sweep(); n > 0 {
		b.event("reaped", "", "%d empty cgroups of zenos that are gone", n)
	}
	return found, errors.Join(errs...)
}

func (b *Backend) reap(ctx context.Context, r *record) error {
	if r.Pid != 0 && alive(r.Pid, r.PidStart) {
		if err := killPid(ctx, r.Pid, r.PidStart); err != nil {
			return err
		}
	}
	for _, d := range r.Cgroups {
		if !strings.HasPrefix(filepath.Base(d), "zeno-") {
			return fmt.Errorf("record: got cgroup %q, want a name that begins with zeno-", d)
		}
	}
	if err := b.reapGuest(r); err != nil {
		return err
	}
	if err := removeGroups(r.Cgroups); err != nil {
		return err
	}
	return os.Remove(b.recordPath(r.ID))
}

// removeGroups kills what is in the groups and removes them. A group whose last process has just ended is busy for a moment.
func removeGroups(dirs []string) error {
	var errs []error
	for _, d := range dirs {
		err := unix.Rmdir(d)
		for wait := 100 * time.Microsecond; err == unix.EBUSY && wait < 2*time.Second; wait *= 2 {
			killGroup(d)
			time.Sleep(wait)
			err = unix.Rmdir(d)
		}
		if err != nil && err != unix.ENOENT {
			errs = append(errs, fmt.Errorf("failed to remove cgroup %s: %w", d, err))
		}
	}
	return errors.Join(errs...)
}

func killGroup(dir string) {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for _, line := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 && pid != os.Getpid() {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// startOf is the time at which a process started, in ticks since boot; 0 where there is none, or only its corpse.
func startOf(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return 0
	}
	start, _ := strconv.ParseUint(f[19], 10, 64)
	return start
}

func alive(pid int, start uint64) bool { return start != 0 && startOf(pid) == start }

// killPid kills the process that started then, and waits for its end. The descriptor is taken first and the start is
// looked at after: another process that gets the number is not hit.
func killPid(ctx context.Context, pid int, start uint64) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !alive(pid, start) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("failed to kill process %d: %w", pid, err)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
		if n > 0 || (err != nil && err != unix.EINTR) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
