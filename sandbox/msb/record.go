package msb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// record is what is known of a box outside of the zeno that runs it. It lies beside the lock on the box's name: while that
// is held, the box lives; where it is free, the box was left.
type record struct {
	Argv    []string  `json:"argv"`
	Volume  string    `json:"volume,omitempty"`
	Started time.Time `json:"started"`
	Owner   int       `json:"owner"`
}

func (b *Backend) recordPath(name string) string {
	return filepath.Join(b.names().Dir, name, "box.json")
}

// take locks the name and the volume and writes the record. release gives them back; the record stays where the box could
// not be removed.
func (b *Backend) take(s *sandbox.Spec, started time.Time) (release func(removed bool), err error) {
	name, err := hold(b.names(), s.Name, fmt.Sprintf("zeno %d", os.Getpid()))
	if err != nil {
		var busy *sandbox.Busy
		if errors.As(err, &busy) {
			busy.What = "name"
		}
		return nil, err
	}
	var vol *volume.Held
	if s.Volume != "" {
		holder := s.Holder
		if holder == "" {
			holder = fmt.Sprintf("box %s of zeno %d", s.Name, os.Getpid())
		}
		if vol, err = hold(b.volumes(), s.Volume, holder); err != nil {
			name.Close()
			return nil, err
		}
	}
	release = func(removed bool) {
		vol.Close()
		if removed {
			os.Remove(b.recordPath(s.Name))
		}
		name.Close()
		if removed {
			_ = b.names().Remove(s.Name) // the next to use it may have it already
		}
	}
	text, err := json.Marshal(record{Argv: s.Argv, Volume: s.Volume, Started: started, Owner: os.Getpid()})
	if err == nil {
		err = os.WriteFile(b.recordPath(s.Name), text, 0o600)
	}
	if err != nil {
		release(true)
		return nil, fmt.Errorf("failed to record a box: %w", err)
	}
	return release, nil
}

// hold takes a lock. One whose file goes away meanwhile, with the box before, is tried for again.
func hold(st *volume.Store, name, holder string) (*volume.Held, error) {
	var err error
	for range 5 {
		if _, err = st.Ensure(name); err != nil {
			continue
		}
		var held *volume.Held
		if held, err = st.Lock(name, holder); err == nil {
			return held, nil
		}
		if errors.As(err, new(*sandbox.Busy)) {
			return nil, err
		}
	}
	return nil, err
}

// kept gives the boxes that have a record: those that live, and those that were left.
func (b *Backend) kept() (live []sandbox.Body, left []string, err error) {
	entries, err := os.ReadDir(b.names().Dir)
	if errors.Is(err, fs.ErrNotExist) || b.home == "" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("failed to list boxes: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		text, err := os.ReadFile(b.recordPath(name))
		if err != nil || !sandbox.ValidName(name) {
			continue // it ended meanwhile
		}
		held, err := b.names().Lock(name, "")
		if err == nil {
			held.Close()
			left = append(left, name)
			continue
		}
		var r record
		if errors.As(err, new(*sandbox.Busy)) && json.Unmarshal(text, &r) == nil {
			live = append(live, sandbox.Body{Name: name, Backend: Name, Volume: r.Volume, Argv: r.Argv, Started: r.Started, Owner: r.Owner})
		}
	}
	sort.Slice(live, func(i, j int) bool { return live[i].Started.Before(live[j].Started) })
	return live, left, nil
}

// PS lists the live bodies of every zeno of this MSB_HOME. Pid is 0: the first process is one of the box's own kernel.
func (b *Backend) PS(context.Context) ([]sandbox.Body, error) {
	live, _, err := b.kept()
	return live, err
}

// Reap ends what zenos that are gone have left.
func (b *Backend) Reap(ctx context.Context) ([]string, error) {
	_, left, err := b.kept()
	if err != nil || len(left) == 0 {
		return nil, err
	}
	t, err := b.look()
	if err != nil {
		return nil, err
	}
	var found []string
	var errs []error
	for _, name := range left {
		ok, err := b.reap(ctx, t, name)
		errs = append(errs, err)
		if ok {
			found = append(found, name)
			b.event("reaped", name, "left by a zeno that is gone")
		}
	}
	return found, errors.Join(errs...)
}

func (b *Backend) reap(ctx context.Context, t *tool, name string) (bool, error) {
	held, err := b.names().Lock(name, "a zeno that reaps it")
	if err != nil {
		return false, nil // someone was faster
	}
	defer held.Close()
	if err := t.remove(ctx, name); err != nil {
		return false, err
	}
	os.Remove(b.recordPath(name))
	held.Close()
	_ = b.names().Remove(name)
	return true, nil
}

// stopForeign ends a body of another zeno, whose Run sees that it is gone.
func (b *Backend) stopForeign(ctx context.Context, name string) error {
	live, left, err := b.kept()
	if err != nil {
		return err
	}
	for _, o := range live {
		if o.Name == name {
			left = append(left, name)
		}
	}
	for _, n := range left {
		if n != name {
			continue
		}
		t, err := b.look()
		if err != nil {
			return err
		}
		return t.remove(ctx, name)
	}
	return &sandbox.NoBody{Name: name}
}

// elsewhere explains why there is nothing to run in.
func (b *Backend) elsewhere(ctx context.Context, name string) error {
	bodies, err := b.PS(ctx)
	if err != nil {
		return err
	}
	for _, o := range bodies {
		if o.Name == name {
			return fmt.Errorf("sandbox: body %q: belongs to zeno %d, and only the zeno that runs a body can run more in it: ask that one", name, o.Owner)
		}
	}
	return &sandbox.NoBody{Name: name}
}

// statusOf reads what `msb inspect` says of a box.
func statusOf(text string) string {
	var s struct {
		Status string `json:"status"`
	}
	if json.Unmarshal([]byte(text), &s) != nil {
		return ""
	}
	return s.Status
}
