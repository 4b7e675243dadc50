// Command langdoc writes docs/language.md, the reference of the language, from the docstrings of a whole zeno:
//
//	go run ./internal/langdoc > docs/language.md
//
// What no docstring can say, how the dialect differs from Clojure and why, is in differs.md and comes first. The invariant:
// the text depends on the source alone, so that a test can hold docs/language.md to it.
//
// collect.go asks the program what it has, write.go writes it down.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := document(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "langdoc:", err)
		os.Exit(1)
	}
}
