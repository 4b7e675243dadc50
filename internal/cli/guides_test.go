package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command and every flag that a guide or a help text names is there.
func TestGuidesNameCommandsThatAreThere(t *testing.T) {
	parser, err := kong.New(&grammar{}, kong.Name("zeno"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../docs/guide/*.md", "../../examples/machines/*/README.md"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
	}
	// A span of code that begins with zeno, or a line of a block.
	span := regexp.MustCompile("(?m)`(?:bin/)?(zeno [^`\n]+)`|^    (?:[A-Z_]+=\\S+ )*(?:bin/)?(zeno [^#\n|]+)")
	n := 0
	for _, m := range span.FindAllStringSubmatch(strings.Join(append(texts, overview), "\n"), -1) {
		if words := strings.Fields(m[1] + m[2]); len(words) > 1 {
			n++
			namesWhatIs(t, parser.Model.Node, words[1:])
		}
	}
	if n < 60 {
		t.Errorf("got %d commands, want those of the guides", n)
	}
}

// namesWhatIs checks the words of a command line up to where they are a program's.
func namesWhatIs(t *testing.T, root *kong.Node, words []string) {
	t.Helper()
	node, line := root, "zeno "+strings.Join(words, " ")
	known := map[string]bool{"--help": true, "-h": true}
	add := func(n *kong.Node) {
		for _, f := range n.Flags {
			known["--"+f.Name] = true
			if f.Short != 0 {
				known["-"+string(f.Short)] = true
			}
		}
	}
	add(root)
	for _, c := range root.Children {
		if c.Name == "run" {
			add(c)
		}
	}
	for i, w := range words {
		w = strings.Trim(w, "[],;.…")
		name, _, _ := strings.Cut(w, "=")
		switch {
		case w == "--" || w == "&&" || w == ">" || w == "<":
			return
		case strings.HasPrefix(w, "-") && len(w) > 1:
			if !known[name] {
				t.Errorf("%s: %s is no flag of %s", line, name, node.FullPath())
			}
		case i > 0 && strings.HasPrefix(words[i-1], "-"):
		default:
			word, _, _ := strings.Cut(w, "|")
			for _, c := range node.Children {
				if c.Name == word && c.Name != "run" || c.Name == word && node != root {
					node = c
					add(c)
				}
			}
			if node == root && i == 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(word) {
				t.Errorf("%s: no command %s", line, word)
			}
		}
	}
}
