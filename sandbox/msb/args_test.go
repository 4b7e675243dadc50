package msb

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/sandbox"
)

func TestCreateArgs(t *testing.T) {
	full := sandbox.Spec{Name: "a1", Image: "zeno-agent:base", Argv: []string{"omp", "-p"}, Volume: "agent-a1", User: 1000, Read: []string{"/srv/fixtures"},
		Env:     map[string]string{"LANG": "C.UTF-8", "A": "x y=z"},
		Secrets: []sandbox.Secret{{Env: "GH_TOKEN", Hosts: []string{"github.com", "api.github.com"}}},
		Egress: sandbox.Egress{Default: sandbox.EgressDeny, Deny: []string{"gist.github.com"},
			Allow: []sandbox.Rule{{Host: "github.com"}, {Host: "*.githubusercontent.com:443"}, {Host: "llm.lan", Port: 8443}}},
		CPUs: 2, Memory: 1 << 30, Disk: 4 << 30, TTL: time.Hour}
	public := sandbox.Spec{Name: "p", Image: "x", Argv: []string{"a"}, Egress: sandbox.Egress{Default: sandbox.EgressPublic, Deny: []string{"evil.example.com:8080"}}}
	for _, c := range []struct {
		name string
		spec sandbox.Spec
		want string
	}{
		{"full", full, "create --replace -q -n zeno-a1 --label zeno=a1 -v agent-a1:/work:uid=1000,gid=1000 -w /work -v /srv/fixtures:/srv/fixtures:ro" +
			" -u 1000:1000 -e A=x y=z -e GIT_SSL_CAINFO=/.msb/tls/ca.pem -e LANG=C.UTF-8 --max-duration 3605s -c 2 -m 1024M --root-disk 4096M" +
			" --net-default-egress deny --net-default-ingress deny --net-rule deny@gist.github.com --net-rule allow@github.com:tcp:443" +
			" --net-rule allow@github.com:tcp:80 --net-rule allow@*.githubusercontent.com:tcp:443 --net-rule allow@llm.lan:tcp:8443" +
			" --net-rule allow@dns --net-strict --tls-intercept --secret GH_TOKEN@github.com,api.github.com --pull never zeno-agent:base"},
		{"nothing said", sandbox.Spec{Name: "n", Image: "x", Argv: []string{"a"}},
			"create --replace -q -n zeno-n --label zeno=n --mkdir /work -w /work --max-duration 86405s -c 2 -m 2048M --root-disk 4096M --no-net --pull never x"},
		{"public", public, "create --replace -q -n zeno-p --label zeno=p --mkdir /work -w /work -e GIT_SSL_CAINFO=/.msb/tls/ca.pem --max-duration 86405s -c 2" +
			" -m 2048M --root-disk 4096M --net public --net-rule deny@evil.example.com:tcp:8080 --net-strict --tls-intercept --pull never x"},
	} {
		s := c.spec.Defaults()
		if err := acceptable(&c.spec, &s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, strings.Join(createArgs(&s), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestExecArgs(t *testing.T) {
	s := sandbox.Spec{Name: "a1", Argv: []string{"make", "-n"}, User: 7, Pids: 99, Dir: "/src", Timeout: 1500 * time.Millisecond}.Defaults()
	got := strings.Join(execArgs(&s, []string{"in"}, map[string]string{"K": "v"}), " ")
	want := `exec --stream -q -w /src --timeout 7s -u 7:7 --rlimit nproc=99 -e K=v -e ZENO_IN_0 zeno-a1 -- /bin/sh -c printf %s "${ZENO_IN_0}" | { unset ZENO_IN_0; exec "$@"; } sh make -n`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What msb cannot hold is refused, with what to do; what it would misread names its field.
func TestWhatCannotBeEnforcedIsRefused(t *testing.T) {
	deny := func(rules ...sandbox.Rule) sandbox.Egress {
		return sandbox.Egress{Default: sandbox.EgressDeny, Allow: rules}
	}
	for _, c := range []struct {
		name   string
		change func(*sandbox.Spec)
		want   string
		field  bool
	}{
		{"another backend", func(s *sandbox.Spec) { s.Backend = "native" }, ":backend :native", false},
		{"gvisor", func(s *sandbox.Spec) { s.Runtime = "runsc" }, "leave :runtime out", false},
		{"filter", func(s *sandbox.Spec) { s.Seccomp = "strict" }, "own kernel", false},
		{"no image", func(s *sandbox.Spec) { s.Image = "" }, "zeno image load", false},
		{"host", func(s *sandbox.Spec) { s.Image = "host" }, "zeno image load", false},
		{"archive", func(s *sandbox.Spec) { s.Image = "./x.tar" }, "zeno image load", false},
		{"image that is an option", func(s *sandbox.Spec) { s.Image = "--net=all" }, ":image", true},
		{"half a processor", func(s *sandbox.Spec) { s.CPUs = 0.5 }, "whole", false},
		{"processes of root", func(s *sandbox.Spec) { s.Pids = 64 }, "give :user", false},
		{"writes", func(s *sandbox.Spec) { s.Write = []string{"/srv"} }, "use :volume", false},
		{"colon", func(s *sandbox.Spec) { s.Read = []string{"/srv/a:/etc"} }, ":read 0", true},
		{"comma", func(s *sandbox.Spec) { s.Workdir = "/work,x" }, ":workdir", true},
		{"address", func(s *sandbox.Spec) { s.Egress = deny(sandbox.Rule{Host: "10.0.0.1"}) }, "", false},
		{"keyword", func(s *sandbox.Spec) { s.Egress = deny(sandbox.Rule{Host: "public"}) }, "keyword", false},
		{"another address", func(s *sandbox.Spec) { s.Egress = deny(sandbox.Rule{Host: "llm.lan", Addr: "127.0.0.1:1"}) }, ":addr", false},
		{"everything", func(s *sandbox.Spec) { s.Egress = deny(sandbox.Rule{Host: "*"}) }, ":egress :public", false},
		{"two rules in one", func(s *sandbox.Spec) { s.Egress = deny(sandbox.Rule{Host: "a.example,allow@public"}) }, ":egress", true},
		{"denied keyword", func(s *sandbox.Spec) { s.Egress = sandbox.Egress{Default: "public", Deny: []string{"private"}} }, ":deny 0", false},
		{"secret in the body", func(s *sandbox.Spec) { s.Secrets[0].In = []string{"body"} }, "headers only", false},
		{"secret that steers msb", func(s *sandbox.Spec) { s.Secrets[0].Env = "LD_PRELOAD" }, "another name", false},
		{"secret that is a proxy", func(s *sandbox.Spec) { s.Secrets[0].Env = "https_proxy" }, "another name", false},
		{"secret for a list", func(s *sandbox.Spec) { s.Secrets[0].Hosts = []string{"a.example,b.example"} }, ":hosts", true},
		{"large input", func(s *sandbox.Spec) { s.In = strings.Repeat("x", MaxIn+1) }, "put it in the volume", true},
		{"binary input", func(s *sandbox.Spec) { s.In = "a\x00b" }, ":in", true},
		{"binary argument", func(s *sandbox.Spec) { s.Argv = []string{"a\xff"} }, ":argv", true},
		{"taken variable", func(s *sandbox.Spec) { s.Env = map[string]string{"ZENO_IN_0": "x"} }, "ZENO_IN_0", true},
	} {
		declared := box("true")
		declared.Egress = deny(sandbox.Rule{Host: "a.example"})
		declared.Secrets = []sandbox.Secret{{Env: "TOKEN", Hosts: []string{"a.example"}}}
		s := declared.Defaults()
		if err := acceptable(&declared, &s); err != nil {
			t.Fatalf("before the change: %v", err)
		}
		c.change(&declared)
		s = declared.Defaults()
		err := acceptable(&declared, &s)
		var no *sandbox.Unenforceable
		var field *sandbox.FieldError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &field) != c.field && c.want != "" || !errors.As(err, &no) && !errors.As(err, &field) {
			t.Errorf("%s: got %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestPartsAreWhole(t *testing.T) {
	text := strings.Repeat("a", inPart-1) + strings.Repeat("ö€😀", inPart/4)
	got := parts(text)
	if strings.Join(got, "") != text || len(got) < 2 {
		t.Fatalf("%d parts, want the text in several", len(got))
	}
	for i, p := range got {
		if len(p) > inPart || strings.ToValidUTF8(p, "") != p {
			t.Errorf("part %d: %d bytes, want at most %d and whole characters", i, len(p), inPart)
		}
	}
}
