package egress

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule  Rule
		name  string
		port  int
		match bool
	}{
		{Rule{Host: "pkg.example.net"}, "pkg.example.net", 443, true},
		{Rule{Host: "pkg.example.net"}, "pkg.example.net", 80, true},
		{Rule{Host: "pkg.example.net"}, "pkg.example.net", 8443, false},
		{Rule{Host: "pkg.example.net"}, "x.pkg.example.net", 443, false},
		{Rule{Host: "pkg.example.net"}, "xpkg.example.net", 443, false},
		{Rule{Host: "*.pkg.example.net"}, "pkg.example.net", 443, false},
		{Rule{Host: "*.pkg.example.net"}, "x.pkg.example.net", 443, true},
		{Rule{Host: "*.pkg.example.net"}, "y.x.pkg.example.net", 443, true},
		{Rule{Host: "*.pkg.example.net"}, "xpkg.example.net", 443, false},
		{Rule{Host: "*.pkg.example.net"}, ".pkg.example.net", 443, false},
		{Rule{Host: "PKG.example.net."}, "pkg.example.net", 443, true},
		{Rule{Host: "bücher.example"}, "xn--bcher-kva.example", 443, true},
		{Rule{Host: "llm.lan", Port: 8443}, "llm.lan", 8443, true},
		{Rule{Host: "llm.lan", Port: 8443}, "llm.lan", 443, false},
		{Rule{Host: "llm.lan", Addr: "127.0.0.1:11434"}, "llm.lan", 11434, true},
		{Rule{Host: "llm.lan", Addr: "127.0.0.1:11434"}, "llm.lan", 80, true},
		{Rule{Host: "*"}, "anything", 443, true},
	} {
		r, err := c.rule.compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.matches(c.name, c.port); got != c.match {
			t.Errorf("%v on %s:%d: got %v", c.rule, c.name, c.port, got)
		}
	}
	for _, bad := range []string{"", "a b", "127.0.0.1", "[::1]", "::1", "a:0", "a:99999", "a:x", "a:443:1", "*", "*.", "a.*.b", "a..b", "-", "0x7f.1", "http://a.com", "a.com/x", strings.Repeat("a", 64), "zeno.internal", "*.zeno.internal", "a\n", "123"} {
		r, err := ParseRule(bad)
		if bad == "*" || bad == "-" {
			continue
		}
		if err == nil {
			t.Errorf("%q: got %+v, want an error", bad, r)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	var v any
	text := `{"default":"deny","allow":["pkg.example.net","*.githubusercontent.com","llm.lan:8443",{"host":"llm.lan","addr":"127.0.0.1:11434","port":80}],"deny":["x.githubusercontent.com"],"hide-paths":true}`
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy(v)
	want := Policy{Default: Deny, Allow: []Rule{{Host: "pkg.example.net"}, {Host: "*.githubusercontent.com"}, {Host: "llm.lan", Port: 8443}, {Host: "llm.lan", Addr: "127.0.0.1:11434", Port: 80}}, Deny: []Rule{{Host: "x.githubusercontent.com"}}, HidePaths: true}
	if err != nil || !samePolicy(p, want) || !p.HidePaths {
		t.Errorf("got %+v %v", p, err)
	}
	for _, bad := range []string{`"open"`, `1`, `{"allow":"x"}`, `{"allow":[1]}`, `{"allow":["127.0.0.1"]}`, `{"allowed":[]}`, `{"default":"none","allow":["a.com"]}`, `{"allow":[{"host":"a.com","addr":"b.com"}]}`, `{"allow":[{"host":"a.com","port":1.5}]}`, `{"allow":[{"addr":"1.2.3.4"}]}`} {
		if err := json.Unmarshal([]byte(bad), &v); err != nil {
			t.Fatal(err)
		}
		if p, err := ParsePolicy(v); err == nil {
			t.Errorf("%s: got %+v, want an error", bad, p)
		}
	}
}

func TestDenyWins(t *testing.T) {
	for _, mode := range []Mode{Deny, Public} {
		p, err := Policy{Default: mode, Allow: []Rule{{Host: "*.a.com"}}, Deny: []Rule{{Host: "x.a.com"}, {Host: "y.a.com", Port: 80}}}.compile()
		if err != nil {
			t.Fatal(err)
		}
		for host, want := range map[string]bool{"x.a.com 443": false, "y.a.com 80": false, "y.a.com 443": true, "z.a.com 443": true, "b.com 443": mode == Public, "b.com 22": false} {
			var name string
			var port int
			_, _ = fmt.Sscan(host, &name, &port)
			if _, got := p.find(name, port); got != want {
				t.Errorf("%s %s: got %v", mode, host, got)
			}
		}
	}
}

func TestReloadNeverOpens(t *testing.T) {
	w := newWorld(t)
	one, two := w.server("one.example.com", http.HandlerFunc(echo)), w.server("two.example.com", http.HandlerFunc(echo))
	private := w.plain(http.HandlerFunc(echo))
	launch := Policy{Allow: []Rule{at("one.example.com", one), at("two.example.com", two)}}
	b := startBox(t, Config{Policy: launch, Roots: w.pool})
	reach := func(url string) bool { status, _ := b.get(url); return status == 200 }
	if !reach("https://one.example.com/") || !reach("https://two.example.com/") {
		t.Fatal("both are open at the start")
	}
	set := func(p Policy, closed int) {
		t.Helper()
		got, err := b.p.SetPolicy(p)
		if err != nil || len(got) != closed {
			t.Errorf("got %v %v, want %d rules that stay closed", got, err, closed)
		}
	}
	set(Policy{Allow: []Rule{at("one.example.com", one), {Host: "three.example.com"}}}, 1)
	if !reach("https://one.example.com/") || reach("https://two.example.com/") || reach("https://three.example.com/") {
		t.Error("after closing two.example.com: one is to be open, two and three closed")
	}
	set(launch, 1)
	if reach("https://two.example.com/") {
		t.Error("a reload opened what was closed")
	}
	set(Policy{Default: Public}, 0)
	if reach("https://two.example.com/") || reach("https://four.example.com/") {
		t.Error(":public opened what was closed")
	}
	// Moving a name to another address would open that address.
	set(Policy{Allow: []Rule{{Host: "one.example.com", Addr: private}}}, 1)
	if reach("https://one.example.com/") || reach("http://one.example.com/") {
		t.Error("a reload moved a name to another address")
	}
	if _, err := b.p.SetPolicy(Policy{Allow: []Rule{{Host: "a b"}}}); err == nil {
		t.Error("got no error for a policy that is not clear")
	}
	for i := range maxReloads + 1 {
		_, err := b.p.SetPolicy(Policy{Allow: []Rule{{Host: fmt.Sprintf("n%d.example.com", i)}}})
		if i == maxReloads && (err == nil || !strings.Contains(err.Error(), "start the box anew")) {
			t.Errorf("got %v after many changes", err)
		}
	}
}

// A change cuts what runs.
func TestReloadCutsConnections(t *testing.T) {
	w := newWorld(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "start")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("one.example.com", w.server("one.example.com", h))}}, Roots: w.pool})
	res, err := b.client().Get("https://one.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.p.SetPolicy(Policy{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the stream ended in order, want it cut")
	}
}
