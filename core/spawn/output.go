package spawn

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// output reads what a CLI prints: its stream line by line, the end of its standard error.
type output struct {
	s       *run
	reader  *backend.Reader
	allowed []string
	tool    string
	// mcp is the last state the stream reported; skipped counts lines that were too long; junk those that were no JSON.
	mcp           string
	skipped, junk int
	told          backend.Usage // by the last event of it
	err           string        // the reader's Err, as it was before the spawn was stopped
	stderr        *tail

	killed string      // why its box was ended from outside
	pipes  [4]*os.File // our and the CLI's end of stdout, then of stderr
	sinks  []sink      // of a box
	pumps  sync.WaitGroup
	last   atomic.Int64
}

func newOutput(s *run, b backend.Backend, allowed []string) *output {
	o := &output{s: s, reader: backend.NewReader(b.Stream), allowed: allowed, tool: b.ToolName, stderr: newTail(s.conf.StderrTail, s.red)}
	if b.Stream.Cumulative && s.req.Resume != "" {
		o.reader.Before = s.usedBefore(s.req.Resume)
	}
	o.touch()
	return o
}

func (o *output) touch()              { o.last.Store(time.Now().UnixNano()) }
func (o *output) lastSeen() time.Time { return time.Unix(0, o.last.Load()) }

// attach connects cmd's standard output and error to pipes of our own: os/exec's would end with Wait, unread.
func (o *output) attach(cmd *exec.Cmd) error {
	for i := 0; i < len(o.pipes); i += 2 {
		read, write, err := os.Pipe()
		if err != nil {
			o.close()
			return fmt.Errorf("failed to open a pipe: %w", err)
		}
		o.pipes[i], o.pipes[i+1] = read, write
	}
	cmd.Stdout, cmd.Stderr = o.pipes[1], o.pipes[3]
	return nil
}

// start begins reading; the CLI has its ends of the pipes now.
func (o *output) start() {
	_ = o.pipes[1].Close()
	_ = o.pipes[3].Close()
	o.pumps.Go(func() { o.pump(o.pipes[0], newLines(o.s.conf.MaxLine, o.line)) })
	o.pumps.Go(func() { o.pump(o.pipes[2], o.stderr) })
}

// finish waits for the rest of the output. Where something outlived the guard (see guard about darwin) and still holds a
// pipe, it gets a second.
func (o *output) finish() {
	timer := time.AfterFunc(time.Second, func() {
		_ = o.pipes[0].SetReadDeadline(time.Now())
		_ = o.pipes[2].SetReadDeadline(time.Now())
	})
	defer timer.Stop()
	o.pumps.Wait()
}

// close releases every pipe; closing twice does no harm.
func (o *output) close() {
	for _, pipe := range o.pipes {
		if pipe != nil {
			_ = pipe.Close()
		}
	}
}

// sink takes a stream's bytes; end says that none follow.
type sink interface {
	write(p []byte)
	end()
}

func (t *tail) end() {}

// pump copies a pipe into its sink until the end or the limit. After the limit it reads on without keeping anything, so
// that the CLI is never blocked by a full pipe while it is told to end.
func (o *output) pump(from *os.File, to sink) {
	defer to.end()
	buffer := make([]byte, 32<<10)
	w := &pour{o: o, to: to}
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			_, _ = w.Write(buffer[:n]) // it never fails
		}
		if err != nil {
			return
		}
	}
}

// pour is a stream on its way into its sink.
type pour struct {
	o     *output
	to    sink
	total int
}

// Write implements io.Writer.
func (p *pour) Write(b []byte) (int, error) {
	p.o.touch()
	if p.total += len(b); p.total <= p.o.s.conf.MaxOutput {
		p.to.write(b)
	} else {
		p.o.s.stop(Failed, "output: got more than %d bytes, want less", p.o.s.conf.MaxOutput)
	}
	return len(b), nil
}

// writer is for a box, which has its output written; flush ends what was.
func (o *output) writer(to sink) io.Writer {
	o.sinks = append(o.sinks, to)
	return &pour{o: o, to: to}
}

func (o *output) flush() {
	for _, to := range o.sinks {
		to.end()
	}
}

// lines cuts a stream into lines of bounded length.
type lines struct {
	limit   int
	each    func(line []byte, skipped bool)
	part    []byte
	tooLong bool
}

func newLines(limit int, each func([]byte, bool)) *lines { return &lines{limit: limit, each: each} }

func (l *lines) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.add(p)
			return
		}
		l.add(p[:i])
		l.end()
		p = p[i+1:]
	}
}

func (l *lines) add(p []byte) {
	if l.tooLong = l.tooLong || len(l.part)+len(p) > l.limit; l.tooLong {
		l.part = l.part[:0]
		return
	}
	l.part = append(l.part, p...)
}

// end hands over the line collected so far.
func (l *lines) end() {
	if l.tooLong || len(l.part) > 0 {
		l.each(l.part, l.tooLong)
	}
	l.part, l.tooLong = l.part[:0], false
}

// line reads one line of the stream and acts on it. It runs in the pump's goroutine alone.
func (o *output) line(line []byte, skipped bool) {
	if skipped {
		o.skipped++
		return
	}
	o.s.heard.scan(line)
	u := o.reader.Line(line)
	if !o.s.stopping.Load() {
		o.err = o.reader.Err
	}
	if !u.JSON {
		o.junk++
		return
	}
	if u.MCP != "" {
		o.mcp = u.MCP
	}
	if u.Session != "" {
		o.s.rememberSession(u.Session)
	}
	for _, call := range u.Calls {
		o.s.emit(Event{Kind: Call, Type: u.Type, Tool: call.Tool, Text: call.Code})
	}
	for _, note := range u.Advice {
		o.s.emit(Event{Kind: Advised, Type: u.Type, Text: note})
	}
	if len(u.Calls)+len(u.Advice) == 0 {
		o.s.emit(Event{Kind: Line, Type: u.Type, Text: strings.Join(u.Texts, " ")})
	}
	o.check(u)
}

// check stops the spawn over a tool nobody granted, a server that is down, or a budget that is used up.
func (o *output) check(u backend.Update) {
	for _, name := range slices.Concat(u.Tools, u.Done) {
		if !slices.Contains(o.allowed, name) {
			o.s.stop(Refused, "tools: got %q from the CLI, want only %s; grant it in tools, or fix the backend's flags",
				name, strings.Join(o.allowed, " "))
		}
	}
	if u.MCP == "failed" {
		o.s.stop(Failed, "MCP: the CLI could not connect to %s", o.s.endpoint)
	}
	if !u.Usage {
		return
	}
	o.s.used.stream(o.reader.Usage())
	if used := o.s.used.all(); used != o.told {
		o.told = used
		o.s.emit(Event{Kind: Used, Type: u.Type, Usage: used})
	}
	o.s.checkUsage()
}
