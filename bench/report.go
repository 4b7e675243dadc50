package main

import (
	"fmt"
	"io"
)

// limitsBar is how much the counting of limits may cost.
const limitsBar = 1.1

// starlarkBar is what fib30 and loop10M may cost, limits on, beside starlark.
const starlarkBar = 0.5

// print writes the tables.
func (r *result) print(w io.Writer) error {
	var ts []*table
	if len(r.programs) > 0 {
		ts = append(ts, r.seconds(), r.ratios(), r.bars())
		ts = append(ts, r.yardsticks()...)
	}
	if len(r.costs) > 0 {
		ts = append(ts, r.alone())
	}
	about := fmt.Sprintf("%s; medians of %d interleaved rounds; scale to the machine of the targets (starlark's fib30): %.2f",
		r.load, r.rounds, r.scale())
	if !r.markdown {
		fmt.Fprintln(w, about)
		for _, t := range ts {
			if err := t.text(w); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(w, "# Performance\n\nWritten by `cd bench && go run . -md` on %s: %s.\n\n%s\n", r.began.Format("2006-01-02"), about, preface)
	for _, t := range ts {
		if err := t.markdown(w); err != nil {
			return err
		}
	}
	return nil
}

const preface = "What is compared is processor time, the garbage collector's included. Engines take turns within a round, so ratios\n" +
	"within this page hold on a busy machine too; a number of seconds or nanoseconds by itself does not. Nothing here is\n" +
	"asserted by a test: `make bench` prints it anew."

func (r *result) seconds() *table {
	t := &table{title: "Programs, milliseconds of processor time",
		note: "`env` is the orchestrator's environment, `isolate` an agent's with every limit counted, `unlimited` the same isolate with its limits lifted."}
	t.head = []string{"row"}
	es := engines()
	for _, e := range es {
		t.head = append(t.head, e.name)
	}
	for _, p := range r.programs {
		row := []string{p.name}
		for _, e := range es {
			row = append(row, number(1000*median(r.of(p.name)[e.name])))
		}
		t.add(row...)
	}
	return t
}

func (r *result) ratios() *table {
	t := &table{title: "Programs, times as long as an isolate with limits on", note: "More than 1: the isolate is faster.", head: []string{"row"}}
	es := engines()
	for _, e := range es {
		if e.name != limited {
			t.head = append(t.head, e.name)
		}
	}
	t.head = append(t.head, "what it does")
	for _, p := range r.programs {
		s := r.of(p.name)
		row := []string{p.name}
		for _, e := range es {
			if e.name != limited {
				row = append(row, number(ratio(s[e.name], s[limited])))
			}
		}
		t.add(append(row, p.what)...)
	}
	return t
}

// bars sets each program beside what it has to reach.
func (r *result) bars() *table {
	t := &table{title: "Programs against their bars",
		note: "A row's target is the fastest of joker, let-go and glojure, divided by 1.5 and scaled to this machine by starlark's fib30 in this run.",
		head: []string{"row", "measure", "value", "bar", "share", ""}}
	for _, p := range r.programs {
		s := r.of(p.name)
		target := p.peer / 1.5 * r.scale()
		for _, engine := range []string{orchestrator, limited} {
			got := median(s[engine])
			t.add(p.name, fmt.Sprintf("%s, ms (target by %s)", engine, p.by), number(1000*got), number(1000*target), number(got/target), verdict(got <= target))
		}
		if p.name == "fib30" || p.name == "loop10M" {
			x := ratio(s[limited], s["starlark"])
			t.add(p.name, "isolate / starlark", number(x), number(starlarkBar), number(x/starlarkBar), verdict(x <= starlarkBar))
		}
		x := ratio(s[limited], s[lifted])
		t.add(p.name, "limits on / limits lifted", number(x), number(limitsBar), number(x/limitsBar), verdict(x <= limitsBar))
	}
	return t
}

// then gives the CPU seconds of a peer in design/10-lisp.md, from the run that the targets come from.
func then(program, peer string) float64 {
	return map[string]float64{
		"fib30 starlark": starlarkThen, "fib30 goja": 0.32, "fib30 gopher-lua": 0.25, "fib30 tengo": 0.25,
		"loop10M starlark": 1.02, "loop10M goja": 1.67, "loop10M gopher-lua": 2.03, "loop10M tengo": 1.45,
	}[program+" "+peer]
}

// yardsticks tells how far the scale can be trusted: what it would be by the other peers.
func (r *result) yardsticks() []*table {
	t := &table{title: "How slow this machine is by other yardsticks",
		note: "The scale of the targets is the first line, as the bars have it. Where another is lower, the targets are kind: by it, a row is reached only if its share of the bar is at most that scale divided by the first.",
		head: []string{"peer and program", "seconds then", "seconds now", "scale"}}
	for _, p := range r.programs {
		for _, e := range engines() {
			was, now := then(p.name, e.name), median(r.of(p.name)[e.name])
			if was > 0 && now > 0 {
				t.add(e.name+" "+p.name, number(was), number(now), number(now/was))
			}
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return []*table{t}
}

// timed tells whether a slower machine makes a number of this unit larger.
func timed(unit string) bool { return unit == "ns" || unit == "µs" || unit == "ms" }

func (r *result) alone() *table {
	t := &table{title: "What zeno costs by itself",
		note: "The verdict is on the value as measured. `scaled` is what it would be where starlark's fib30 takes as long as on the machine of the targets; lines without a bar are there to compare with.",
		head: []string{"what", "value", "scaled", "unit", "bar", ""}}
	for _, m := range r.costs {
		row := []string{m.what, number(m.value), "", m.unit, number(m.bar), ""}
		if timed(m.unit) {
			row[2] = number(m.value / r.scale())
		}
		if m.bar > 0 {
			row[5] = verdict(m.reached())
		}
		t.add(row...)
	}
	return t
}
