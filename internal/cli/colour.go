package cli

import (
	"regexp"
	"strings"
)

// The colours of values: strings and characters green, numbers yellow, keywords cyan, nil and truth magenta, notes dim.
var colourOf = []string{"32", "32", "36", "33", "35", "2"}

// maxColoured bounds the text that is coloured, in bytes: it is read by an expression.
const maxColoured = 64 << 10

// tokens finds what is coloured in a printed value, a group for each of colourOf. What lies between is left as it is, and a
// word is taken whole, so that the 1 of a1 is no number.
func tokens() *regexp.Regexp {
	return regexp.MustCompile(`("(?:[^"\\]|\\.)*")|(\\(?:[A-Za-z0-9]+|[^\s]))|(::?[^\s()\[\]{}"',;]+)|` +
		`([+-]?[0-9][0-9A-Za-z./+-]*)|((?:nil|true|false)\b)|(?m:^(; .*)$)|[^\s()\[\]{}"',;]+`)
}

// coloured gives a printed value colours.
func coloured(text string) string {
	if len(text) > maxColoured {
		return text
	}
	var out strings.Builder
	at := 0
	for _, m := range tokens().FindAllStringSubmatchIndex(text, -1) {
		for i, code := range colourOf {
			if from, to := m[2*i+2], m[2*i+3]; from >= 0 {
				out.WriteString(text[at:from] + "\x1b[" + code + "m" + text[from:to] + "\x1b[0m")
				at = to
			}
		}
	}
	return out.String() + text[at:]
}
