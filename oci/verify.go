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
