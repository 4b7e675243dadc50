package oci

import "fmt"

// Limits bound what an image may be. The zero value of a field is its default, never "unbounded".
type Limits struct {
	Bytes   int64 // of all layers, unpacked; default 32 GiB
	Entries int   // files, directories and links of all layers, with names of 256 bytes in the mean; default 2 million
	Layers  int   // default 256
	Meta    int64 // bytes of one manifest, index or configuration; default 8 MiB
	Name    int   // bytes of a path in a layer; default 4096
	Depth   int   // directories in each other; default 128
}

// WithDefaults fills in what was left open.
func (l Limits) WithDefaults() Limits {
	l.Bytes = or(l.Bytes, 32<<30)
	l.Entries = or(l.Entries, 2_000_000)
	l.Layers = or(l.Layers, 256)
	l.Meta = or(l.Meta, 8<<20)
	l.Name = or(l.Name, 4096)
	l.Depth = or(l.Depth, 128)
	return l
}

// LimitError is an image that is more than it may be.
type LimitError struct {
	What      string
	Got, Most int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("image: %s: got %d, want at most %d", e.What, e.Got, e.Most)
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
