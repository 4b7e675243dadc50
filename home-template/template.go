// Package hometemplate holds what `zeno init` writes: the smallest home that does something.
package hometemplate

import (
	"embed"
	"io/fs"
)

//go:embed init.joke deps.edn src
var files embed.FS

// Files gives the files of the home.
func Files() fs.FS { return files }
