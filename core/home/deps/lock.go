package deps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/lisp/value"
)

// lock is deps.lock.edn: what the libraries from Git were when they were first taken.
type lock struct {
	libs map[string]locked
	text string // of the file; "": there is none
}

type locked struct{ url, tag, sha, hash string }

// matches tells whether a coordinate asks for just what was locked. One that does not asks for another version.
func (l locked) matches(c Coord) bool {
	return sameURL(l.url, c.URL) && l.tag == c.Tag && strings.HasPrefix(l.sha, c.SHA)
}

var (
	fullSHA  = regexpOnce(`^[0-9a-f]{40}$`)
	treeHash = regexpOnce(`^sha256-[0-9a-f]{64}$`)
)

func readLock(ctx context.Context, conf Config) (lock, error) {
	file := filepath.Join(conf.Dir, LockFile)
	l := lock{libs: map[string]locked{}}
	text, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.text = text
	err = readEDN(ctx, conf.Do, file, func(t *value.Thread, v value.Value) error {
		libs, _ := value.Get(t, v, value.Kw("libs"))
		if version, _ := value.Get(t, v, value.Kw("version")); !version.IsInt() || version.Int() != 1 || !libs.Kind().IsMap() {
			return fmt.Errorf("got %s, want {:version 1 :libs {…}}; a newer zeno may have written it", value.Brief(t, v))
		}
		var err error
		value.EachKV(t, libs, func(k, v value.Value) bool {
			var name string
			var e locked
			if name, e, err = decodeLocked(t, k, v); err == nil {
				l.libs[name] = e
			}
			return err == nil
		})
		return err
	})
	if err != nil {
		return l, fmt.Errorf("%w; mend it, or remove it to take anew what the repositories have now", err)
	}
	return l, nil
}

func decodeLocked(t *value.Thread, k, v value.Value) (string, locked, error) {
	var e locked
	if k.Kind() != value.KindSymbol || !v.Kind().IsMap() {
		return "", e, fmt.Errorf(":libs: got %s, want a symbol and a map", value.Brief(t, k))
	}
	name := value.As[value.Symbol](k).FullName()
	for key, to := range map[string]*string{"git/url": &e.url, "git/tag": &e.tag, "git/sha": &e.sha, "hash": &e.hash} {
		if x, ok := value.Get(t, v, value.Kw(key)); ok && x.Kind() == value.KindString {
			*to = x.Text()
		}
	}
	if e.url == "" || !fullSHA().MatchString(e.sha) || !treeHash().MatchString(e.hash) {
		return "", e, fmt.Errorf(":libs %s: got %s, want :git/url, :git/sha of 40 digits and :hash \"sha256-…\"", name, value.Brief(t, v))
	}
	return name, e, nil
}

// writeLock keeps what was found, if that is news. Libraries that nobody asks for any more leave the file.
func (r *resolver) writeLock(ctx context.Context, libs []Lib) error {
	text := lockText(libs)
	if text == r.locked.text || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	file := filepath.Join(r.conf.Dir, LockFile)
	if text == "" {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("failed to remove %s, which nothing needs any more: %w", file, err)
		}
		return nil
	}
	if err := replaceFile(file, text); err != nil {
		return fmt.Errorf("failed to write %s, which keeps the versions: %w", file, err)
	}
	return nil
}

func lockText(libs []Lib) string {
	var lines []string
	for _, l := range libs {
		if l.SHA == "" {
			continue
		}
		line := fmt.Sprintf("%s {:git/url %s", l.Name, edn(redact(l.Coord.URL)))
		if l.Coord.Tag != "" {
			line += " :git/tag " + edn(l.Coord.Tag)
		}
		lines = append(lines, line+fmt.Sprintf(" :git/sha %s :hash %s}", edn(l.SHA), edn(l.Hash)))
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	return ";; Written by zeno: the version and the content of each library. Keep it in version control; remove an entry to take the\n" +
		";; library anew.\n{:version 1\n :libs {" + strings.Join(lines, "\n        ") + "}}\n"
}

// edn is a string as EDN has it; what is written here holds no control characters.
func edn(s string) string { return strconv.Quote(s) }

// replaceFile puts a file in place as a whole.
func replaceFile(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails when it has been renamed
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// lookAgain is how often a lock that another process holds is tried.
const lookAgain = 50 * time.Millisecond

// lockCache makes this the one process that changes the cache, until unlock.
func (r *resolver) lockCache(ctx context.Context) error {
	if r.release != nil {
		return nil
	}
	if err := os.MkdirAll(r.conf.Cache, 0o700); err != nil {
		return fmt.Errorf("failed to make the cache: %w", err)
	}
	file := filepath.Join(r.conf.Cache, ".lock")
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("failed to open the cache's lock: %w", err)
	}
	for said := false; ; said = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return errors.Join(fmt.Errorf("failed to lock %s: %w", file, err), f.Close())
		}
		if !said {
			r.say("another zeno fetches libraries of this home; waiting for it")
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("failed to lock %s: %w", file, context.Cause(ctx)), f.Close())
		case <-time.After(lookAgain):
		}
	}
	r.release = func() { _ = f.Close() }
	return r.sweep()
}

// sweep removes what an interrupted fetch left behind. The cache's lock is held.
func (r *resolver) sweep() error {
	old, err := filepath.Glob(filepath.Join(r.conf.Cache, tempPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("failed to remove what an interrupted fetch left: %w", err)
		}
	}
	return nil
}

func (r *resolver) unlock() {
	if r.release != nil {
		r.release()
	}
}

func (r *resolver) say(format string, args ...any) {
	fmt.Fprintf(r.conf.Progress, "zeno: deps: "+format+"\n", args...)
}
