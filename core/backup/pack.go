package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// pack writes all that is below dir to a compressed archive for this user only.
func pack(ctx context.Context, dir, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	t := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		rel, rerr := filepath.Rel(dir, path)
		if err = errors.Join(err, rerr); err != nil || rel == "." {
			return err
		}
		return packOne(t, path, rel, d)
	})
	return errors.Join(err, t.Close(), z.Close(), f.Sync(), f.Close())
}

func packOne(t *tar.Writer, path, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = filepath.ToSlash(rel)
	h.ModTime = h.ModTime.Truncate(time.Second) // as it is written it would be rounded, into the future half of the time
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	if err := t.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(t, in)
	return errors.Join(err, in.Close())
}
