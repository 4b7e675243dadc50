//go:build linux

package core_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// cloned serves a repository with one commit for those that have the token.
func cloned(t *testing.T, token string) (addr string, conf func(*core.Config), model *modelserver.Server) {
	t.Helper()
	addr, pool := tlsServer(t, hosting(t, token), "code.example.net")
	model = modelserver.NewTLS(modelserver.Config{})
	t.Cleanup(model.Close)
	roots := pool.Clone()
	roots.AddCert(model.Certificate())
	return addr, func(c *core.Config) { c.Roots, c.BoxSelf = roots, true }, model
}

// TestAgentOnAnImage: a real CLI works in a box whose root is an image of Debian packages, with git, curl, node and a CA
// bundle, and with nothing of the host but the CLI itself.
func TestAgentOnAnImage(t *testing.T) {
	need.Full(t, "it builds an image of some 400 MB")
	for program, debian := range map[string]string{"git": "git", "curl": "curl", "node": "nodejs", "dpkg-query": "dpkg"} {
		need.Program(t, program, debian)
	}
	t.Setenv("CODE_TOKEN", guideToken)
	code, conf, model := cloned(t, guideToken)
	_, port, _ := strings.Cut(model.Addr(), ":")
	modules := npmcli.Modules(t, "claude")
	src := fmt.Sprintf(`
(def profile {:image {:base {:host ["git" "curl" "nodejs" "ca-certificates"] :changed :take} :env {"MADE" "here"}}
              :read [%q] :env {"PATH" "/usr/bin:/bin:%s/.bin"} :memory "2G"
              :secrets [{:env "CODE_TOKEN" :hosts ["code.example.net"]}]
              :egress {:allow [{:host "code.example.net" :addr %q} {:host "example.com:%s" :addr %q}]}})
(def res (atom nil))
(defn run [prompt] (reset! res (spawn/spawn {:role :worker :backend :claude :model "m1" :base-url "https://example.com:%s" :api-key-env %q :tools ["Bash"]
                                             :sandbox profile :timeout "4m" :grace "1s" :prompt prompt})))
`, modules, modules, code, port, model.Addr(), port, keyVar) + worker
	r := startReal(t, "claude", src, conf)
	if got := eval(t, r.Core, `(:usable (zeno.sandbox/probe))`); got != "true" {
		need.Skip(t, "no boxes here: %s", eval(t, r.Core, `(zeno.sandbox/probe)`))
	}
	prompt := "work " + marks(`(save! "x")`)
	for _, c := range []string{
		`echo "root=$(grep -c . /etc/passwd) made=$MADE gcc=$(ls /usr/bin/gcc 2>&1 | grep -c 'No such')"`,
		`git version && git config --global user.email a@example.net && git config --global user.name a && git clone -q "https://x:$CODE_TOKEN@code.example.net/me/mine.git" c && cd c && echo hello > f && git add f && git commit -qm one && git push -q origin HEAD:main && git log --format=%s`,
		`curl -sS -o /dev/null -w 'curl=%{http_code}' -u "x:$CODE_TOKEN" "https://code.example.net/me/mine.git/info/refs?service=git-upload-pack"`,
		`node -e 'fetch("https://code.example.net/me/mine.git/info/refs?service=git-upload-pack").then(r => console.log("node=" + r.status))'`,
		`echo "authorities=$(grep -c BEGIN $SSL_CERT_FILE) of=$(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt) type=$(stat -c %F /etc/ssl/certs/ca-certificates.crt)"`,
	} {
		prompt += fmt.Sprintf(`[[call: Bash {"command":%q}]]`, c)
	}
	eval(t, r.Core, `(run `+quote(prompt+marks(`(count (notes))`))+`)`)
	r.want(t, `[(:status @res) (:evals @res) (:boxed @res) (:error @res) (:answer @res)]`, `[:ok 2 true nil "RESULT: => 3"]`)
	r.model.Close()
	r.model = model
	t.Logf("%q", r.told())
	_, _ = os.Stat, filepath.Join
	_ = exec.Command
}
