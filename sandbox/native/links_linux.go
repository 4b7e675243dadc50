package native

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reflection-dev/zeno/sandbox"
)

// A directory that a box writes to may hold links that it made. Who then gives another box a path in there, such as a part
// of what the first one worked on, would show it what the link says: /etc, to be written to. So directories that were given
// are remembered, and no link in one leads out of it. What is shown is then opened by its real path, with no link followed,
// so that it is what was looked at.

// givenName is the file that remembers them: a quoted path a line. Those that are gone are left out when it is read.
const givenName = "given"

// givenDirs are those and the volumes.
func (b *Backend) givenDirs() ([]string, error) {
	b.given.mu.Lock()
	defer b.given.mu.Unlock()
	dirs, err := readGiven(filepath.Join(b.cfg.StateDir, givenName))
	if err != nil {
		return nil, err
	}
	b.given.dirs = dirs
	if volumes, err := filepath.EvalSymlinks(b.cfg.Volumes.Dir); err == nil {
		dirs = append(slices.Clone(dirs), volumes)
	}
	return dirs, nil
}

func readGiven(file string) (dirs []string, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read which directories boxes wrote to: %w", err)
	}
	defer f.Close()
	lines, seen := bufio.NewScanner(f), map[string]bool{}
	for lines.Scan() {
		dir, err := strconv.Unquote(lines.Text())
		if err != nil || seen[dir] { // cut off, or there already
			continue
		}
		seen[dir] = true
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("failed to read which directories boxes wrote to: %w", err)
	}
	return dirs, nil
}

// give remembers dirs, before a box has them. What is below the state directory is zeno's own, and no one names it.
func (b *Backend) give(dirs []string) error {
	b.given.mu.Lock()
	defer b.given.mu.Unlock()
	state, err := filepath.EvalSymlinks(b.cfg.StateDir)
	if err != nil {
		state = b.cfg.StateDir
	}
	var text strings.Builder
	for _, dir := range dirs {
		if !within(dir, state) && !slices.Contains(b.given.dirs, dir) {
			text.WriteString("\n" + strconv.Quote(dir) + "\n")
			b.given.dirs = append(b.given.dirs, dir)
		}
	}
	if text.Len() == 0 {
		return nil
	}
	if err := b.keepGiven(text.String()); err != nil {
		return fmt.Errorf("failed to remember a directory that a box writes to: %w", err)
	}
	return nil
}

// mostGiven is how long the file may become before those that are gone are taken out of it.
const mostGiven = 1 << 20

func (b *Backend) keepGiven(text string) error {
	lock, err := lockDir(b.recordDir())
	if err != nil {
		return err
	}
	defer lock.Close()
	file := filepath.Join(b.cfg.StateDir, givenName)
	if st, err := os.Stat(file); err == nil && st.Size() > mostGiven {
		dirs, err := readGiven(file)
		if err != nil {
			return err
		}
		var all strings.Builder
		for _, d := range dirs {
			all.WriteString(strconv.Quote(d) + "\n")
		}
		if err := errors.Join(os.WriteFile(file+".new", []byte(all.String()), 0o600), os.Rename(file+".new", file)); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// real gives the paths that are shown and written to without links.
func (b *Backend) real(s *sandbox.Spec) (read, write []string, err error) {
	if len(s.Read)+len(s.Write) == 0 {
		return nil, nil, nil
	}
	dirs, err := b.givenDirs()
	if err != nil {
		return nil, nil, err
	}
	for _, l := range []struct {
		field string
		paths []string
		out   *[]string
	}{{":read", s.Read, &read}, {":work", s.Write, &write}} {
		for i, p := range l.paths {
			real, why := follow(p, dirs)
			if why != "" {
				return nil, nil, &sandbox.FieldError{Field: fmt.Sprintf("%s %d", l.field, i), Text: fmt.Sprintf("got %q, %s", p, why)}
			}
			*l.out = append(*l.out, real)
		}
	}
	return read, write, nil
}

// follow goes to path as the system does. why says what is wrong: it is not there, or a link in one of dirs leads out of it.
func follow(path string, dirs []string) (real, why string) {
	type step struct{ link, dir string }
	var made []step
	at, names, hops := "/", strings.Split(path, "/"), 0
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		st, err := os.Lstat(next)
		if err != nil {
			return "", fmt.Sprintf("want a file or directory that is there: %v", err)
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if hops++; err != nil || hops > 40 {
			return "", "want a file or directory that is there: it leads to no end of links"
		}
		for _, d := range dirs {
			if within(at, d) {
				made = append(made, step{next, d})
			}
		}
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		names = append(strings.Split(target, "/"), names...)
	}
	for _, m := range made {
		if !within(at, m.dir) {
			return "", fmt.Sprintf("where %s is a link to %s, in a directory that a box wrote to: if that is meant, name %s itself", m.link, at, at)
		}
	}
	return at, ""
}
