package spawn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A spawn that asks a person (Activity.Asked) is ended once the CLI has the result of the evaluation that asked: killed
// before, it would leave a tool call without a result in its session. Its home and its session stay for as long as
// Config.Keep says so, and a Request with Continue goes on in them.

// DefaultAskWait is how long a spawn that asked may take to show the result of that evaluation.
const DefaultAskWait = 10 * time.Second

// heard are the marks of questions that the CLI's stream has shown.
type heard struct {
	mu    sync.Mutex
	marks map[string]bool
}

// maxHeard bounds the marks kept of one stream; there is one question in a run.
const maxHeard = 1000

var markStart = []byte("[zeno Q-")

// scan looks for marks in a line of the stream.
func (h *heard) scan(line []byte) {
	for {
		at := bytes.Index(line, markStart)
		if at < 0 {
			return
		}
		line = line[at+len("[zeno "):]
		end := bytes.IndexByte(line, ']')
		if end < 0 {
			return
		}
		h.mu.Lock()
		if h.marks == nil {
			h.marks = map[string]bool{}
		}
		if end < 32 && len(h.marks) < maxHeard {
			h.marks[string(line[:end])] = true
		}
		h.mu.Unlock()
	}
}

func (h *heard) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.marks[id]
}

// watchAsk ends the run after it asked a person. A CLI ends when its stream shows the result, a scripted agent when it
// returns by itself; both when Config.AskWait is over.
func (s *run) watchAsk(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pollEvery / 2)
		defer tick.Stop()
		var since time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			id := s.conf.Gateway.Activity(s.req.ID).Asked
			switch {
			case id == "":
				continue
			case since.IsZero():
				since = time.Now()
			}
			if s.heard.has(id) || time.Since(since) > s.conf.AskWait {
				s.stop(Interrupted, "%s", waits(id))
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func waits(id string) string {
	return fmt.Sprintf("question %s waits for a person: `zeno answer %s TEXT`, or (zeno.ask/answer! %q text); the agent goes on then", id, id, id)
}

// afterAsk makes the Result of a run that asked what it is: interrupted, however the agent took it. One that was cancelled
// or stopped for a reason of its own asks nothing any more.
func (s *run) afterAsk(res Result) Result {
	id := s.conf.Gateway.Activity(s.req.ID).Asked
	if id == "" || res.Status == Cancelled || res.Status == OverBudget || res.Status == Refused {
		return res
	}
	res.Status, res.Ask, res.Error, res.Answer = Interrupted, id, waits(id), ""
	return res
}

// keep tells whether the spawn's directories stay after the run.
func (c Config) keep(spawn string) bool { return c.Keep != nil && c.Keep(spawn) }

// release lets go of the spawn's directories: for good, or until it goes on.
func (s *run) release(d dirs) {
	if s.conf.keep(s.req.ID) {
		_ = d.lock.Close()
		return
	}
	d.remove(s.conf.Log)
}

// sessionFile names, in a spawn's directory, the session that its CLI reported.
const sessionFile = "session"

// reopenDirs takes up the directories of a spawn that was interrupted, and the session in them.
func (s *run) reopenDirs(d dirs) (dirs, error) {
	lock, err := lockDir(d.root)
	if errors.Is(err, fs.ErrNotExist) {
		return dirs{}, &requestError{fmt.Errorf("id: got %q to go on with, want a spawn whose directory is still there", s.req.ID)}
	}
	if err != nil {
		return dirs{}, err
	}
	d.lock = lock
	session, err := os.ReadFile(filepath.Join(d.root, sessionFile))
	if err == nil {
		s.req.Resume = strings.TrimSpace(string(session))
		_, err = os.Stat(d.session)
	}
	if err != nil || s.req.Resume == "" {
		_ = lock.Close()
		return dirs{}, &requestError{fmt.Errorf("id: got %q to go on with, whose session is gone; start a new spawn", s.req.ID)}
	}
	for _, dir := range []string{d.home, d.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			_ = lock.Close()
			return dirs{}, fmt.Errorf("failed to make the spawn's directories: %w", err)
		}
	}
	return d, nil
}

// Drop removes what was kept of an interrupted spawn, but for its session. One that runs is left alone.
func (r *Runner) Drop(id string) {
	if !plainID(id) {
		return
	}
	r.mu.Lock()
	active := r.active[id]
	r.mu.Unlock()
	root := filepath.Join(r.spawnsDir(), id)
	if _, err := os.Stat(root); active || err != nil {
		return
	}
	if lock, err := lockDir(root); err == nil {
		dirs{root: root, lock: lock, session: filepath.Join(r.sessionsDir(), id)}.remove(r.conf.Log)
	}
}

func plainID(id string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(id)
}

// InSession tells whether the session files of a spawn hold text. It fails where there are none, or they cannot be read to
// their end: then nobody knows.
func (r *Runner) InSession(id, text string) (found bool, err error) {
	if !plainID(id) {
		return false, fmt.Errorf("id: got %q, want that of a spawn", id)
	}
	dir, files, rest := filepath.Join(r.sessionsDir(), id), 0, r.conf.MaxSession
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		files++
		n, has, err := contains(f, text, rest)
		if rest -= n; err == nil && rest <= 0 && !has {
			err = fmt.Errorf("its files exceed %d bytes", r.conf.MaxSession)
		}
		if has {
			found = true
			return fs.SkipAll
		}
		return err
	})
	if err == nil && files == 0 {
		err = errors.New("it holds no files")
	}
	if err != nil {
		return false, fmt.Errorf("session of spawn %s: %w", id, err)
	}
	return found, nil
}

// contains looks for text in at most limit bytes of r.
func contains(r io.Reader, text string, limit int64) (read int64, found bool, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, limit), 64<<10)
	for {
		// A window that overlaps the next one by what text may stretch over.
		window, err := in.Peek(64 << 10)
		if bytes.Contains(window, []byte(text)) {
			return read, true, nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return read + int64(len(window)), false, err
		}
		n, _ := in.Discard(len(window) - len(text) + 1)
		read += int64(n)
	}
}
