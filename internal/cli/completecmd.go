package cli

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/home"
)

//go:embed completions/zeno.bash
var bashCompletions string

//go:embed completions/zeno.zsh
var zshCompletions string

//go:embed completions/zeno.fish
var fishCompletions string

type completionsCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run implements `zeno completions`.
func (cmd *completionsCmd) Run(a *app) error {
	text := map[string]string{"bash": bashCompletions, "zsh": zshCompletions, "fish": fishCompletions}[cmd.Shell]
	_, err := a.std.Out.WriteString(text)
	return err
}

// completeCmd is what the scripts of the shells call: it gets the words after zeno up to the cursor, the last of them begun,
// and prints what may stand there, one a line. A line with a tab has a description after it. The line ":files" stands for
// files, ":dirs" for directories.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words."`
}

// Run implements what the completions call. It never fails: a shell has no place for an error.
func (cmd *completeCmd) Run(a *app, k *kong.Kong) error {
	words := cmd.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	c := &completer{app: a, node: k.Model.Node}
	for _, line := range c.complete(words) {
		fmt.Fprintln(a.std.Out, line)
	}
	return nil
}

type completer struct {
	app  *app
	node *kong.Node // the command so far
	args int        // words that were arguments
	last string
}

func (c *completer) complete(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	c.last = words[len(words)-1]
	for i := 0; i < len(words)-1; i++ {
		w := words[i]
		switch {
		case strings.HasPrefix(w, "-") && len(w) > 1:
			f := c.flag(w)
			if f == nil || f.IsBool() || strings.Contains(w, "=") {
				continue
			}
			if i+1 == len(words)-1 {
				return c.value(f.Value)
			}
			if i++; f.Name == "home" {
				c.app.home = words[i]
			}
		case c.enter(w):
		default:
			c.args++
		}
	}
	if name, _, ok := strings.Cut(c.last, "="); ok && strings.HasPrefix(name, "--") {
		if f := c.flag(name); f != nil && !f.IsBool() {
			out := c.value(f.Value)
			for i, o := range out {
				if !strings.HasPrefix(o, ":") {
					out[i] = name + "=" + o
				}
			}
			return out
		}
	}
	if strings.HasPrefix(c.last, "-") {
		return c.flags()
	}
	return c.words()
}

// enter goes on to a subcommand of that name.
func (c *completer) enter(word string) bool {
	for _, n := range c.node.Children {
		if n.Name == word && !n.Hidden && c.args == 0 {
			c.node = n
			return true
		}
	}
	return false
}

// flag finds one by what was typed, here and above.
func (c *completer) flag(word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, f := range c.allFlags() {
		if strings.HasPrefix(word, "--") && f.Name == name || !strings.HasPrefix(word, "--") && string(f.Short) == name {
			return f
		}
	}
	return nil
}

func (c *completer) allFlags() []*kong.Flag {
	var out []*kong.Flag
	for n := c.node; n != nil; n = n.Parent {
		out = append(out, n.Flags...)
	}
	if c.node.Type == kong.ApplicationNode { // without a command it is the one that nobody types
		for _, n := range c.node.Children {
			if n.Name == "run" {
				out = append(out, n.Flags...)
			}
		}
	}
	return out
}

func (c *completer) flags() []string {
	var out []string
	for _, f := range c.allFlags() {
		if name := "--" + f.Name; !f.Hidden && strings.HasPrefix(name, c.last) {
			out = append(out, name+"\t"+f.Help)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// words are subcommands, or what may be an argument here.
func (c *completer) words() []string {
	var out []string
	for _, n := range c.node.Children {
		if !n.Hidden && c.args == 0 && strings.HasPrefix(n.Name, c.last) {
			out = append(out, n.Name+"\t"+n.Help)
		}
	}
	if c.node.Type == kong.ApplicationNode {
		return append(out, ":files")
	}
	if len(c.node.Positional) > 0 {
		at := c.node.Positional[min(c.args, len(c.node.Positional)-1)]
		if c.args < len(c.node.Positional) || at.IsSlice() {
			out = append(out, c.value(at)...)
		}
	}
	return out
}

// value gives what a flag or an argument may be.
func (c *completer) value(v *kong.Value) []string {
	var all []string
	switch {
	case v.Enum != "":
		all = strings.Split(v.Enum, ",")
	case v.Name == "home":
		return []string{":dirs"}
	case v.Name == "names":
		all = c.live(func(s core.Status) (out []string) {
			for _, p := range s.Processes {
				out = append(out, p.Name+"\t"+p.Schedule+", "+p.State)
			}
			return out
		})
	case v.Name == "spawn" && (c.node.Name == "logs" || c.node.Name == "show"):
		all = c.live(func(s core.Status) (out []string) {
			for _, p := range s.Spawns {
				out = append(out, p.ID+"\t"+p.Role+", "+p.State)
			}
			return out
		})
	case v.Name == "dir":
		return []string{":dirs"}
	case slices.Contains([]string{"file", "paths", "dir|file", "junit", "export", "anchor", "keep-in"}, v.Name):
		return []string{":files"}
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, c.last) })
}

// liveTime is how long a shell waits for a zeno that does not answer.
const liveTime = 500 * time.Millisecond

// live asks the zeno that serves the home, if one does.
func (c *completer) live(f func(core.Status) []string) []string {
	h, err := home.Resolve(c.app.home, c.app.std.Getenv)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.app.signals.ctx, liveTime)
	defer cancel()
	client, err := control.Dial(ctx, stateOf(h))
	if err != nil {
		return nil
	}
	defer client.Close()
	var s core.Status
	if client.Call(ctx, "ps", nil, &s) != nil {
		return nil
	}
	out := f(s)
	for i := range out {
		out[i] = harmlessTab(out[i])
	}
	return out
}

// harmlessTab is harmless for a line that may hold one tab.
func harmlessTab(s string) string {
	word, doc, found := strings.Cut(s, "\t")
	if !found {
		return harmless(word)
	}
	return harmless(word) + "\t" + harmless(doc)
}
