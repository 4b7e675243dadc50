package core_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
)

// The same words run a box of msb's: one of them picks it. The program is the stand-in of sandbox/msb's own tests.
func TestMSBBoxes(t *testing.T) {
	home := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "sandbox", "msb", "testdata", "msb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "msb"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSB_HOME", home)
	t.Setenv("TOKEN", "a-value-of-a-secret")
	c, err := core.New(core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, e := range []struct{ src, want string }{
		{`(select-keys (zeno.sandbox/run {:backend :msb :image "debian:12" :argv ["sh" "-c" "cat; exit 3"] :in "hi\n"}) [:exit :out :status :killed-by])`,
			`{:exit 3, :out "hi\n", :status :failed, :killed-by nil}`},
		{`(:status (zeno.sandbox/run {:backend :msb :image "debian:12" :argv ["true"] :egress {:allow ["pkg.example.net"]} :secrets [{:env "TOKEN" :hosts ["pkg.example.net"]}]}))`,
			`:ok`},
		{`(do (future (zeno.sandbox/run {:backend :msb :image "debian:12" :name "vm" :argv ["sleep" "60"]}))
		      (loop [n 0] (when (and (< n 10000) (empty? (zeno.sandbox/ps))) (joker.time/sleep 20000000) (recur (inc n))))
		      (let [r (loop [n 0] (or (try (:out (zeno.sandbox/exec! "vm" {:argv ["echo" "in"]})) (catch Error e (when (> n 5000) (throw e)))) (do (joker.time/sleep 20000000) (recur (inc n)))))
		            body (first (zeno.sandbox/ps))]
		        (zeno.sandbox/stop! "vm")
		        [r (:backend body)]))`, `["in\n" "msb"]`},
	} {
		v, err := c.Eval(context.Background(), `(pr-str `+e.src+`)`)
		if err != nil {
			t.Errorf("%s: %v", e.src, err)
			continue
		}
		if got := v.Text(); got != e.want {
			t.Errorf("%s: got %s, want %s", e.src, got, e.want)
		}
	}
	for src, want := range map[string]string{
		`(zeno.sandbox/run {:backend :msb :argv ["true"]})`: "zeno image load",
		`(zeno.sandbox/run {:backend :msb :image "x:y" :argv ["true"] :egress :public :secrets [{:env "ZENO_NO" :hosts ["a.example"]}]})`: "ZENO_NO",
		`(zeno.sandbox/run {:backend :msb :image "x:y" :argv ["true"] :egress {:allow [{:host "llm.lan" :addr "127.0.0.1:9"}]}})`:         ":addr",
	} {
		if _, err := c.Eval(context.Background(), src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", src, err, want)
		}
	}
}
