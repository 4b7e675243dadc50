package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/reflection-dev/zeno/oci"
)

// Server is a registry with one image, to be read. A layer is made when it is asked for and goes straight to who asked:
// nothing is written to disk, and what nobody asks for is not read.
type Server struct {
	repository string
	tag        string
	digest     string
	manifest   []byte
	config     []byte
	configID   string
	layers     map[string]oci.Layer

	mu    sync.Mutex
	err   error
	bytes int64
}

// Serve makes the registry of a settled image: see oci.Image.Settle. ref is its name, with the tag, without the registry.
func Serve(img *oci.Image, ref string) (*Server, error) {
	raw, m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	s := &Server{digest: img.Digest, manifest: raw, config: img.Raw, configID: m.Config.Digest.String(), layers: map[string]oci.Layer{}}
	s.repository, s.tag, _ = strings.Cut(ref, ":")
	for _, l := range img.Layers {
		s.layers[l.Digest] = l
	}
	return s, nil
}

// Err is why a layer could not be given, such as a package that changed; nil if none was asked for in vain.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Bytes is how much of layers was sent.
func (s *Server) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

const maxPath = 1024

// ServeHTTP implements http.Handler: what of the distribution specification is for reading.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		fault(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "this registry is for reading")
		return
	}
	if r.URL.Path == "/v2" || r.URL.Path == "/v2/" {
		answer(w, r, "application/json", "", []byte("{}"))
		return
	}
	rest, ours := strings.CutPrefix(r.URL.Path, "/v2/"+s.repository+"/")
	kind, name, _ := strings.Cut(rest, "/")
	switch {
	case len(r.URL.Path) > maxPath || !ours:
		fault(w, http.StatusNotFound, "NAME_UNKNOWN", "this registry has one image")
	case kind == "manifests" && (name == s.tag || name == s.digest):
		answer(w, r, "application/vnd.oci.image.manifest.v1+json", s.digest, s.manifest)
	case kind == "manifests":
		fault(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "no such tag or digest")
	case kind == "blobs" && name == s.configID:
		answer(w, r, "application/octet-stream", name, s.config)
	case kind == "blobs" && s.layers[name].Open != nil:
		s.layer(w, r, s.layers[name])
	default:
		fault(w, http.StatusNotFound, "BLOB_UNKNOWN", "no such blob")
	}
}

func answer(w http.ResponseWriter, r *http.Request, kind, digest string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if digest != "" {
		w.Header().Set("Docker-Content-Digest", digest)
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(text)
	}
}

func fault(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, text)
}

// layer sends a layer, checked while it goes. Where it is not what it is called the connection is cut off before the end.
func (s *Server) layer(w http.ResponseWriter, r *http.Request, l oci.Layer) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(l.Size, 10))
	w.Header().Set("Docker-Content-Digest", l.Digest)
	if r.Method == http.MethodHead {
		return
	}
	out := &counted{w: w}
	err := l.Send(r.Context(), out)
	s.mu.Lock()
	s.bytes += out.n
	if err != nil && out.err == nil && s.err == nil && !errors.Is(err, context.Canceled) {
		s.err = err
	}
	s.mu.Unlock()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// counted tells errors of the reader, who may go at any time, from those of the layer.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}
