package cli

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/peterh/liner"
	"golang.org/x/sys/unix"
)

// pager shows a text that is longer than the screen a screen at a time: through the command in $PAGER, else by itself. It
// is used where lines can be edited only, never on a pipe or a dumb terminal.
type pager struct {
	app         *app
	out         io.Writer
	raw, normal liner.ModeApplier // keys come one by one; as zeno found the terminal
}

// show writes a text that ends in a newline. A value that fits the screen is coloured.
func (p *pager) show(text string, value bool) {
	size, err := unix.IoctlGetWinsize(int(p.app.std.Out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row < 3 || size.Col < 1 || fits(text, int(size.Row)-1, int(size.Col)) {
		if value && p.app.coloursOn(p.app.std.Out) {
			text = coloured(text)
		}
		_, _ = io.WriteString(p.out, text)
		return
	}
	interrupt := p.app.input.interrupt // ctrl-C ends the showing, and not what made the value
	old := p.app.signals.onInterrupt.Swap(&interrupt)
	ending := context.AfterFunc(p.app.signals.ctx, interrupt)
	defer func() {
		ending()
		p.app.signals.onInterrupt.Store(old)
		p.app.input.ready()
	}()
	if command := p.app.std.Getenv("PAGER"); command != "" && p.run(command, text) {
		return
	}
	_ = p.raw.ApplyMode()
	defer func() { _ = p.normal.ApplyMode() }()
	p.page(screenLines(text, int(size.Col)), int(size.Row)-1, int(size.Col))
}

// run gives the text to a command, as git does. It gives false where that cannot be started.
func (p *pager) run(command, text string) bool {
	cmd := exec.CommandContext(p.app.signals.ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), p.app.std.Out, p.app.std.Err
	cmd.Env = append(cmd.Environ(), "LESSCHARSET=utf-8")
	if p.app.std.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	cmd.WaitDelay = closeTime
	_ = cmd.Run() // one that does not read to the end is no failure
	code := 0
	if s := cmd.ProcessState; s == nil {
		code = -1
	} else if s.Exited() {
		code = s.ExitCode()
	}
	return code != -1 && code != 126 && code != 127 // the shell's codes for what it could not run
}

const morePrompt = "-- more: space a screen, enter a line, a all, q stops --"

// page shows rows lines at a time, and waits for a key after each.
func (p *pager) page(lines []string, rows, cols int) {
	budget := rows
	for n := 0; n < len(lines); {
		to := min(n+budget, len(lines))
		_, _ = io.WriteString(p.out, strings.Join(lines[n:to], ""))
		if n = to; n == len(lines) {
			return
		}
		if !strings.HasSuffix(lines[n-1], "\n") {
			_, _ = io.WriteString(p.out, "\r\n") // the rest of a broken line goes where the prompt was
		}
		_, _ = io.WriteString(p.out, runewidth.Truncate(morePrompt, cols-1, ""))
		key := p.key()
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		switch key {
		case "\r", "\n", "j", "\x1b[B", "\x1bOB":
			budget = 1
		case "a", "G":
			budget = len(lines)
		case "q", "Q", "\x1b", ctrlCKey, ctrlDKey, "":
			_, _ = fmt.Fprintf(p.out, "; %d of %d lines\n", n, len(lines))
			return
		default:
			budget = rows
		}
	}
}

const (
	ctrlCKey = "\x03"
	ctrlDKey = "\x04"
)

// escapeTime is how long the rest of a key's sequence may take to come.
const escapeTime = 50 * time.Millisecond

// key waits for a key; "" where there is none to come. What is typed after it stays for the next prompt.
func (p *pager) key() string {
	buf := make([]byte, 16)
	n, err := p.app.input.Read(buf[:1])
	if n == 0 || err != nil {
		return ""
	}
	if buf[0] == '\x1b' {
		fd := []unix.PollFd{{Fd: int32(p.app.std.In.Fd()), Events: unix.POLLIN}}
		if ready, err := unix.Poll(fd, int(escapeTime.Milliseconds())); ready > 0 && err == nil {
			more, _ := p.app.std.In.Read(buf[1:])
			n += more
		}
	}
	return string(buf[:n])
}

// fits tells whether a text takes at most rows lines of a screen.
func fits(text string, rows, cols int) bool {
	if len(text) > rows*cols*4 { // it may fit where most of it takes no place; page sees that too
		return false
	}
	return len(screenLines(text, cols)) <= rows
}

// screenLines cuts a text where the terminal does, each piece with its newline if it has one.
func screenLines(text string, cols int) []string {
	var out []string
	start, width := 0, 0
	for i, r := range text {
		if r == '\n' {
			out = append(out, text[start:i+1])
			start, width = i+1, 0
			continue
		}
		w := runewidth.RuneWidth(r)
		if r == '\t' {
			w = 8 - width%8
		}
		if width+w > cols && i > start {
			out = append(out, text[start:i])
			start, width = i, 0
		}
		width += w
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
