package gateway

import (
	"fmt"
	"strings"
)

// Bounds of the tool's description. Some clients cut one off after 2 KiB, so
// what matters most comes first and every capability is one line.
const (
	maxDescription = 16 << 10
	maxNotes       = 4 << 10
	maxLine        = 300
)

const preamble = `Run Lisp (a Clojure dialect) in an isolated environment of your own. The answer is "=> value", then what was printed, or an error with its position and a hint. Definitions last from one call to the next. Put several steps into one call: filter, group and count there instead of fetching everything.
You have the pure core language and the capabilities below; nothing else exists. (tools) lists them with the calls left, (doc name) explains one, (search "word") finds one, (context) tells where you are.
`

// describe writes the description of the eval tool for one surface.
func describe(s Surface) string {
	var b strings.Builder
	b.WriteString(preamble)
	if s.Notes != "" {
		notes, left := cut(s.Notes, maxNotes)
		b.WriteString("\n" + notes)
		if left > 0 {
			fmt.Fprintf(&b, " … (%d bytes left out)", left)
		}
		b.WriteByte('\n')
	}
	if len(s.Capabilities) == 0 {
		b.WriteString("\nCapabilities: none; the pure core only.\n")
		return b.String()
	}
	b.WriteString("\nCapabilities:\n")
	for i, c := range s.Capabilities {
		line := capabilityLine(c)
		if b.Len()+len(line) > maxDescription {
			fmt.Fprintf(&b, "… and %d more: call (tools)\n", len(s.Capabilities)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// capabilityLine is "  (diff pr) [read] Unified diff of a pull request".
func capabilityLine(c Capability) string {
	var forms []string
	for _, args := range c.Arglists {
		args = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(args), "["), "]")
		forms = append(forms, "("+strings.TrimSpace(c.Name+" "+args)+")")
	}
	if len(forms) == 0 {
		forms = []string{c.Name}
	}
	line := "  " + strings.Join(forms, " ")
	if c.Effect != "" {
		line += " [" + c.Effect + "]"
	}
	if c.Approve {
		line += " [a person approves each call]"
	}
	if doc := oneLine(c.Doc); doc != "" {
		line += " " + doc
	}
	text, left := cut(line, maxLine)
	if left > 0 {
		text += "…"
	}
	return text + "\n"
}

// oneLine joins the words of the first paragraph.
func oneLine(doc string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(doc), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
