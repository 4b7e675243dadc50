package oci

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// files are what an archive or a layout directory holds.
type files interface {
	// open gives a file's content and size; an error that is fs.ErrNotExist where it is missing.
	open(name string) (io.ReadCloser, int64, error)
	Close() error
}

// dirFiles is a layout directory. No link leads out of it.
type dirFiles struct{ *os.Root }

func (d dirFiles) open(name string) (io.ReadCloser, int64, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: got no plain file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// tarFiles is a tar whose members are read in place.
type tarFiles struct {
	file    *os.File
	members map[string]member
}

type member struct {
	at, size int64
	link     string // of a link, the name it means; old docker-save archives share layers so
}

// maxMembers bounds what an archive of an image may hold: a few files for each layer.
const maxMembers = 20000

// indexTar reads the headers of a tar. f is closed on an error.
func indexTar(ctx context.Context, f *os.File) (*tarFiles, error) {
	t := &tarFiles{file: f, members: map[string]member{}}
	r := tar.NewReader(f)
	for n := 0; ; n++ {
		h, err := r.Next()
		if err == io.EOF {
			return t, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && n >= maxMembers {
			err = &LimitError{"files in the archive", int64(n + 1), maxMembers}
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("failed to read the archive: %w", err)
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "./"))
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				f.Close()
				return nil, err
			}
			t.members[name] = member{at: at, size: h.Size}
		case tar.TypeSymlink:
			t.members[name] = member{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			t.members[name] = member{link: path.Clean(h.Linkname)}
		}
	}
}

func (t *tarFiles) open(name string) (io.ReadCloser, int64, error) {
	name = path.Clean(name)
	for range 8 {
		m, ok := t.members[name]
		if !ok {
			return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		if m.link == "" {
			return io.NopCloser(io.NewSectionReader(t.file, m.at, m.size)), m.size, nil
		}
		name = m.link
	}
	return nil, 0, fmt.Errorf("%s: got a circle of links", name)
}

func (t *tarFiles) Close() error { return t.file.Close() }

// small reads a whole file of metadata.
func small(f files, name string, most int64) ([]byte, error) {
	r, size, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > most {
		return nil, &LimitError{"bytes of " + name, size, most}
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = &LimitError{"bytes of " + name, int64(len(b)), most}
	}
	return b, err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
