package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
)

// dirs are the directories of one spawn. root and what is below it go with the spawn; session stays.
type dirs struct {
	root, home, work, session string
	lock                      *os.File
}

// makeDirs makes a fresh home, a working directory where the request brings none, and the session directory, filled from
// the resumed session's.
func (s *run) makeDirs(rehome string) (dirs, error) {
	root := filepath.Join(s.spawnsDir(), s.req.ID)
	d := dirs{root: root, home: filepath.Join(root, "home"), work: s.req.Work,
		session: filepath.Join(s.sessionsDir(), s.req.ID)}
	if d.work == "" {
		d.work = filepath.Join(root, "work")
	} else if info, err := os.Stat(d.work); err != nil || !info.IsDir() {
		return dirs{}, &requestError{fmt.Errorf("work: got %q, want an existing directory", d.work)}
	}
	if s.req.Continue {
		return s.reopenDirs(d)
	}
	s.pruneSessions()
	if err := os.Mkdir(root, 0o700); err != nil {
		return dirs{}, taken(s.req.ID, err)
	}
	lock, err := lockDir(root)
	if err == nil {
		d.lock = lock
		err = s.fillDirs(d, rehome)
	}
	if err != nil {
		d.remove(s.conf.Log)
		return dirs{}, err
	}
	return d, nil
}

func (s *run) fillDirs(d dirs, rehome string) error {
	if err := os.Mkdir(d.session, 0o700); err != nil {
		return taken(s.req.ID, err)
	}
	for _, dir := range []string{d.home, d.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("failed to make the spawn's directories: %w", err)
		}
	}
	if s.req.Resume == "" {
		return nil
	}
	from, err := s.findSession(s.req.Resume)
	if err != nil {
		return &requestError{err}
	}
	c := sessionCopy{from: from, to: d.session, rest: s.conf.MaxSession, rehome: rehome,
		oldRoot: filepath.Join(s.spawnsDir(), filepath.Base(from)) + "/", newRoot: d.root + "/"}
	return c.run()
}

func taken(id string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &requestError{fmt.Errorf("id: got %q, which an earlier spawn had; want a fresh one", id)}
	}
	return fmt.Errorf("failed to make the spawn's directories: %w", err)
}

// lockDir marks a spawn's directory as in use; the mark goes with the process.
func lockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("failed to open the spawn's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("failed to take the spawn's lock: %w", err)
	}
	return file, nil
}

// remove deletes what belongs to the spawn alone, and its session directory where the CLI left nothing in it.
func (d dirs) remove(log *slog.Logger) {
	if err := removeTree(d.root); err != nil {
		log.Warn("failed to remove a spawn's directory", "dir", d.root, "error", err)
	}
	_ = os.Remove(d.session) // fails, as it should, where there is a session
	if d.lock != nil {
		_ = d.lock.Close()
	}
}

// sweep removes the directories of spawns whose zeno was killed, and ends what may have outlived their guard.
func (r *Runner) sweep() {
	entries, err := os.ReadDir(r.spawnsDir())
	if err != nil {
		r.conf.Log.Warn("failed to look for left-over spawns", "error", err)
		return
	}
	for _, entry := range entries {
		root := filepath.Join(r.spawnsDir(), entry.Name())
		lock, err := lockDir(root)
		if err != nil {
			continue // another zeno runs it
		}
		if n := guard.KillByEnv("HOME=" + filepath.Join(root, "home")); n > 0 {
			r.conf.Log.Warn("ended left-over agent processes", "spawn", entry.Name(), "processes", n)
		}
		if r.conf.keep(entry.Name()) {
			_ = lock.Close()
			continue
		}
		dirs{root: root, lock: lock, session: filepath.Join(r.sessionsDir(), entry.Name())}.remove(r.conf.Log)
	}
}

// indexFile is where the spawn that holds a session is written down. The id comes from the CLI: it is checked before it
// becomes a file name.
func (s *run) indexFile(session string) (string, bool) {
	plain := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	return filepath.Join(s.indexDir(), s.req.Backend+"-"+session), plain.MatchString(session)
}

// rememberSession writes down, as soon as the stream names it, where a session's files are: a zeno that is killed in the
// middle of the spawn can resume it.
func (s *run) rememberSession(session string) {
	file, ok := s.indexFile(session)
	if !ok {
		s.conf.Log.Warn("session id of an odd form: not resumable", "spawn", s.req.ID)
		return
	}
	err := writeWhole(file, "."+s.req.ID+".part", s.req.ID)
	if err == nil {
		err = writeWhole(filepath.Join(s.spawnsDir(), s.req.ID, sessionFile), ".part", session)
	}
	if err != nil {
		s.conf.Log.Warn("failed to write down the session", "spawn", s.req.ID, "error", err)
	}
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(file, suffix, text string) error {
	part := file + suffix
	if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// usageFile is where a session's total stands, for a CLI that tells no other.
func (s *run) usageFile(session string) (string, bool) {
	file, ok := s.indexFile(session)
	return file + ".usage", ok
}

// rememberUsage writes the total of a session down, so that the next run of it is charged for itself alone.
func (s *run) rememberUsage(session string, u backend.Usage) {
	file, ok := s.usageFile(session)
	data, err := json.Marshal(u)
	if ok && err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		s.conf.Log.Warn("failed to write down the session's usage: its next run will be charged for this one too", "spawn", s.req.ID, "error", err)
	}
}

// usedBefore is the total of a session's earlier runs, or nothing where it is not known: a budget is then charged too much,
// never too little.
func (s *run) usedBefore(session string) (u backend.Usage) {
	file, ok := s.usageFile(session)
	if !ok {
		return u
	}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &u) != nil {
		return backend.Usage{}
	}
	return u
}

// findSession returns the directory that holds a session's files.
func (s *run) findSession(session string) (string, error) {
	file, ok := s.indexFile(session)
	if !ok {
		return "", fmt.Errorf("resume: got %q, want a session id of an earlier result", session)
	}
	id, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("resume: got %q, want the session of an earlier %s spawn", session, s.req.Backend)
	}
	dir := filepath.Join(s.sessionsDir(), filepath.Base(string(id)))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if b, ok := s.req.entry(s.conf); ok && !b.Uses("session-dir") {
			return "", fmt.Errorf("resume: session %q left no files: a home goes with its spawn, and what the backend %s is to resume it has to keep "+
				"in ${session-dir}, such as by :links {\".sessions\" \"${session-dir}\"}", session, b.Name)
		}
		return "", fmt.Errorf("resume: the files of session %q are gone; only the latest %d are kept", session, s.conf.MaxSessions)
	}
	return dir, nil
}

// pruneSessions keeps the newest session directories, never touching those of running spawns.
func (s *run) pruneSessions() {
	for _, dir := range []string{s.sessionsDir(), s.indexDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) < s.conf.MaxSessions {
			continue
		}
		s.pruneOldest(dir, entries)
	}
}

func (s *run) pruneOldest(dir string, entries []fs.DirEntry) {
	type aged struct {
		name string
		time int64
	}
	var list []aged
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !strings.HasPrefix(entry.Name(), ".") {
			list = append(list, aged{entry.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(list, func(a, b aged) int { return int(min(max(a.time-b.time, -1), 1)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range list[:max(0, len(list)-s.conf.MaxSessions+1)] {
		if s.active[old.name] || s.conf.keep(old.name) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, old.name)); err != nil {
			s.conf.Log.Warn("failed to remove an old session", "error", err)
		}
	}
}
