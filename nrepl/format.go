package nrepl

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// readEDN reads every form of a text of data.
func readEDN(t *value.Thread, src string) []value.Value {
	r := read.New(t, src, read.Options{File: "edn", EDN: true})
	var out []value.Value
	for {
		v, err := r.Read()
		if err == io.EOF {
			return out
		}
		if err != nil {
			panic(value.WrapError(err))
		}
		out = append(out, v)
	}
}

// formatCode indents code and tidies its blanks: one space between forms, none inside delimiters, at most one empty line.
// It changes blanks and line ends only, so comments, reader macros and the text of literals stay as they were written. A
// text whose delimiters do not match is an error.
func formatCode(src string) (string, error) {
	f := &formatter{src: src}
	for f.off < len(f.src) {
		if err := f.token(); err != nil {
			return "", err
		}
	}
	if n := len(f.open); n > 0 {
		return "", fmt.Errorf("format-code: end of text: the %s of line %d is not closed", f.open[n-1].text, f.open[n-1].line)
	}
	out := strings.TrimRight(f.out.String(), " \n")
	if strings.HasSuffix(src, "\n") && out != "" {
		out += "\n"
	}
	return out, nil
}

// formatter goes through a text once.
type formatter struct {
	src  string
	off  int
	out  strings.Builder
	col  int // of out
	open []opened

	lines int  // line ends since the last token
	blank bool // there was something between this token and the last
	last  kind // of token
}

// kind is what the last token means for the blanks before the next.
type kind int

const (
	nothing kind = iota // there was none
	atom
	opening
	prefix // belongs to the next: ' ` ~ @ ^ #
	remark // a comment: the line ends after it
)

// opened is a delimiter that waits for its partner.
type opened struct {
	text  string
	want  byte
	line  int
	col   int // of the delimiter
	inner int // the column after it
	head  string
	items int
	arg   int // the column of the first argument on the line of the head; 0: none
}

func (f *formatter) token() error {
	c := f.src[f.off]
	switch {
	case c == '\n':
		f.lines++
		f.off++
		f.blank = true
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		f.off++
		f.blank = true
	case c == ',':
		f.comma()
	case c == ';' || strings.HasPrefix(f.src[f.off:], "#!"):
		end := f.until("\n")
		f.put(strings.TrimRight(f.src[f.off:end], " \t\r"), remark)
		f.off = end
	case c == ')' || c == ']' || c == '}':
		return f.close(c)
	default:
		return f.form(c)
	}
	return nil
}

// comma keeps a comma that stands right after a form; the space comes with the next token.
func (f *formatter) comma() {
	f.off++
	if !f.blank && f.last == atom {
		f.write(",")
	}
	f.blank = true
}

func (f *formatter) until(end string) int {
	if i := strings.Index(f.src[f.off:], end); i >= 0 {
		return f.off + i
	}
	return len(f.src)
}

// form takes what begins a form, or all of one without parts.
func (f *formatter) form(c byte) error {
	rest := f.src[f.off:]
	for _, p := range []string{"#?@(", "#?(", "#(", "#{", "(", "[", "{"} {
		if strings.HasPrefix(rest, p) {
			f.begin(p)
			return nil
		}
	}
	for _, p := range []string{"#'", "#_", "#^", "#?@", "#?", "~@", "'", "`", "~", "@", "^"} {
		if strings.HasPrefix(rest, p) {
			f.put(p, prefix)
			f.off += len(p)
			return nil
		}
	}
	end, err := f.atom(c)
	if err != nil {
		return err
	}
	f.put(f.src[f.off:end], atom)
	f.off = end
	return nil
}

// atom finds the end of a string, a regex, a character or a name.
func (f *formatter) atom(c byte) (int, error) {
	i := f.off
	switch {
	case c == '"':
		return f.quoted(i + 1)
	case strings.HasPrefix(f.src[i:], `#"`):
		return f.quoted(i + 2)
	case c == '\\' && i+1 < len(f.src):
		_, n := utf8.DecodeRuneInString(f.src[i+1:])
		i += 1 + n
	default:
		i++
	}
	for i < len(f.src) && !strings.ContainsRune(" \t\r\n\f,;()[]{}\"", rune(f.src[i])) {
		i++
	}
	return i, nil
}

func (f *formatter) quoted(i int) (int, error) {
	for ; i < len(f.src); i++ {
		switch f.src[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("format-code: end of text: the string of line %d is not closed", f.line())
}

func (f *formatter) line() int { return 1 + strings.Count(f.src[:f.off], "\n") }

func (f *formatter) begin(p string) {
	f.put(p, opening)
	f.off += len(p)
	want := map[byte]byte{'(': ')', '[': ']', '{': '}'}[p[len(p)-1]]
	f.open = append(f.open, opened{text: p, want: want, line: f.line(), col: f.col - len(p), inner: f.col})
}

func (f *formatter) close(c byte) error {
	n := len(f.open)
	if n == 0 || f.open[n-1].want != c {
		return fmt.Errorf("format-code: got %c in line %d, which closes nothing that is open there", c, f.line())
	}
	if f.last == remark {
		f.newline(1)
	}
	f.write(string(c))
	f.off++
	f.open = f.open[:n-1]
	f.blank, f.lines, f.last = false, 0, atom
	return nil
}

// put writes a token after the blanks that belong before it.
func (f *formatter) put(text string, k kind) {
	lines := f.lines
	if f.last == remark {
		lines = max(lines, 1)
	}
	switch {
	case f.last == nothing, f.last == prefix, f.last == opening && (k != remark || lines == 0):
	case lines > 0:
		f.newline(lines)
	case f.blank:
		f.write(" ")
	}
	if n := len(f.open); n > 0 && k != remark && f.last != prefix {
		f.open[n-1].count(text, f.col, lines > 0)
	}
	f.write(text)
	f.blank, f.lines, f.last = false, 0, k
}

// count notes an element that is about to be written at col.
func (o *opened) count(text string, col int, newLine bool) {
	switch {
	case o.items == 0:
		o.head = text
	case o.items == 1 && !newLine:
		o.arg = col
	}
	o.items++
}

func (f *formatter) write(s string) {
	f.out.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		f.col = utf8.RuneCountInString(s[i+1:])
		return
	}
	f.col += utf8.RuneCountInString(s)
}

// newline ends n lines, two at most, and indents.
func (f *formatter) newline(n int) {
	f.write(strings.Repeat("\n", min(n, 2)))
	f.write(strings.Repeat(" ", f.indent()))
}

func (f *formatter) indent() int {
	if len(f.open) == 0 {
		return 0
	}
	top := f.open[len(f.open)-1]
	switch {
	case top.want != ')' || strings.HasPrefix(top.text, "#?"):
		return top.inner
	case hasBody(top.head):
		return top.col + len(top.text) + 1
	case top.arg > 0:
		return top.arg
	}
	return top.inner
}

// hasBody tells whether the forms of a call are a body, two columns in, and not arguments below the first.
func hasBody(head string) bool {
	_, name := value.SplitName(head)
	for _, p := range []string{"def", "with-", "when", "let", "if-", "do"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "fn", "if", "ns", "loop", "for", "try", "catch", "finally", "case", "cond->", "cond->>", "condp", "binding", "testing", "are", "letfn",
		"reify", "extend-type", "extend-protocol", "proxy", "future", "delay", "lazy-seq", "locking", "comment", "go", "go-loop", "while", "thread":
		return true
	}
	return false
}
