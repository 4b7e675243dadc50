// Package examples holds homes that run, each a folder, and below machines workflows to share. Their files are embedded, so
// that the binary can run them without a checkout.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed all:demo all:machines
var files embed.FS

// Machine gives the workflow of a name, such as queue.
func Machine(name string) (fs.FS, error) {
	dir := "machines/" + name
	if _, err := fs.Stat(files, dir); err != nil {
		return nil, err
	}
	return fs.Sub(files, dir)
}

// Demo gives the demo home: an agent that reads a folder of incident notes and records what it finds.
func Demo() fs.FS {
	sub, err := fs.Sub(files, "demo")
	if err != nil { // the folder is embedded above: this cannot fail
		panic(err)
	}
	return sub
}
