package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// digestCache remembers what layers were written as, by the writer's version and the content of their packages. Nil
// remembers nothing.
type digestCache struct{ dir string }

// layerKey is "" where a part has none.
func layerKey(packages []Package, top []File) string {
	if len(top) > 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", writerVersion)
	for _, p := range packages {
		if p.Key == "" {
			return ""
		}
		fmt.Fprintf(h, "%d %s\n", len(p.Key), p.Key)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *digestCache) path(key string) string { return filepath.Join(c.dir, key+".json") }

func (c *digestCache) get(key string) *written {
	if c == nil || key == "" {
		return nil
	}
	text, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	var w written
	if json.Unmarshal(text, &w) != nil || len(w.DiffID) != len("sha256:")+64 || w.Size <= 0 {
		return nil
	}
	return &w
}

// put remembers. That it could not is no error of a build: it costs time only.
func (c *digestCache) put(key string, w *written) {
	if c == nil || key == "" {
		return
	}
	text, err := json.Marshal(w)
	if err == nil && os.MkdirAll(c.dir, 0o700) == nil {
		_ = replace(c.path(key), text, false)
	}
}

func (c *digestCache) forget(key string) {
	if c != nil && key != "" {
		os.Remove(c.path(key))
	}
}
