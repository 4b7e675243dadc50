package dpkg

import (
	"strings"
	"testing"
)

// FuzzDatabase: whatever the files of dpkg hold, reading them ends, without a panic.
func FuzzDatabase(f *testing.F) {
	f.Add("Package: a\nStatus: install ok installed\nDepends: b (>= 1) | c:any, d\nConffiles:\n /etc/a 0123\n", "auto\n/usr/bin/awk\nawk.1\n/man/awk.1\n\n/usr/bin/mawk\n5\n/man/mawk.1\n\n")
	f.Add("", "")
	f.Add("Package:\n:\n Conffiles", "auto\nx\n\n")
	f.Fuzz(func(t *testing.T, status, alternatives string) {
		if s := parseStanza([]byte(status)); s != nil {
			for _, c := range s.depends {
				for _, name := range c {
					if name == "" || strings.ContainsAny(name, " |,(") {
						t.Fatalf("got the dependency %q", name)
					}
				}
			}
		}
		if a := parseAlternative("x", alternatives); a != nil {
			for _, c := range a.choices {
				if len(c.targets) != len(a.links) {
					t.Fatalf("got %d targets for %d links", len(c.targets), len(a.links))
				}
			}
			a.best("", func(string) bool { return true })
		}
	})
}
