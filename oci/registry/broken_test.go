package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/reflection-dev/zeno/oci"
)

// TestSilentRegistry: a registry that takes a request and says nothing more, before its answer or in the middle of it, does not
// hold anybody up for ever.
func TestSilentRegistry(t *testing.T) {
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
			w.(http.Flusher).Flush()
		}
		<-done
	}))
	defer srv.Close()
	defer close(done)
	rt := impatient(200 * time.Millisecond)
	defer rt.(*http.Transport).CloseIdleConnections()
	for _, path := range []string{"/none", "/half"} {
		ended := make(chan error, 1)
		go func() {
			res, err := (&http.Client{Transport: rt}).Get(srv.URL + path)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			ended <- err
		}()
		select {
		case err := <-ended:
			var slow net.Error
			if !errors.As(err, &slow) || !slow.Timeout() {
				t.Errorf("%s: got %v, want a timeout", path, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: got no end", path)
		}
	}
}

// TestBusyUpload: as long as bytes go over the connection it is not silent, whichever way they go.
func TestBusyUpload(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n != 20 {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer srv.Close()
	rt := impatient(5 * time.Second)
	defer rt.(*http.Transport).CloseIdleConnections()
	body, in := io.Pipe()
	go func() {
		for range 20 { // 8 s in all
			time.Sleep(400 * time.Millisecond)
			_, _ = in.Write([]byte("x"))
		}
		_ = in.Close()
	}()
	res, err := (&http.Client{Transport: rt}).Post(srv.URL, "", body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %v %v, want the answer", res, err)
	}
	_ = res.Body.Close()
}

// TestBrokenDownload: a connection that ends in the middle of a layer is told, and what to do.
func TestBrokenDownload(t *testing.T) {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			inner.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		text := rec.Body.Bytes()
		w.Header().Set("Content-Length", rec.Header().Get("Content-Length"))
		if len(text) > 4000 { // the layer, not the configuration
			text = text[:len(text)/2]
		}
		_, _ = w.Write(text)
	}))
	defer srv.Close()
	ref := strings.TrimPrefix(srv.URL, "http://") + "/p:1"
	img, err := random.Image(20000, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(r, img); err != nil {
		t.Fatal(err)
	}
	pulled, err := Pull(context.Background(), ref, "amd64", oci.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := pulled.Layers[0].Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	if _, err := io.ReadAll(layer); err == nil || !strings.Contains(err.Error(), "broke off") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want that it broke off", err)
	}
}

// TestSchemaOne is refused by name.
func TestSchemaOne(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")
			_, _ = w.Write([]byte(`{"schemaVersion":1,"name":"p","tag":"1","fsLayers":[],"history":[]}`))
		}
	}))
	defer srv.Close()
	_, err := Pull(context.Background(), strings.TrimPrefix(srv.URL, "http://")+"/p:1", "amd64", oci.Limits{})
	if err == nil || !strings.Contains(err.Error(), "docker's schema 1") {
		t.Errorf("got %v, want that it is in schema 1", err)
	}
}
