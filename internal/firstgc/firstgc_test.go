package firstgc

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestFirstCollectionEndsIt(t *testing.T) {
	if got := os.Getenv("GOGC"); got != "" {
		if putOff() {
			t.Errorf("got the first collection put off with GOGC=%s, want what the user says", got)
		}
		return
	}
	collected(t) // this process's own first collection, wherever that is
	if !putOff() {
		t.Fatal("got nothing put off, want the first collection")
	}
	if got := percent(); got != Percent {
		t.Errorf("got %d %% before a collection, want %d", got, Percent)
	}
	collected(t)
	for _, gogc := range []string{"50", "off"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestFirstCollectionEndsIt$")
		cmd.Env = append(os.Environ(), "GOGC="+gogc)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("GOGC=%s: %v\n%s", gogc, err, out)
		}
	}
}

// collected collects until the percent is Go's own.
func collected(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); percent() != 100; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("got %d %% after collections, want 100", percent())
		}
	}
}

func percent() int {
	got := debug.SetGCPercent(100)
	debug.SetGCPercent(got)
	return got
}
