package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// verifier reads a layer and finds out that it is not the one it is called.
type verifier struct {
	r     *contextReader
	layer Layer
	hash  hash.Hash
	n     int64
}

func newVerifier(ctx context.Context, r io.Reader, l Layer) *verifier {
	return &verifier{r: &contextReader{ctx, r}, layer: l, hash: sha256.New()}
}

func (v *verifier) Read(b []byte) (int, error) {
	n, err := v.r.Read(b)
	if !v.layer.checked {
		v.hash.Write(b[:n])
	}
	if v.n += int64(n); v.n > v.layer.Size {
		return 0, fmt.Errorf("got more than the %d bytes that layer %s has", v.layer.Size, v.layer.Digest)
	}
	return n, err
}

func (v *verifier) end() error {
	if _, err := io.Copy(io.Discard, v); err != nil {
		return err
	}
	if v.layer.checked && v.n == v.layer.Size {
		return nil
	}
	if got := "sha256:" + hex.EncodeToString(v.hash.Sum(nil)); got != v.layer.Digest {
		return fmt.Errorf("got content with digest %s, want %s", got, v.layer.Digest)
	}
	return nil
}

// Send writes what the layer is stored as to w. It holds the last bytes back until it is certain that they are those of the
// layer: an error means that w did not get all of it.
func (l Layer) Send(ctx context.Context, w io.Writer) error {
	err := readBlob(ctx, l, func(r io.Reader) error {
		b := copyBuffers.Get().(*[]byte)
		defer copyBuffers.Put(b)
		last := make([]byte, 0, min(l.Size, 512))
		for left := l.Size - int64(cap(last)); left > 0; {
			n, err := r.Read((*b)[:min(left, int64(len(*b)))])
			if _, werr := w.Write((*b)[:n]); werr != nil {
				return werr
			}
			if left -= int64(n); left > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			if err != nil && err != io.EOF {
				return err
			}
		}
		last = last[:cap(last)]
		if _, err := io.ReadFull(r, last); err != nil {
			return err
		}
		if err := r.(*verifier).end(); err != nil {
			return err
		}
		_, err := w.Write(last)
		return err
	})
	if err != nil {
		return fmt.Errorf("layer %s: %w", or(l.Label, l.DiffID), err)
	}
	return nil
}
