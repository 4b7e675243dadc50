//go:build linux

package native_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// The real proxy on the sockets of a real box: a program uses a secret that is nowhere in the box.
func TestEgressAndSecretsInABox(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		need.Skip(t, "%v", err)
	}
	const canary = "canary-92b7d1-value"
	var mu sync.Mutex
	var got, events []string
	serve := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization"))
		fmt.Fprintln(w, r.Header.Get("Authorization"))
	}
	up := httptest.NewTLSServer(http.HandlerFunc(serve)) // its certificate is for example.com
	defer up.Close()
	gateway := httptest.NewServer(http.HandlerFunc(serve))
	defer gateway.Close()
	pool := x509.NewCertPool()
	pool.AddCert(up.Certificate())
	value, err := secret.New(canary)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, _ := url.Parse(gateway.URL + "/mcp/worker")
	p, err := egress.New(egress.Config{Roots: pool, Internal: &egress.Internal{Endpoint: endpoint, Token: value},
		Policy:  egress.Policy{Allow: []egress.Rule{{Host: "example.com", Port: 443, Addr: up.Listener.Addr().String()}}},
		Secrets: []egress.Secret{{Env: "TOKEN", Hosts: []string{"example.com"}, Value: value}},
		Event: func(e egress.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf("%+v", e))
		}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := backend(t).Run(context.Background(), sandbox.Spec{Proxy: p, Egress: sandbox.Egress{Default: sandbox.EgressDeny}, Argv: []string{"sh", "-c", `
curl -sS -m120 -H "Authorization: Bearer $TOKEN" https://example.com/ || exit 1
curl -sS -m120 -H "Authorization: Bearer $ZENO_TOKEN" http://zeno.internal/mcp/worker || exit 2
for url in https://evil.example/ https://93.184.216.34/ http://169.254.169.254/ http://zeno.internal:7888/ http://127.0.0.1:7888/; do
  curl -ksS -m5 $url && exit 3
done
curl -sSf -m5 http://zeno.internal/mcp/reader && exit 4
env; cat /proc/*/environ /proc/*/cmdline | tr '\0' '\n'; grep -rs canary / --include='*' -d skip /work /tmp /etc /.msb /run
exit 0`}})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	all := fmt.Sprint(res, events)
	if res.Exit != 0 || strings.Contains(all, canary) || !strings.Contains(all, "Bearer $MSB_TOKEN") {
		t.Errorf("got %+v\n%s", res, strings.Join(events, "\n"))
	}
	if want := "[Bearer " + canary + " Bearer " + canary + "]"; fmt.Sprint(got) != want {
		t.Errorf("upstream got %v, want %s", got, want)
	}
}
