package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/reflection-dev/zeno/core/journal"
)

// eventPrinter prints events, one a line.
type eventPrinter struct {
	out   *os.File
	json  bool
	width int // of the data, in characters; 0: all
}

// tailWidth is how much of an event's data tail shows, in characters.
const tailWidth = 160

// all prints events and gives the number of the last.
func (p eventPrinter) all(es []journal.Event) (last uint64, err error) {
	w := bufio.NewWriter(p.out)
	for _, e := range es {
		if _, err := w.WriteString(p.line(e) + "\n"); err != nil {
			return last, err
		}
		last = e.Seq
	}
	return last, w.Flush()
}

func (p eventPrinter) line(e journal.Event) string {
	if p.json {
		return compactJSON(e)
	}
	words := []string{fmt.Sprintf("%6d", e.Seq), e.At.Local().Format("2006-01-02 15:04:05.000"), fmt.Sprintf("%-14s", e.Kind)}
	for _, s := range []string{e.Outcome, e.Role, e.Spawn} {
		if s != "" {
			words = append(words, s)
		}
	}
	if e.Elapsed > 0 {
		words = append(words, e.Elapsed.Round(10*time.Microsecond).String())
	}
	if len(e.Data) > 0 {
		data := []rune(compactJSON(e.Data))
		if p.width > 0 && len(data) > p.width {
			data = append(data[:p.width], '…')
		}
		words = append(words, string(data))
	}
	return harmless(strings.Join(words, "  "))
}

func compactJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // what was recorded is JSON
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// harmless shows what would steer a terminal: an agent's texts are in the journal.
func harmless(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unsafeRune tells of control characters, and of those that turn the direction of text.
func unsafeRune(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
