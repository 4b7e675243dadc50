package spawn

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemDirs are what a view of the host shows anyway.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func inSystem(path string) bool {
	return slices.ContainsFunc(systemDirs, func(dir string) bool { return within(path, dir) })
}

// maxLinks bounds the links followed from one program.
const maxLinks = 40

// show finds the directories that a box has to be shown, read-only, for programs that are not the system's, and the PATH
// there. Of an npm package that is the node_modules it lies in, of another program its directory.
func (s *run) show(programs []string) (dirs []string, path string, err error) {
	seen := map[string]bool{}
	for len(programs) > 0 {
		file := programs[0]
		programs = programs[1:]
		for range maxLinks {
			if seen[file] {
				break
			}
			seen[file] = true
			if !inSystem(file) {
				dirs = append(dirs, homeOf(file))
			}
			target, err := os.Readlink(file)
			if err != nil {
				break
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(file), target)
			}
			file = target
		}
		next, err := s.interpreter(file)
		if err != nil {
			return nil, "", err
		}
		if next != "" {
			programs = append(programs, next)
		}
	}
	dirs = outermost(dirs)
	for _, dir := range dirs {
		if err := s.fitToShow(dir); err != nil {
			return nil, "", err
		}
	}
	return dirs, s.visible(dirs), nil
}

// shown is where a box on an image has the host's program of that name, where the profile's Read shows all of it; else the
// name, which is looked for in the image.
func (s *run) shown(name string) string {
	found, err := lookPath(s.conf.Path, name)
	if err != nil {
		return name
	}
	file, err := filepath.EvalSymlinks(found)
	if err != nil {
		return name
	}
	for _, dir := range s.req.Box.Read {
		if dir = filepath.Clean(dir); within(found, dir) && within(file, dir) {
			return found
		}
	}
	return name
}

// homeOf is what a program is shown with.
func homeOf(file string) string {
	const modules = "/node_modules/"
	if i := strings.Index(file, modules); i >= 0 {
		return file[:i+len(modules)-1]
	}
	return filepath.Dir(file)
}

// interpreter is the program that runs a script; empty where file is none.
func (s *run) interpreter(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("sandbox: program %s: %w", file, err)
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if !strings.HasPrefix(string(line), "#!") {
		return "", nil
	}
	words := strings.Fields(string(line[2:]))
	if len(words) == 0 {
		return "", nil
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], nil
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			found, err := lookPath(s.conf.Path, w)
			if err != nil {
				return "", fmt.Errorf("%w; %s needs it", err, file)
			}
			return found, nil
		}
	}
	return "", nil
}

// outermost drops what lies in another.
func outermost(dirs []string) []string {
	slices.Sort(dirs)
	var out []string
	for _, dir := range slices.Compact(dirs) {
		if !slices.ContainsFunc(out, func(o string) bool { return within(dir, o) }) {
			out = append(out, dir)
		}
	}
	return out
}

// fitToShow refuses a directory that holds more than programs.
func (s *run) fitToShow(dir string) error {
	private := []string{s.conf.StateDir}
	if home, err := os.UserHomeDir(); err == nil {
		private = append(private, home)
	}
	for _, p := range private {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		shown, err := filepath.EvalSymlinks(dir)
		if err == nil && (within(real, shown) || shown == "/") {
			return fmt.Errorf("sandbox: the agent's program lies in %s, and a box that shows it shows %s too; install it in a directory of its own, such as with npm install --prefix", dir, p)
		}
	}
	return nil
}

// visible is the part of PATH that the box has.
func (s *run) visible(dirs []string) string {
	var out []string
	for _, entry := range filepath.SplitList(s.conf.Path) {
		if filepath.IsAbs(entry) && (inSystem(entry) || slices.ContainsFunc(dirs, func(d string) bool { return within(filepath.Clean(entry), d) })) {
			out = append(out, entry)
		}
	}
	return strings.Join(out, string(os.PathListSeparator))
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
