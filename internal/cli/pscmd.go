package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/home"
)

type psCmd struct {
	JSON  bool `name:"json" help:"Print it as JSON; with --watch one line each time."`
	All   bool `short:"a" help:"Spawns that ended lately, too."`
	Watch bool `short:"w" help:"Again every second, until ctrl-C or the end of that zeno."`
}

// stopped is the state of a home that no zeno serves.
const stopped = "stopped"

// psInfo is what `zeno ps` prints.
type psInfo struct {
	core.Status
	Waiting int `json:"deliveries-waiting,omitempty"` // of a home that is not served: webhooks that were accepted and not handled
}

// Run implements `zeno ps`.
func (cmd *psCmd) Run(a *app) error {
	h, err := a.resolve()
	if err != nil {
		return err
	}
	for {
		s, err := a.ps(h, cmd.All)
		if err != nil {
			return err
		}
		if err := cmd.print(a, s); err != nil {
			return err
		}
		if !cmd.Watch || s.State == stopped || !sleep(a.signals.ctx, time.Second) {
			return nil
		}
	}
}

// ps asks the zeno that serves the home, or reads its state directory.
func (a *app) ps(h *home.Home, all bool) (psInfo, error) {
	var s psInfo
	c, err := a.dial(h)
	if err == nil {
		defer c.Close()
		return s, c.Call(a.signals.ctx, "ps", map[string]bool{"all": all}, &s.Status)
	}
	if !down(err) {
		return s, err
	}
	s.Status = core.Status{Version: version(), Home: h.Dir, State: stopped, Processes: []core.ProcessInfo{}, Spawns: []core.SpawnInfo{}}
	s.Frozen = core.FrozenHome(h)
	waiting, err := filepath.Glob(filepath.Join(stateOf(h), "webhooks", "*", "*.json"))
	s.Waiting = len(waiting)
	return s, err
}

func (cmd *psCmd) print(a *app, s psInfo) error {
	switch {
	case cmd.JSON && cmd.Watch:
		_, err := fmt.Fprintln(a.std.Out, compactJSON(s))
		return err
	case cmd.JSON:
		return printJSON(a.std.Out, s)
	}
	var b bytes.Buffer
	if cmd.Watch && terminal(a.std.Out) {
		b.WriteString("\x1b[H\x1b[2J")
	}
	writePS(&b, s, time.Now())
	_, err := a.std.Out.Write(b.Bytes())
	return err
}

func writePS(out io.Writer, s psInfo, now time.Time) {
	line := "zeno " + s.Version + ", " + s.Home + ": " + s.State
	if s.PID > 0 {
		line += fmt.Sprintf(", process %d", s.PID)
	}
	if s.Gateway != "" {
		line += ", agents at " + s.Gateway
	}
	fmt.Fprintln(out, harmless(line))
	if s.State == stopped {
		fmt.Fprintf(out, "`zeno --home %s --daemon` starts it\n", quote(s.Home))
	}
	if f := s.Frozen; f != nil {
		fmt.Fprintln(out, harmless(f.Error()))
	}
	if !s.Deadline.IsZero() {
		fmt.Fprintf(out, "what runs may go on until %s\n", s.Deadline.Local().Format("15:04:05"))
	}
	if s.AsksError != "" {
		fmt.Fprintln(out, harmless(s.AsksError))
	}
	if s.Asks > 0 {
		fmt.Fprintf(out, "questions that wait for a person: %d; `zeno inbox` lists them\n", s.Asks)
	}
	if s.Waiting > 0 {
		fmt.Fprintf(out, "%d deliveries of webhooks wait for the next start\n", s.Waiting)
	}
	psProcesses(out, s.Processes, now)
	psSpawns(out, s.Spawns, now)
	psHooks(out, s.Hooks)
}

// table writes rows of cells in columns. What comes from a program or an agent cannot steer the terminal.
func table(out io.Writer, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, harmlessCells(r))
	}
	_ = w.Flush() // to a buffer
}

func harmlessCells(cells []string) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = harmless(c)
	}
	return strings.TrimRight(strings.Join(out, "\t"), "\t ")
}

func psProcesses(out io.Writer, ps []core.ProcessInfo, now time.Time) {
	rows := [][]string{{"PROCESS", "SCHEDULE", "STATE", "NEXT", "RUNS", "FAILED", "LAST"}}
	for _, p := range ps {
		state, next, last := p.State, "-", "-"
		switch {
		case !p.Since.IsZero():
			state += " " + span(now.Sub(p.Since))
		case p.Failing > 1:
			state += fmt.Sprintf(" (%d failures in a row)", p.Failing)
		}
		if !p.Next.IsZero() {
			next = "in " + span(p.Next.Sub(now))
		}
		if p.Outcome != "" {
			last = fmt.Sprintf("%s, %s ago", p.Outcome, span(now.Sub(p.Last)))
		}
		rows = append(rows, []string{p.Name, p.Schedule, state, next, fmt.Sprint(p.Runs), fmt.Sprint(p.Failures), last})
	}
	table(out, rows)
}

func psSpawns(out io.Writer, ss []core.SpawnInfo, now time.Time) {
	rows := [][]string{{"SPAWN", "ROLE", "BACKEND", "STATE", "SINCE", "EVALS", "TOKENS", "USD", ""}}
	for _, s := range ss {
		state, usd := s.State, "-"
		if s.Status != "" {
			state = s.Status + " in " + span(s.Took)
		}
		if s.USD > 0 {
			usd = fmt.Sprintf("%.4f", s.USD)
		}
		rows = append(rows, []string{s.ID, s.Role, s.Backend, state, span(now.Sub(s.Since)), fmt.Sprint(s.Evals), fmt.Sprint(s.Tokens), usd, clipped(s.Error, 60)})
	}
	table(out, rows)
}

func psHooks(out io.Writer, hs []core.HookInfo) {
	rows := [][]string{{"WEBHOOK", "PATH", "WAITING", "FAILED", "ACCEPTED", "REFUSED"}}
	for _, h := range hs {
		rows = append(rows, []string{h.Name, h.Path, fmt.Sprint(h.Waiting), fmt.Sprint(h.Failed), fmt.Sprint(h.Accepted), fmt.Sprint(h.Refused)})
	}
	table(out, rows)
}

// span is a time span as people say it.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
