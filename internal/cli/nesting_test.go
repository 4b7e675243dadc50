package cli

import (
	"strings"
	"testing"
)

func TestNesting(t *testing.T) {
	for text, want := range map[string]bool{
		"":                   false,
		"(a":                 true,
		"(a\n b)":            false,
		"(a ; )\n":           true,
		"(a #! )\n":          true,
		"\"a ( \n":           true,
		"\"a ( \n\"":         false,
		"\"\\\"":             true,
		"(str \\( \\\" \\))": false,
		"#\"[(\\\"]\" {":     true,
		"[(])":               false, // the reader says what is wrong
		")":                  false,
	} {
		var n nesting
		for _, line := range strings.Split(text, "\n") {
			n.line(line)
		}
		if n.open() != want {
			t.Errorf("%q: got %v, want %v", text, n.open(), want)
		}
	}
}
