package stdlib

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed zeno/*.joke
var sources embed.FS

// Sources lists the libraries that Source knows.
func Sources() []string {
	var out []string
	_ = fs.WalkDir(sources, ".", func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, ".joke"); ok {
			out = append(out, strings.ReplaceAll(strings.ReplaceAll(name, "/", "."), "_", "-"))
		}
		return err
	})
	return out
}

// Source gives the text of a library that is shipped as Lisp: a.b-c is a/b_c.joke.
func Source(lib string) (src, file string, ok bool) {
	file = strings.ReplaceAll(strings.ReplaceAll(lib, ".", "/"), "-", "_") + ".joke"
	b, err := sources.ReadFile(file)
	if err != nil {
		return "", "", false
	}
	return string(b), "zeno:" + file, true
}
