package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/npmcli"
)

// scenarios are those of the public conformance suite that a server with one tool can be held to. The others need
// tools, prompts and resources of the suite's own.
var scenarios = []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection", "http-header-validation",
	"server-stateless", "server-session-lifecycle", "caching"}

// TestConformance runs the suite against a gateway that listens. Every check must succeed but those of
// testdata/conformance-expected.txt, and those must come out as it says: a listed check that succeeds is an error too, so
// that the list cannot outlive its reasons.
func TestConformance(t *testing.T) {
	path := npmcli.Need(t, "mcp-conformance")
	expected := expectedChecks(t)
	s := start(t, Config{})
	endpoint := withToken(t, s, issue(t, s, "reader", "conformance")) + "/mcp/reader"
	for scenario := range expected {
		if !slices.Contains(scenarios, scenario) {
			t.Errorf("conformance-expected.txt: got the scenario %q, want one that is run", scenario)
		}
	}
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			got := runScenario(t, path, endpoint, scenario)
			for check, why := range got {
				if !slices.Contains(expected[scenario], check) {
					t.Errorf("got %s: %s", check, why)
				}
			}
			for _, check := range expected[scenario] {
				if _, ok := got[check]; !ok {
					t.Errorf("conformance-expected.txt: got no %s, want it taken off the list", check)
				}
			}
		})
	}
}

// withToken serves the gateway with a token added to every request, since the suite sends none, and returns its URL.
// Host and Origin pass as they came.
func withToken(t *testing.T, s *Server, token string) string {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: s.Addr()}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}

// runScenario returns the checks that did not plainly succeed, as "id STATUS", and why.
func runScenario(t *testing.T, path, endpoint, scenario string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	program := filepath.Join(filepath.SplitList(path)[0], "conformance")
	cmd := exec.CommandContext(ctx, program, "server", "--url", endpoint, "--scenario", scenario, "--output-dir", dir)
	cmd.Env = []string{"PATH=" + path, "HOME=" + dir}
	out, _ := cmd.CombinedOutput() // it exits with 1 where a check fails; checks.json says which
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the suite left no result: %s", out)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(data, &checks); err != nil || len(checks) == 0 {
		t.Fatalf("checks: got %d and %v, want some: %s", len(checks), err, data)
	}
	odd := map[string]string{}
	for _, c := range checks {
		if c.Status != "SUCCESS" {
			odd[c.ID+" "+c.Status] = c.ErrorMessage
		}
	}
	t.Logf("%d checks, not plain successes: %q", len(checks), slices.Sorted(maps.Keys(odd)))
	return odd
}

// expectedChecks reads the list: "scenario check STATUS # reason" a line.
func expectedChecks(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "conformance-expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		entry, reason, _ := strings.Cut(strings.TrimSpace(line), "#")
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 || strings.TrimSpace(reason) == "" {
			t.Fatalf("conformance-expected.txt: got %q, want scenario, check, status, # and a reason", line)
		}
		expected[words[0]] = append(expected[words[0]], words[1]+" "+words[2])
	}
	return expected
}
