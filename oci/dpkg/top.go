package dpkg

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/reflection-dev/zeno/oci"
)

// top makes what belongs to no package: links of merged directories, alternatives, the CA bundle, the list of packages.
func (h *host) top(c *oci.Closure, found []*stanza, have map[string]bool) error {
	for _, d := range h.merged {
		c.Top = append(c.Top, oci.LinkFile(d, "usr/"+d), oci.DirFile("usr/"+d, 0o755))
	}
	if err := h.alternatives(c, have); err != nil {
		return err
	}
	if err := h.certificates(c, have); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, s := range found {
		list.Write(bytes.TrimSpace(s.text))
		list.WriteString("\n\n")
	}
	c.Top = append(c.Top, oci.TextFile("var/lib/dpkg/status", list.String())) // scanners and dpkg -l read it
	return nil
}

// alternatives links commands such as awk to the one that is in the image: the host's choice if it is there, else the one
// of the highest priority.
func (h *host) alternatives(c *oci.Closure, have map[string]bool) error {
	files, err := os.ReadDir(filepath.Join(h.db.dir, "alternatives"))
	if err != nil {
		return nil // a host without any
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(h.db.dir, "alternatives", f.Name()))
		if err != nil {
			return err
		}
		a := parseAlternative(f.Name(), string(text))
		if a == nil {
			continue
		}
		current, _ := os.Readlink(filepath.Join(h.root, "etc/alternatives", a.name))
		best := a.best(current, func(p string) bool { return have[h.canonical(p)] })
		if best == nil {
			continue
		}
		for i, l := range a.links {
			if t := best.targets[i]; t != "" && have[h.canonical(t)] {
				c.Top = append(c.Top, oci.LinkFile(h.canonical(l.path), "/etc/alternatives/"+l.name), oci.LinkFile("etc/alternatives/"+l.name, t))
			}
		}
	}
	return nil
}

type altLink struct{ name, path string }

type alternative struct {
	name    string
	links   []altLink // the master first
	choices []altChoice
}

type altChoice struct {
	priority int
	targets  []string // as links
}

// parseAlternative reads a file of update-alternatives: mode, master link, pairs of slave and link, an empty line; then
// for each choice path, priority and the slaves' paths.
func parseAlternative(name, text string) *alternative {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 {
		return nil
	}
	a := &alternative{name: name, links: []altLink{{name, lines[1]}}}
	i := 2
	for ; i+1 < len(lines) && lines[i] != ""; i += 2 {
		a.links = append(a.links, altLink{lines[i], lines[i+1]})
	}
	i++
	for i+len(a.links) < len(lines) && lines[i] != "" {
		ch := altChoice{targets: []string{lines[i]}}
		if _, err := fmt.Sscan(lines[i+1], &ch.priority); err != nil {
			return nil
		}
		ch.targets = append(ch.targets, lines[i+2:i+1+len(a.links)]...)
		a.choices = append(a.choices, ch)
		i += 1 + len(a.links)
	}
	return a
}

func (a *alternative) best(current string, have func(string) bool) *altChoice {
	var best *altChoice
	for i := range a.choices {
		ch := &a.choices[i]
		if !have(ch.targets[0]) {
			continue
		}
		if ch.targets[0] == current {
			return ch
		}
		if best == nil || ch.priority > best.priority {
			best = ch
		}
	}
	return best
}

// certificates makes the CA bundle of those that the package ca-certificates ships, not of those that this host trusts.
func (h *host) certificates(c *oci.Closure, have map[string]bool) error {
	var names []string
	for n := range have {
		if strings.HasPrefix(n, "usr/share/ca-certificates/") && path.Ext(n) == ".crt" {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	var all bytes.Buffer
	for _, n := range names {
		text, err := os.ReadFile(h.at(n))
		if err != nil {
			return err
		}
		all.Write(bytes.TrimSpace(text))
		all.WriteByte('\n')
	}
	c.Top = append(c.Top, oci.CertificateFiles(all.Bytes())...)
	for k, v := range oci.CertificateEnv() {
		c.Env[k] = v
	}
	return nil
}
