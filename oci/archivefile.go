package oci

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"os"
)

// ArchiveFile is a sink: one tar that is an OCI layout and what docker save writes at once, the small files first.
type ArchiveFile struct {
	Path string
	// Notes is a directory where it is noted what was written. By it a file that is the image already is left as it is, and
	// layers that did not change are taken from the file that is replaced. "": every byte is written anew.
	Notes string
}

// Put implements Sink. The file has its name only when it is whole.
func (a ArchiveFile) Put(ctx context.Context, img *Image) error {
	if st, err := os.Stat(a.Path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(a.Path, os.O_WRONLY, 0) // a pipe, /dev/stdout
		if err != nil {
			return err
		}
		defer f.Close()
		return WriteArchive(ctx, f, img)
	}
	files, err := img.meta()
	if err != nil {
		return err
	}
	was := a.last(ctx)
	defer was.close()
	if was.is(files) {
		return nil
	}
	f, err := createPart(a.Path)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := writeArchive(ctx, f, files, img, was); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), a.Path); err != nil {
		return err
	}
	a.note(files)
	return nil
}

// WriteArchive writes a settled image as one tar.
func WriteArchive(ctx context.Context, out io.Writer, img *Image) error {
	files, err := img.meta()
	if err != nil {
		return err
	}
	return writeArchive(ctx, out, files, img, nil)
}

// writeArchive takes layers that an earlier archive has from there.
func writeArchive(ctx context.Context, out io.Writer, files []File, img *Image, was *earlier) error {
	w := &archiveWriter{out: out, b: bufio.NewWriterSize(out, 64<<10), copy: make([]byte, 256<<10)}
	for _, f := range files {
		if err := w.header(f.Name, int64(len(f.Text))); err != nil {
			return err
		}
		w.b.Write(f.Text) // an error comes again at the next write
		if err := w.pad(int64(len(f.Text))); err != nil {
			return err
		}
	}
	err := eachBlob(ctx, img, func(name string, l Layer) (bool, error) {
		at, ok := was.has(name, l.Size)
		if !ok {
			return false, nil
		}
		return true, w.move(ctx, name, was.file(), at, l.Size)
	}, func(name string, l Layer, r io.Reader) error { return w.member(name, l.Size, r) })
	if err != nil {
		return err
	}
	w.b.Write(make([]byte, 1024))
	return w.b.Flush()
}

// archiveWriter writes a tar whose contents may be copied by the kernel.
type archiveWriter struct {
	out  io.Writer
	b    *bufio.Writer
	copy []byte
}

func (w *archiveWriter) header(name string, size int64) error {
	return tar.NewWriter(w.b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o444, ModTime: mtime})
}

func (w *archiveWriter) pad(size int64) error {
	_, err := w.b.Write(make([]byte, -size&511))
	return err
}

func (w *archiveWriter) member(name string, size int64, r io.Reader) error {
	if err := w.header(name, size); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w.b}, r, w.copy)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return w.pad(size)
}

// movePart is how much is copied between two looks at the context.
const movePart = 64 << 20

// move writes a member from another file. Between two files on one disk no byte goes through this process.
func (w *archiveWriter) move(ctx context.Context, name string, from *os.File, at, size int64) error {
	if err := w.header(name, size); err != nil {
		return err
	}
	if err := w.b.Flush(); err != nil {
		return err
	}
	if _, err := from.Seek(at, io.SeekStart); err != nil {
		return err
	}
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := io.Copy(w.out, io.LimitReader(from, min(left, movePart)))
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return w.pad(size)
}
