package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core"
)

// TestRehearsedAdvisor: in a dry run neither a CLI of the home's own nor an advisor is started; one that is a function plays
// itself.
func TestRehearsedAdvisor(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	own := `{:name :own :argv ["/bin/sh" "-c" "touch ` + mark + `"] :tool-name "eval" :stream {:rules [{:take {:answer "a"}}]}}`
	home := func(backend, advisor string) string {
		return strings.NewReplacer("BACKEND", backend, "AGENT", ":sandbox :none :advisor "+advisor).Replace(rehearsalHome)
	}
	for name, src := range map[string]string{
		"a map, twice":        home(own, `{:rubric "r" :backend `+own+`}`),
		"an advisor of omp's": home(`:omp :model "m"`, `{:model "m2"}`),
		"another CLI's":       home(`:claude`, `{:backend :codex :model "m2" :base-url "http://127.0.0.1:1" :api-key-env "ZENO_NO_SUCH_KEY"}`),
	} {
		t.Run(name, func(t *testing.T) {
			c, rep := rehearse(t, 2*time.Hour, src, "", core.Rehearsal{})
			wantCounts(t, rep, map[string]int{"spawn worker ok": 2})
			if name != "an advisor of omp's" {
				want(t, c, `(mapv :verdict (:advice @seen))`, `[:approve]`)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the home's own CLI was started")
			}
		})
	}
	objects := home(`:claude`, `{:rounds 1 :agent (fn [_] "VERDICT: object")}`)
	_, rep := rehearse(t, 2*time.Hour, objects, "", core.Rehearsal{})
	wantCounts(t, rep, map[string]int{"spawn worker rejected": 2})
}
