// Package laws holds the tests of the laws that no one package can test: what the core may name, and which way imports
// run.
package laws

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/reflection-dev/zeno/"

// root is the top of the checkout.
const root = "../.."

// coreRooms may name no role, workflow or application.
var coreRooms = []string{"core", "gateway", "lisp", "nrepl", "stdlib", "main.go"}

// Law 1: the names that the shipped homes give to roles, capabilities and namespaces occur nowhere in the core.
func TestTheCoreNamesNoApplication(t *testing.T) {
	names := applicationNames(t)
	if len(names) < 5 {
		t.Fatalf("got %d names of applications in examples and home-template, want at least 5: the search is broken", len(names))
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	word := regexp.MustCompile(`(?i)(^|[^a-z0-9-])(` + strings.Join(quoted, "|") + `)([^a-z0-9-]|$)`)
	if !word.MatchString("(zeno.gateway/start! {:roles {:" + names[0] + " f}})") {
		t.Fatal("the pattern does not find a name where there is one")
	}
	for _, room := range coreRooms {
		walk(t, room, func(path, text string) {
			for i, line := range strings.Split(text, "\n") {
				if m := word.FindStringSubmatch(line); m != nil {
					t.Errorf("%s:%d: names %q, which belongs to an application: %s", path, i+1, m[2], strings.TrimSpace(line))
				}
			}
		})
	}
}

// applicationNames collects what the homes define: roles, capabilities and namespaces.
func applicationNames(t *testing.T) []string {
	t.Helper()
	patterns := []*regexp.Regexp{
		regexp.MustCompile(`\(defcap\s+([a-z0-9]+[-!][a-z0-9!?*-]*)`),
		regexp.MustCompile(`:roles\s+\{:([a-z][a-z0-9-]+)`),
		regexp.MustCompile(`\(ns\s+([a-z]+\.[a-z.-]+)`),
	}
	seen := map[string]bool{}
	var names []string
	for _, dir := range []string{"examples", "home-template"} {
		walk(t, dir, func(_, text string) {
			for _, p := range patterns {
				for _, m := range p.FindAllStringSubmatch(text, -1) {
					if !seen[m[1]] {
						seen[m[1]] = true
						names = append(names, m[1])
					}
				}
			}
		})
	}
	return names
}

// walk gives every Go, Lisp and Markdown text under dir.
func walk(t *testing.T, dir string, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".joke", ".md":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f(path, string(b))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// may says which rooms a room may import. A room that is missing may import none of ours.
var may = map[string][]string{
	"lisp":          {"lisp"},
	"gateway":       {"lisp", "gateway"},
	"nrepl":         {"lisp", "nrepl"},
	"stdlib":        {"lisp", "stdlib"},
	"oci":           {"oci"},
	"sandbox":       {"oci", "sandbox"},
	"core":          {"lisp", "nrepl", "gateway", "stdlib", "sandbox", "oci", "core"},
	"internal":      {"lisp", "nrepl", "gateway", "stdlib", "sandbox", "oci", "core", "internal", "examples", "home-template"},
	"main.go":       {"sandbox", "core", "internal"},
	"examples":      {},
	"home-template": {},
}

// layers say the same of the small rooms inside the large ones: what stands earlier imports nothing later.
var layers = [][]string{
	{"lisp/limit", "lisp/value", "lisp/read", "lisp/compile", "lisp/corelib", "lisp"},
	{"core/home", "core/journal", "core/loop", "core/grant", "core"},
	{"core/loop", "core"},
	{"core/journal", "core/backup", "core"},
	{"core/control", "core"},
	{"core/home", "core/webhook", "core"},
	{"sandbox", "sandbox/secret", "sandbox/egress"},
	{"sandbox", "sandbox/volume", "sandbox/native"},
	{"sandbox", "sandbox/secret", "sandbox/egress", "sandbox/msb", "core"},
	{"sandbox/volume", "sandbox/msb"},
	{"sandbox/seccomp", "sandbox/native"},
	{"oci", "oci/dpkg"},
	{"oci", "oci/nix"},
	{"oci", "oci/registry"},
	{"sandbox/native/stage2", "sandbox/native"},
	{"core/spawn/guard", "core/spawn/backend", "core/spawn", "core"},
}

// Imports run one way.
func TestImportsRunOneWay(t *testing.T) {
	seen := 0
	walk(t, "", func(path, _ string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/bench/") {
			return
		}
		pkg := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+"/"))
		if filepath.Clean(pkg) == filepath.Clean(root) {
			pkg = "main.go"
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			to, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			if !ours {
				continue
			}
			seen++
			if !allowed(room(pkg), room(to)) {
				t.Errorf("%s imports %s: %s may import only %v", path, to, room(pkg), may[room(pkg)])
			}
			if upward(pkg, to) {
				t.Errorf("%s imports %s, which stands above it", path, to)
			}
		}
	})
	if seen < 50 {
		t.Fatalf("saw %d imports, want at least 50: the walk is broken", seen)
	}
	if !upward("lisp/value", "lisp/compile") || allowed("lisp", "core") {
		t.Fatal("the rules refuse nothing")
	}
}

