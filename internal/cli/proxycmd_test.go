package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const proxyCanary = "canary-5b1f77-value"

// zeno proxy from its files to its end: the value reaches the server and nothing else, a change closes.
func TestProxy(t *testing.T) {
	var got string
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, got)
	}))
	defer up.Close()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("value", proxyCanary+"\n")
	write("roots.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw})))
	profile := fmt.Sprintf(`{:egress {:allow [{:host "example.com" :port 443 :addr %q}]} :secrets [{:env "TOKEN" :hosts ["example.com"] :from {:file %q}}]}`,
		up.Listener.Addr().String(), file("value"))
	write("box.edn", profile)
	stderr, err := os.Create(file("stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd := &proxyCmd{Profile: file("box.edn"), Listen: []string{"127.0.0.1:0"}, CA: file("ca.pem"), Env: file("env"), Roots: file("roots.pem"), Events: file("events")}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- cmd.run(ctx, &app{std: Std{Err: stderr, Out: stderr, Getenv: func(string) string { return "" }}})
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	said := func(re string) string {
		t.Helper()
		for range 6000 {
			b, _ := os.ReadFile(file("stderr"))
			if m := regexp.MustCompile(re).FindString(string(b)); m != "" {
				return m
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("stderr: no %s", re)
		return ""
	}
	proxy, _ := url.Parse(said(`http://127\.0\.0\.1:\d+`))
	ca, err := os.ReadFile(file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	ask := func() (int, string) {
		tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}
		defer tr.CloseIdleConnections()
		req, _ := http.NewRequest("GET", "https://example.com/", nil)
		req.Header.Set("Authorization", "$MSB_TOKEN")
		res, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	if status, body := ask(); status != 200 || body != "$MSB_TOKEN" || got != proxyCanary {
		t.Errorf("got %d %s, upstream %q", status, body, got)
	}
	if b, _ := os.ReadFile(file("env")); string(b) != "TOKEN=$MSB_TOKEN\n" {
		t.Errorf("got the environment %q", b)
	}
	write("box.edn", `{:egress {:allow ["a b"]}}`)
	said("the policy stays as it was: .*want a host name")
	if status, _ := ask(); status != 200 {
		t.Errorf("got %d after a change that does not read", status)
	}
	write("box.edn", `{:egress {:allow ["other.example.com"]}}`)
	said(`other.example.com stays closed`)
	if status, text := ask(); status == 200 {
		t.Errorf("got %d %s after the host was taken out", status, text)
	}
	events, _ := os.ReadFile(file("events"))
	log, _ := os.ReadFile(file("stderr"))
	if all := string(events) + string(log); strings.Contains(all, proxyCanary) || !strings.Contains(all, `"secrets":["TOKEN"]`) {
		t.Errorf("got %s", all)
	}
}
