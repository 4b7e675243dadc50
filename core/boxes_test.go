package core_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/internal/need"
)

// A program runs things in boxes.
func TestBoxes(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Skip(t, "the native backend is Linux only")
	}
	stage2 := filepath.Join(t.TempDir(), "stage2")
	build := exec.Command("go", "build", "-o", stage2, "github.com/reflection-dev/zeno/sandbox/native/stage2/cmd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, err := core.New(core.Config{Stage2: stage2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, e := range []struct{ src, want string }{
		{`(select-keys (zeno.sandbox/run {:argv ["sh" "-c" "cat; echo $A; exit 3"] :in "hi\n" :env {"A" "b"}}) [:exit :out :status :killed-by])`,
			`{:exit 3, :out "hi\nb\n", :status :failed, :killed-by nil}`},
		{`(:killed-by (zeno.sandbox/run {:argv ["sleep" "60"] :timeout "100ms" :memory "64M" :cpus 1}))`, `:timeout`},
		{`(let [seen (atom "")] (zeno.sandbox/run {:argv ["echo" "x"] :out (fn [s] (swap! seen str s))}) @seen)`, `"x\n"`},
		{`(let [r (zeno.sandbox/omp {:argv ["sh" "-c" "cat >&2; printf '%s\\n' '{\"type\":\"session\",\"id\":\"s1\"}' notice '{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"stopReason\":\"stop\",\"content\":[{\"type\":\"text\",\"text\":\"né\"}],\"usage\":{\"input\":3,\"output\":2}}}'"] :in "a prompt"})]
		    [(:answer r) (:session r) (:error r) (:exit r) (:err r) (select-keys (:usage r) [:tokens-in :tokens-out])])`,
			`["né" "s1" nil 0 "a prompt" {:tokens-in 3, :tokens-out 2}]`},
		{`[(zeno.sandbox/ensure-volume! "v1") (zeno.sandbox/ensure-volume! "v1") (map :name (zeno.sandbox/volumes))]`, `[true false ("v1")]`},
		{`(do (zeno.sandbox/run {:argv ["sh" "-c" "echo kept > f"] :volume "v1"}) (:out (zeno.sandbox/run {:argv ["cat" "f"] :volume "v1"})))`, `"kept\n"`},
		{`(do (future (zeno.sandbox/run {:name "a" :argv ["sleep" "600"]}))
		      (loop [n 0] (when (and (< n 5000) (empty? (filter #(= "a" (:name %)) (zeno.sandbox/ps)))) (joker.time/sleep 20000000) (recur (inc n))))
		      (let [r (loop [n 0] (or (try (:out (zeno.sandbox/exec! "a" {:argv ["echo" "in"]})) (catch Error e (when (> n 5000) (throw e)))) (do (joker.time/sleep 20000000) (recur (inc n)))))]
		        (zeno.sandbox/stop! "a") r))`, `"in\n"`},
		{`(:out (zeno.sandbox/run {:argv ["sh" "-c" "cat /etc/resolv.conf; ls /.msb/tls"] :egress {:allow ["pkg.example.net" {:host "llm.lan" :addr "127.0.0.1:9" :port 9000}]}}))`,
			`"nameserver 127.0.0.53\noptions timeout:2 attempts:2 single-request\nbundle.pem\nca.pem\n"`},
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
		`(zeno.sandbox/run {:argv ["true"] :memory 5})`:                                                ":memory",
		`(zeno.sandbox/run {:argv ["true"] :image "none:such"})`:                                       ":image",
		`(zeno.sandbox/run {:argv ["true"] :egress {:allow ["a b"]}})`:                                 ":egress",
		`(zeno.sandbox/run {:argv ["true"] :egress :public :secrets [{:env "ZENO_NO" :hosts ["h"]}]})`: "ZENO_NO",
		`(zeno.sandbox/omp {:argv ["true"] :out 5})`:                                                   ":out",
		`(zeno.sandbox/run {:argv ["true"] :out 5})`:                                                   ":out",
		`(zeno.sandbox/stop! "none")`:                                                                  "none",
	} {
		if _, err := c.Eval(context.Background(), src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", src, err, want)
		}
	}
}
