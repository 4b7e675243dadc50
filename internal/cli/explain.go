package cli

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/lisp"
)

// explain words an error for the terminal: the first line stands out where colours are wanted.
func (a *app) explain(err error) string {
	addSource(err)
	head, rest, more := strings.Cut(core.Explain(err), "\n")
	if a.coloursOn(a.std.Err) {
		head = "\x1b[1;31m" + head + "\x1b[0m"
	}
	if more {
		return head + "\n" + rest
	}
	return head
}

// coloursOn tells whether what goes to f may be coloured: see https://no-color.org.
func (a *app) coloursOn(f *os.File) bool {
	return a.std.Getenv("NO_COLOR") == "" && a.std.Getenv("TERM") != "dumb" && terminal(f)
}

// maxSourceLine bounds the line of source that is shown, in bytes.
const maxSourceLine = 400

// addSource fills in the line that an error of a loaded library points at: the evaluation knew only its own text.
func addSource(err error) {
	var e *lisp.Error
	if !errors.As(err, &e) || e.Marked() == nil || e.Source != "" {
		return
	}
	f, err := os.Open(e.Marked().File)
	if err != nil {
		return
	}
	defer discard(f)
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	lines := bufio.NewScanner(f)
	for n := int32(1); lines.Scan(); n++ {
		if n == e.Marked().Line {
			if len(lines.Text()) <= maxSourceLine {
				e.Source = strings.TrimRight(lines.Text(), "\r")
			}
			return
		}
	}
}
