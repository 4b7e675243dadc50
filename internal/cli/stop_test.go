package cli

import (
	"os"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/home"
)

// In the moment between the end of its socket and that of its lock a zeno is ending: `zeno stop` waits for it.
func TestStopOfOneThatIsEnding(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer discard(null)
	none := func(string) string { return "" }
	h, err := home.Resolve(t.TempDir(), none)
	if err != nil {
		t.Fatal(err)
	}
	release, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, release)
	if code := Main([]string{"--home", h.Dir, "stop"}, Std{In: null, Out: null, Err: null, Getenv: none}); code != ExitOK {
		t.Errorf("got exit code %d, want %d", code, ExitOK)
	}
}
