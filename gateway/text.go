package gateway

import (
	"fmt"
	"strings"
)

// How to get at the rest of something long, by where it is.
const (
	pageValue = "to see more, (def v …) the value and look at parts: (count v), (take 20 (drop 40 v)), (subs (pr-str v) 0 4000)"
	pageOut   = "to see more, print less at a time: (subs text 0 4000), (take 20 (drop 40 lines))"
	pageError = "the rest of the error was left out"
)

// Bounds of the parts of an error, so that one of them leaves room for the
// others.
const (
	maxKind   = 64
	maxCaret  = 2 << 10
	maxHint   = 512
	maxFrame  = 200
	maxFrames = 12
	noteRoom  = 256 // for the note that says what a cut left out
)

// render turns a reply into the text of a tool result: at most limit bytes of
// valid UTF-8. A value always stands behind "=> ": one client reads a bare
// scalar as JSON and fails on it.
func render(r Reply, limit int) string {
	limit = max(or(limit, DefaultMaxResult), MinResult)
	var b strings.Builder
	outRoom := outputRoom(r, limit)
	if r.Notice != "" {
		section(&b, r.Notice, limit-outRoom, pageError)
	} else if r.Err != nil {
		renderError(&b, r.Err, r.Stats.Left, limit-outRoom)
	} else {
		b.WriteString("=> ")
		section(&b, or(r.Value, "nil"), limit-outRoom-len("=> "), pageValue)
	}
	if r.Out != "" {
		const head = "\n\n--- printed ---\n"
		b.WriteString(head)
		section(&b, strings.TrimSuffix(r.Out, "\n"), limit-b.Len(), pageOut)
	}
	return b.String()
}

// outputRoom says how much of limit the printed output gets: what it needs, but
// no more than half unless the value leaves more over.
func outputRoom(r Reply, limit int) int {
	if r.Out == "" {
		return 0
	}
	need := len(r.Out) + noteRoom
	spare := limit - len(r.Value) - noteRoom
	if r.Err != nil {
		spare = limit / 2
	}
	return min(need, max(limit/2, spare))
}

// section writes text into at most room bytes, with a note where it was cut.
func section(b *strings.Builder, text string, room int, page string) {
	whole, left := cut(text, room)
	if left == 0 {
		b.WriteString(whole)
		return
	}
	note := func(left int) string {
		return fmt.Sprintf("\n… %d of %d bytes left out; %s", left, len(text), page)
	}
	head, left := cut(text, room-len(note(len(text))))
	b.WriteString(head + note(left))
}

// renderError writes an error a model can act on: what, where, what to do, and
// what it has left.
func renderError(b *strings.Builder, e *EvalError, budget string, limit int) {
	kind, _ := cut(or(e.Kind, KindInternal), maxKind)
	fmt.Fprintf(b, "error (%s)", kind)
	if e.Line > 0 {
		fmt.Fprintf(b, " at %d:%d", e.Line, max(e.Column, 1))
	}
	b.WriteString(": ")
	section(b, or(e.Message, "no message"), limit/4, pageError)
	part(b, "", strings.TrimRight(e.Caret, "\n"), min(maxCaret, limit/8))
	part(b, "hint: ", e.Hint, min(maxHint, limit/8))
	part(b, "data: ", e.Data, limit/8)
	if len(e.Stack) > 0 {
		part(b, "stack:", stackText(e.Stack), limit/8)
	}
	part(b, "budget left: ", strings.TrimPrefix(budget, "budget left: "), min(maxHint, limit/8))
}

// part writes one line of an error, or nothing where there is nothing to say.
func part(b *strings.Builder, label, text string, room int) {
	if text == "" {
		return
	}
	b.WriteString("\n" + label)
	room -= 1 + len(label)
	short, left := cut(text, room)
	if left > 0 {
		short, left = cut(text, room-40)
		short += fmt.Sprintf(" … (%d bytes left out)", left)
	}
	b.WriteString(short)
}

// stackText writes the innermost frames, one a line.
func stackText(stack []string) string {
	var b strings.Builder
	for _, frame := range stack[:min(len(stack), maxFrames)] {
		text, _ := cut(frame, maxFrame)
		b.WriteString("\n  " + text)
	}
	if more := len(stack) - maxFrames; more > 0 {
		fmt.Fprintf(&b, "\n  … %d more", more)
	}
	return b.String()
}
