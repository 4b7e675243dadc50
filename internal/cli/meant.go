package cli

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// meant guesses which command a word that is none was to be: "did you mean spawn? ", or nothing.
func meant(word string) string {
	best, least := "", 3
	for _, c := range commands() {
		if d := typos(word, c); d < least && d < len(c)/2+1 && c != "complete-words" {
			best, least = c, d
		}
	}
	if best == "" || len(word) > 2*len(best) {
		return ""
	}
	return "did you mean " + best + "? "
}

// typos counts what has to be put in, left out, exchanged, or swapped with its neighbour to make b of a.
func typos(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+btoi(a[i-1] != b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// asked makes `zeno COMMAND --help` of `zeno help COMMAND`, where no file is called help.
func asked(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	if _, err := os.Stat("help"); err == nil {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

// commandOf names the command whose line could not be read, whose help has more.
func commandOf(err error) string {
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		words := []string{"zeno"}
		for _, part := range p.Context.Path {
			if part.Command != nil && (len(words) > 1 || part.Command.Name != "run") { // nobody types that run
				words = append(words, part.Command.Name)
			}
		}
		return strings.Join(words, " ")
	}
	return "zeno"
}
