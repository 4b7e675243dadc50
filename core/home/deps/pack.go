package deps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// objectsPerFile is how many objects a transfer may hold for each file that a tree may: a history has more than a commit.
const objectsPerFile = 16

// judgePack looks at the objects of a transfer as they came: how many, and how large each is when it is unpacked, or
// when the change it holds is applied. A megabyte can say that it unpacks to terabytes.
func judgePack(ctx context.Context, pack *os.File, l Limits) error {
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := packfile.NewScanner(&bounded{ctx: ctx, r: pack, left: l.Pack + 1})
	defer s.Close()
	_, n, err := s.Header()
	if err != nil {
		return fmt.Errorf("got no pack of objects: %w", err)
	}
	if int64(n) > int64(l.Files)*objectsPerFile {
		return fmt.Errorf("got %d objects, want at most %d", n, l.Files*objectsPerFile)
	}
	var total int64
	for range n {
		size, err := judgeObject(s, l.File)
		if err != nil {
			return err
		}
		if total += size; total > l.Total*4 {
			return fmt.Errorf("got objects of more than %s, want at most that", megabytes(l.Total*4))
		}
	}
	return nil
}

func judgeObject(s *packfile.Scanner, limit int64) (int64, error) {
	h, err := s.NextObjectHeader()
	if err != nil {
		return 0, fmt.Errorf("got objects that cannot be read: %w", err)
	}
	if h.Length > limit {
		return 0, tooLarge(h.Length, limit)
	}
	var head prefix
	if _, _, err := s.NextObject(&head); err != nil {
		return 0, fmt.Errorf("got objects that cannot be read: %w", err)
	}
	if h.Type != plumbing.OFSDeltaObject && h.Type != plumbing.REFDeltaObject {
		return h.Length, nil
	}
	size, err := deltaTarget(head.b)
	if err != nil {
		return 0, err
	}
	if size > limit {
		return 0, tooLarge(size, limit)
	}
	return size, nil
}

func tooLarge(got, limit int64) error {
	return fmt.Errorf("got an object of %d bytes, want at most %d", got, limit)
}

// deltaTarget reads the size that a delta says its outcome has: the second of the two numbers it begins with.
func deltaTarget(b []byte) (int64, error) {
	var size int64
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(b) == 0 || shift > 56 {
				return 0, errors.New("got an object whose size cannot be read")
			}
			c := b[0]
			b = b[1:]
			size |= int64(c&0x7f) << shift
			if c&0x80 == 0 {
				break
			}
		}
	}
	return size, nil
}

// prefix keeps the first bytes of what is written to it.
type prefix struct{ b []byte }

func (p *prefix) Write(b []byte) (int, error) {
	if room := 24 - len(p.b); room > 0 {
		p.b = append(p.b, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// bounded reads at most so much, and no more once ctx has ended.
type bounded struct {
	ctx   context.Context
	r     io.Reader
	left  int64
	limit int64
	what  string
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.left <= 0 {
		return 0, fmt.Errorf("%s: got more than %s, want at most that", b.what, megabytes(b.limit))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
