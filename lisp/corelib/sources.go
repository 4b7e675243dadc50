package corelib

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed lib/*.joke lib/tools/*.joke
var libFiles embed.FS

// Sources lists the libraries that Source knows, by their joker names.
func Sources() []string {
	var out []string
	_ = fs.WalkDir(libFiles, "lib", func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(path, "lib/"), ".joke"); ok {
			out = append(out, "joker."+strings.ReplaceAll(name, "/", "."))
		}
		return err
	})
	return out
}

// Source gives the text of a library that is written in Lisp and loaded when first required, by either of its names. They
// keep state or reach namespaces, so each environment has its own and an isolate none.
func Source(lib string) (text, file string, ok bool) {
	name, found := strings.CutPrefix(lib, "joker.")
	if !found {
		if name, found = strings.CutPrefix(lib, "clojure."); !found {
			return "", "", false
		}
	}
	file = "lib/" + strings.ReplaceAll(name, ".", "/") + ".joke"
	b, err := libFiles.ReadFile(file)
	if err != nil {
		return "", "", false
	}
	return string(b), lib + ".joke", true
}
