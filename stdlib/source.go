package stdlib

import (
	"embed"
	"strings"
)

//go:embed zeno/*.joke
var sources embed.FS

// Source gives the text of a library that is shipped as Lisp: a.b-c is a/b_c.joke.
func Source(lib string) (src, file string, ok bool) {
	file = strings.ReplaceAll(strings.ReplaceAll(lib, ".", "/"), "-", "_") + ".joke"
	b, err := sources.ReadFile(file)
	if err != nil {
		return "", "", false
	}
	return string(b), "zeno:" + file, true
}
