//go:build linux

package core_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

const imageToken = "canary-image-19d4/+token"

// onImage is an instance whose program spawns CLIs on an image of this host's Debian packages: (on-image {…}). Of the host
// their box sees what :read names.
func onImage(t *testing.T) *real {
	t.Helper()
	for program, debian := range map[string]string{"git": "git", "curl": "curl", "node": "nodejs", "dpkg-query": "dpkg"} {
		need.Program(t, program, debian)
	}
	t.Setenv("CODE_TOKEN", imageToken)
	code, roots := tlsServer(t, hosting(t, imageToken), "code.example.net")
	model := modelserver.NewTLS(modelserver.Config{})
	t.Cleanup(model.Close)
	roots.AddCert(model.Certificate())
	_, port, _ := strings.Cut(model.Addr(), ":")
	host := modelserver.TLSName + ":" + port
	path := npmcli.Need(t, "codex") + ":" + npmcli.Need(t, "omp")
	r := startReal(t, "claude", fmt.Sprintf(`
(def image {:base {:host ["git" "curl" "nodejs" "ca-certificates"] :changed :take} :env {"MADE" "here"}})
(defn on-image [backend read opts]
  (spawn/spawn (merge {:role :worker :backend backend :model "m1" :base-url (str "https://%[1]s" (if (= backend :claude) "" "/v1")) :api-key-env %[2]q
                       :sandbox {:image image :read read :memory "2G" :secrets [{:env "CODE_TOKEN" :hosts ["code.example.net"]}]
                                 :egress {:allow [{:host "code.example.net" :addr %[3]q} {:host "%[1]s" :addr %[4]q}]}}
                       :timeout "4m" :grace "1s"} opts)))
`, host, keyVar, code, model.Addr())+worker, func(c *core.Config) {
		c.Roots, c.BoxSelf, c.Path = roots, true, c.Path+":"+path
	})
	r.model.Close()
	r.model = model
	if got := eval(t, r.Core, `(:usable (zeno.sandbox/probe))`); got != "true" {
		need.Skip(t, "no boxes here: %s", eval(t, r.Core, `(zeno.sandbox/probe)`))
	}
	return r
}

// bash is a mark by which claude runs a command in its box.
func bash(command string) string {
	return fmt.Sprintf(`[[call: Bash {"command":%q}]] `, command)
}

// TestAgentOnAnImage: real CLIs work in a box whose root is an image of Debian packages with git, curl, node and a CA
// bundle, and has nothing of the host but the CLI's own package.
func TestAgentOnAnImage(t *testing.T) {
	need.Full(t, "it builds images of some 400 MB")
	r := onImage(t)
	t.Run("without the CLI", func(t *testing.T) { noneOnAnImage(t, r) })
	for _, cli := range []string{"codex", "omp"} {
		t.Run(cli, func(t *testing.T) { scriptOnAnImage(t, r, cli) })
	}
	t.Run("claude", func(t *testing.T) { claudeOnAnImage(t, r) })
}

// claudeOnAnImage works with git, curl and node, whose TLS the image's CA bundle and the proxy's certificate verify.
func claudeOnAnImage(t *testing.T, r *real) {
	prompt := "work " + marks(`(save! "x")`) +
		bash(`echo "made=$MADE users=$(cut -d: -f1 /etc/passwd | tr '\n' ,) gcc=$(test -e /usr/bin/gcc && echo there)"`) +
		bash(`git config --global user.email a@example.net; git config --global user.name a; git clone -q "https://x:$CODE_TOKEN@code.example.net/me/mine.git" c 2>/dev/null && cd c && echo hello > f && git add f && git commit -qm pushed-from-the-box && git push -q origin HEAD:main && git ls-remote origin main`) +
		bash(`curl -sS -o /dev/null -w 'curl=%{http_code}' -u "x:$CODE_TOKEN" "https://code.example.net/me/mine.git/info/refs?service=git-upload-pack"`) +
		bash(`node -e 'fetch("https://code.example.net/me/mine.git/HEAD", {headers: {authorization: "Basic " + btoa("x:" + process.env.CODE_TOKEN)}}).then(r => console.log("node=" + r.status))'`) +
		bash(`echo "authorities=$(grep -c BEGIN $SSL_CERT_FILE) of=$(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt) $(stat -c %F /etc/ssl/certs/ca-certificates.crt)"`) +
		bash(`SSL_CERT_FILE= GIT_SSL_CAINFO= CURL_CA_BUNDLE= curl -sS https://code.example.net/ 2>&1 | head -1`) +
		marks(`(count (notes))`)
	eval(t, r.Core, `(def res (on-image :claude [`+strconv.Quote(npmcli.Modules(t, "claude"))+`] {:tools ["Bash"] :prompt `+quote(prompt)+`}))`)
	r.want(t, `[(:status res) (:evals res) (:boxed res) (:error res) (:answer res)]`, `[:ok 2 true nil "RESULT: => 3"]`)
	told := r.told()
	if len(told) != 8 {
		t.Fatalf("got %d answers to calls, want 8: %q", len(told), told)
	}
	for i, want := range []string{`^=> :saved`, `^made=here users=root,nobody, gcc=$`, `^[0-9a-f]{40}\s+refs/heads/main`, `^curl=200`, `^node=200`,
		`^authorities=[0-9]{2,} of=[0-9]{2,} regular file`, `(?i)certificate`, `^=> 3`} {
		if !regexp.MustCompile(want).MatchString(told[i]) {
			t.Errorf("call %d: got %q, want %s", i, told[i], want)
		}
	}
	for _, text := range append(told, r.err.String(), fmt.Sprint(r.events(t))) {
		if strings.Contains(text, imageToken) {
			t.Errorf("the token is in %.300s", text)
		}
	}
}

// scriptOnAnImage: a launcher that names its interpreter by env finds the image's node, or its own that lies beside it.
func scriptOnAnImage(t *testing.T, r *real, cli string) {
	eval(t, r.Core, `(def res (on-image :`+cli+` [`+strconv.Quote(npmcli.Modules(t, cli))+`] {:prompt `+quote("work "+marks(`(save! "x")`, `(do 41)`))+`}))`)
	r.want(t, `[(:status res) (:evals res) (:boxed res) (:error res) (:answer res)]`, `[:ok 2 true nil "RESULT: => 41"]`)
}

// noneOnAnImage: the image has no CLI, and nothing shows it one.
func noneOnAnImage(t *testing.T, r *real) {
	eval(t, r.Core, `(def res (on-image :claude [] {:prompt "work"}))`)
	r.wantIn(t, `[(:status res) (:error res)]`, ":refused", "claude", ":read")
}
