package oci

import (
	"context"
	"io/fs"
)

// Source realises packages: it makes sure that they and what they need are on this host, and says what they consist of.
type Source interface {
	// Realise is told what goes on by progress. A source that calls a program ends it when ctx ends.
	Realise(ctx context.Context, spec *Spec, progress func(string)) (*Closure, error)
}

// Closure is a set of packages with everything they need.
type Closure struct {
	Packages []Package
	// Top are files that belong to no package: links between packages, accounts, the CA bundle. Later layers win, and this
	// is the last.
	Top      []File
	Env      map[string]string // the spec's is put over it
	Path     []string          // directories of programs, before those of the base
	Warnings []string
	// Release frees what keeps the packages on this host; nil: nothing does. It is called when the image is no longer read.
	Release func()
}

// Package is the smallest part that a layer has or has not.
type Package struct {
	Name  string // the same for all versions: what decides about its layer
	Label string // for people, with the version
	Key   string // of its content: the same Key means the same bytes; "" is cached nowhere
	Size  int64  // of its files, about, in bytes
	// Files gives what it consists of, in any order, directories among them.
	Files func(ctx context.Context, yield func(File) error) error
}

// File is a file, a directory or a link in an image.
type File struct {
	Name string      // relative, clean: "usr/bin/git"
	Mode fs.FileMode // type and permissions; they are made uniform
	Link string      // of a symbolic link
	Text []byte      // content, where Path is empty
	Path string      // of the content on this host
	Size int64       // of what is at Path
	MD5  string      // hex, where the source knows what the content is to be; else ""
}

// DirFile, TextFile and LinkFile are shorthands.
func DirFile(name string, mode fs.FileMode) File {
	return File{Name: name, Mode: fs.ModeDir | mode}
}

// TextFile is a file with that content, readable by all.
func TextFile(name, text string) File { return File{Name: name, Mode: 0o644, Text: []byte(text)} }

// LinkFile is a symbolic link.
func LinkFile(name, target string) File {
	return File{Name: name, Mode: fs.ModeSymlink | 0o777, Link: target}
}
