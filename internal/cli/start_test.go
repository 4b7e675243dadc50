package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// startLimits are packages known to do work when the process starts, and the bytes that takes them, doubled. Bytes do not
// depend on how busy the machine is.
var startLimits = map[string]int{
	"github.com/santhosh-tekuri/jsonschema/v6": 3_500_000, // of mcp-go's server: it compiles its schemas
	"github.com/yuin/goldmark/util":            900_000,   // a table of HTML's entities
	"github.com/yuin/goldmark/extension":       600_000,   // the expressions that find links: 4 ms
}

// startLimit is what any other package may take.
const startLimit = 200_000

// Every command pays for what packages do before main. One that compiles large regular expressions there takes 266 KB and
// 4 ms: this finds the next one.
func TestNoPackageIsSlowToStart(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inits := regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs`).FindAllSubmatch(out, -1)
	if len(inits) < 50 {
		t.Fatalf("got %d packages, want at least 50: the trace is not read right", len(inits))
	}
	total := 0
	for _, m := range inits {
		bytes, _ := strconv.Atoi(string(m[2]))
		total += bytes
		limit := startLimits[string(m[1])]
		if limit == 0 {
			limit = startLimit
		}
		if bytes > limit {
			t.Errorf("%s: got %d bytes when the process starts, want at most %d: do it at first use", m[1], bytes, limit)
		}
	}
	if total > 4_500_000 {
		t.Errorf("all packages: got %d bytes when the process starts, want at most 4,500,000", total)
	}
	t.Logf("%d packages, %d bytes", len(inits), total)
}
