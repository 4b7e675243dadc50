package msb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// An image spec or an archive is taken into msb before the box is made, and the box is made of the name that it has there.
func TestABoxByASpec(t *testing.T) {
	f := newFake(t)
	var asked []string
	b := f.backend(func(c *Config) {
		c.Images = func(_ context.Context, image string, secrets []string) (string, error) {
			asked = append(asked, image+" "+strings.Join(secrets, ","))
			if strings.Contains(image, "bad") {
				return "", errors.New("image: bad")
			}
			return "zeno/spec:v1", nil
		}
		c.Secrets = secret.Env{Lookup: func(string) (string, bool) { return "a long value", true }}
	})
	s := box("true")
	s.Image = `{"packages":["git"]}`
	s.Secrets, s.Egress = []sandbox.Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}}}, sandbox.Egress{Default: sandbox.EgressDeny, Allow: []sandbox.Rule{{Host: "api.example.com"}}}
	run(t, b, s)
	if len(asked) != 1 || asked[0] != `{"packages":["git"]} TOKEN` {
		t.Errorf("got %q, want the spec and the names of secrets", asked)
	}
	if c := f.calls("create"); len(c) != 1 || !has(c[0].argv, "zeno/spec:v1") {
		t.Errorf("got %v, want a box of zeno/spec:v1", c)
	}
	s.Image = `{"packages":["bad"]}`
	if _, err := b.Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), "image: bad") {
		t.Errorf("got %v, want why there is no image", err)
	}
	s.Image = "zeno:1"
	run(t, b, s)
	if len(asked) != 2 {
		t.Errorf("got %q, want a name left alone", asked)
	}
}

// The registry of a pull answers who knows the word, for the one host.
func TestDoor(t *testing.T) {
	d, err := open("registry.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "inside "+r.URL.Path) }))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(d.pem)
	get := func(proxy, address string) string {
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
		defer tr.CloseIdleConnections()
		res, err := (&http.Client{Transport: tr}).Get(address)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	right := strings.TrimPrefix(d.env()[0], "HTTPS_PROXY=")
	wrong := "http://zeno:guess@" + d.listen.Addr().String()
	for _, c := range []struct{ proxy, address, want string }{
		{right, "https://registry.example/v2/", "inside /v2/"},
		{wrong, "https://registry.example/v2/", "Proxy Authentication Required"},
		{"http://" + d.listen.Addr().String(), "https://registry.example/v2/", "Proxy Authentication Required"},
		{right, "https://other.example/v2/", "Forbidden"},
		{right, "http://registry.example/v2/", "got a request for"},
		{right, "https://registry.example:444/v2/", "Forbidden"},
	} {
		if got := get(c.proxy, c.address); !strings.Contains(got, c.want) {
			t.Errorf("%s by %s: got %q, want %q", c.address, c.proxy, got, c.want)
		}
	}
}

func TestLocated(t *testing.T) {
	for ref, want := range map[string]string{"a:1": "index.docker.io library/a:1", "me/a:1": "index.docker.io me/a:1", "ghcr.io/me/a:1": "ghcr.io me/a:1",
		"localhost/a:1": "localhost a:1", "h:5000/a:1": "h:5000 a:1"} {
		if host, path := located(ref); host+" "+path != want {
			t.Errorf("%s: got %s %s, want %s", ref, host, path, want)
		}
	}
}
