package cli

// nesting follows the brackets and strings of a text line by line, so that a long input is not read from its start for
// every line it has. It only says when reading is worth while; the reader decides. The zero value is the start of a text.
type nesting struct {
	depth int
	text  bool // inside a string or a regex
}

// line goes on by one line.
func (n *nesting) line(s string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\': // a character, or an escape in a string
			i++
		case c == '"':
			n.text = !n.text
		case n.text:
		case c == ';' || c == '#' && i+1 < len(s) && s[i+1] == '!':
			return
		case c == '(' || c == '[' || c == '{':
			n.depth++
		case c == ')' || c == ']' || c == '}':
			n.depth--
		}
	}
}

// open tells that more must come.
func (n *nesting) open() bool { return n.text || n.depth > 0 }