func room(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

func allowed(from, to string) bool {
	for _, r := range may[from] {
		if r == to {
			return true
		}
	}
	return false
}

func upward(from, to string) bool {
	for _, l := range layers {
		i, j := index(l, from), index(l, to)
		if i >= 0 && j > i {
			return true
		}
	}
	return false
}

func index(xs []string, x string) int {
	for i, y := range xs {
		if y == x {
			return i
		}
	}
	return -1
}

// No test skips but by internal/need, where ZENO_CI makes a skip a failure.
func TestSkipsAreSeen(t *testing.T) {
	skip := regexp.MustCompile(`\b[a-z]+\.(Skip|Skipf|SkipNow)\(`)
	if !skip.MatchString("\tt.Skip(err)") || skip.MatchString("\tneed"+".Full(t, x)") {
		t.Fatal("the pattern does not find a skip, or finds one where there is none")
	}
	tests := 0
	for room := range may {
		if room == "main.go" {
			continue
		}
		walk(t, room, func(path, text string) {
			if !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/laws/") {
				return
			}
			tests++
			for i, line := range strings.Split(text, "\n") {
				if m := skip.FindString(line); m != "" && m != "need.Skip(" {
					t.Errorf("%s:%d: %s skips unseen; use internal/need", path, i+1, strings.TrimSpace(line))
				}
			}
		})
	}
	if tests < 100 {
		t.Fatalf("got %d test files, want at least 100: the walk is broken", tests)
	}
}

// No test asks for speed: a machine may be slow, and others run on it. What takes less than seconds of that is told by an
// order of events, by processor time, or by a bound that only the fault passes. Goroutines that are left are looked for by
// internal/noleak, which gives them time to end.
func TestTestsAskForNoSpeed(t *testing.T) {
	short := regexp.MustCompile(`(\btook|time\.Since\(.*\)) > (([0-9]|1[0-9])\*)?time\.Second\b|(\btook|time\.Since\(.*\)) > [^&|]*time\.(Milli|Micro|Nano)second\b`)
	for line, want := range map[string]bool{"took > 5*time.Second": true, "time.Since(begun) > time.Second": true, "took > 60*time.Millisecond {": true,
		"took > 20*time.Second": false, "took > time.Minute": false, "time.Since(a) > 120*time.Second": false} {
		if short.MatchString(line) != want {
			t.Fatalf("%s: got %v, want %v", line, !want, want)
		}
	}
	for room := range may {
		if room == "main.go" {
			continue
		}
		walk(t, room, func(path, text string) {
			if !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/laws/") {
				return
			}
			for i, line := range strings.Split(text, "\n") {
				if short.MatchString(line) {
					t.Errorf("%s:%d: %s: want a bound of 20 s or more, or none", path, i+1, strings.TrimSpace(line))
				}
				if strings.Contains(line, `"go.uber.org/goleak"`) {
					t.Errorf("%s:%d: want internal/noleak", path, i+1)
				}
			}
		})
	}
}
