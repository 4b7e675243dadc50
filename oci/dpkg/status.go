package dpkg

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// stanza is an installed package.
type stanza struct {
	name, arch, version string
	essential           bool
	depends             [][]string        // each a choice of names
	provides            []string          //
	conffiles           map[string]string // path to the digest it was shipped with
	text                []byte
	size                int64 // KiB, as the package says
}

func (s *stanza) label() string { return s.name + "_" + s.version + "_" + s.arch }

// database is what is installed.
type database struct {
	dir      string // var/lib/dpkg
	arch     string // the host's own
	packages map[string][]*stanza
	provided map[string][]*stanza
}

func readDatabase(dir string) (*database, error) {
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, fmt.Errorf("packages of the host: got no %s: this is no Debian, or dpkg was not used: %w", filepath.Join(dir, "status"), err)
	}
	d := &database{dir: dir, packages: map[string][]*stanza{}, provided: map[string][]*stanza{}}
	for _, block := range bytes.Split(text, []byte("\n\n")) {
		s := parseStanza(block)
		if s == nil {
			continue
		}
		d.packages[s.name] = append(d.packages[s.name], s)
		for _, p := range s.provides {
			d.provided[p] = append(d.provided[p], s)
		}
	}
	own := d.packages["dpkg"]
	if len(own) == 0 {
		return nil, fmt.Errorf("packages of the host: got a %s without dpkg itself", filepath.Join(dir, "status"))
	}
	d.arch = own[0].arch
	return d, nil
}

// parseStanza gives nil for what is not, or not wholly, installed.
func parseStanza(block []byte) *stanza {
	s := &stanza{text: block, conffiles: map[string]string{}}
	installed := false
	field := ""
	lines := bufio.NewScanner(bytes.NewReader(block))
	lines.Buffer(nil, len(block)+1)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, " ") {
			if field == "Conffiles" {
				if f := strings.Fields(line); len(f) == 2 {
					s.conffiles[f[0]] = f[1]
				}
			}
			continue
		}
		var v string
		field, v, _ = strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		switch field {
		case "Package":
			s.name = v
		case "Status":
			installed = strings.HasSuffix(v, " ok installed")
		case "Essential":
			s.essential = v == "yes"
		case "Architecture":
			s.arch = v
		case "Version":
			s.version = v
		case "Installed-Size":
			fmt.Sscan(v, &s.size)
		case "Depends", "Pre-Depends":
			s.depends = append(s.depends, choices(v)...)
		case "Provides":
			for _, c := range choices(v) {
				s.provides = append(s.provides, c...)
			}
		}
	}
	if !installed || s.name == "" {
		return nil
	}
	return s
}

// choices reads "a (>= 1) | b, c:any": the versions hold, or dpkg would not have installed it.
func choices(v string) [][]string {
	var out [][]string
	for _, part := range strings.Split(v, ",") {
		var one []string
		for _, alt := range strings.Split(part, "|") {
			name, _, _ := strings.Cut(strings.TrimSpace(alt), " ")
			name, _, _ = strings.Cut(name, "(")
			if name != "" {
				one = append(one, name)
			}
		}
		if len(one) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// find gives the installed package of that name, "git" or "libc6:i386", or one that provides it. Of an architecture that is
// named no other counts.
func (d *database) find(name, arch string) *stanza {
	name, suffix, _ := strings.Cut(name, ":")
	order := []string{arch, "all", d.arch}
	if suffix != "" && suffix != "any" && suffix != "native" {
		order = []string{suffix}
		if suffix == d.arch { // as for apt
			order = append(order, "all")
		}
	}
	for _, from := range []map[string][]*stanza{d.packages, d.provided} {
		for _, want := range order {
			for _, s := range from[name] {
				if s.arch == want {
					return s
				}
			}
		}
	}
	return nil
}

// closure gives the packages with all they need, and the essential ones, on which others rely without saying so.
func (d *database) closure(names []string) ([]*stanza, error) {
	seen := map[*stanza]bool{}
	var todo []*stanza
	add := func(s *stanza) {
		if !seen[s] {
			seen[s] = true
			todo = append(todo, s)
		}
	}
	for _, n := range names {
		s := d.find(n, d.arch)
		if s == nil {
			return nil, d.unknown(n)
		}
		add(s)
	}
	for _, all := range d.packages {
		for _, s := range all {
			if s.essential && (s.arch == d.arch || s.arch == "all") {
				add(s)
			}
		}
	}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, c := range s.depends {
			dep := d.choose(c, s)
			if dep == nil {
				return nil, fmt.Errorf("package %s: needs %s, which is not installed on this host: apt-get install %s", s.name, strings.Join(c, " or "), d.bare(c[0]))
			}
			add(dep)
		}
	}
	out := make([]*stanza, 0, len(seen))
	for s := range seen {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].label() < out[j].label() })
	return out, nil
}

// bare is how apt-get is told a name: without an architecture that it takes by itself.
func (d *database) bare(name string) string {
	plain, arch, _ := strings.Cut(name, ":")
	if arch == "" || arch == "any" || arch == "native" || arch == d.arch {
		return plain
	}
	return name
}

func (d *database) choose(names []string, by *stanza) *stanza {
	arch := by.arch
	if arch == "all" {
		arch = d.arch
	}
	for _, n := range names {
		if s := d.find(n, arch); s != nil {
			return s
		}
	}
	return nil
}

// unknown says what is missing, and what may have been meant.
func (d *database) unknown(name string) error {
	best, least := "", 3
	for n := range d.packages {
		if e := distance(n, name, least); e < least || e == least && best != "" && n < best {
			best, least = n, e
		}
	}
	hint := ""
	if best != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", best)
	}
	return fmt.Errorf("package %s: not installed on this host%s: apt-get install %s", name, hint, d.bare(name))
}

// distance counts the changes of one letter between two names; most is "too many".
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
