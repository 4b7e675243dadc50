package spawn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// sessionCopy gives a resumed spawn session files of its own: the resumed session stays as it was, whatever happens.
type sessionCopy struct {
	from, to string
	// rest is how many bytes may still be copied.
	rest int64
	// rehome is backend.Backend.Rehome; oldRoot becomes newRoot in the files it matches, each with its last slash.
	rehome, oldRoot, newRoot string
}

// run copies regular files only: a link in there was made by an agent and may point anywhere.
func (c *sessionCopy) run() error {
	return filepath.WalkDir(c.from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("failed to read the session: %w", err)
		}
		name, err := filepath.Rel(c.from, file)
		if err != nil || name == "." {
			return err
		}
		target := filepath.Join(c.to, name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type().IsRegular():
			return c.file(file, target)
		}
		return nil
	})
}

func (c *sessionCopy) file(from, to string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("failed to read the session: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("failed to copy the session: %w", err)
	}
	content, err := c.content(in, path.Base(filepath.ToSlash(from)))
	var n int64
	if err == nil {
		n, err = io.Copy(out, io.LimitReader(content, c.rest+1))
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("failed to copy the session: %w", err)
	}
	if c.rest -= n; c.rest < 0 {
		return &requestError{errors.New("resume: the session's files exceed Config.MaxSession; start a new session")}
	}
	return nil
}

// maxHead bounds the beginning of a file in which the spawn's directory is replaced: its header lines.
const maxHead = 8 << 10

// content is what the copy of a file holds.
func (c *sessionCopy) content(in io.Reader, name string) (io.Reader, error) {
	if match, err := path.Match(c.rehome, name); err != nil || !match {
		return in, err
	}
	buffered := bufio.NewReaderSize(in, maxHead)
	head, err := buffered.Peek(maxHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := len(head)
	head = bytes.ReplaceAll(head, []byte(c.oldRoot), []byte(c.newRoot))
	if _, err := buffered.Discard(length); err != nil {
		return nil, err
	}
	return io.MultiReader(bytes.NewReader(head), buffered), nil
}
