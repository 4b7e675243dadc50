// Package examples holds homes that run: each folder is one, and its files are embedded so that the binary can run it
// without a checkout.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed all:demo
var files embed.FS

// Demo gives the demo home: an agent that reads a folder of incident notes and records what it finds.
func Demo() fs.FS {
	sub, err := fs.Sub(files, "demo")
	if err != nil { // the folder is embedded above: this cannot fail
		panic(err)
	}
	return sub
}
