package oci_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/oci"
)

func sha(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// tarOf writes headers with contents.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		text := h.Uname // what the file holds
		h.Uname = ""
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(text))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		h.ModTime = time.Unix(1, 0)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, text)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Uname: text}
}
func dir(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }
func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}
func hard(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

// saved writes what docker save writes.
func saved(t testing.TB, name string, conf map[string]any, layers ...[]byte) string {
	t.Helper()
	ids, names, entries := []string{}, []string{}, []tar.Header{}
	for _, l := range layers {
		ids = append(ids, "sha256:"+sha(l))
		names = append(names, sha(l)+"/layer.tar")
		entries = append(entries, file(sha(l)+"/layer.tar", string(l)))
	}
	c, _ := json.Marshal(map[string]any{"architecture": runtime.GOARCH, "os": "linux", "config": conf, "rootfs": map[string]any{"type": "layers", "diff_ids": ids}})
	m, _ := json.Marshal([]any{map[string]any{"Config": sha(c) + ".json", "RepoTags": []string{name}, "Layers": names}})
	entries = append(entries, file(sha(c)+".json", string(c)), file("manifest.json", string(m)))
	return written(t, tarOf(t, entries...))
}

func written(t testing.TB, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(p, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// load opens an archive and loads its only image.
func load(s *oci.Store, path string) (*oci.Record, error) {
	a, err := oci.OpenArchive(context.Background(), path, s.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	img, err := a.Pick("")
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background(), "test:1", img)
}
