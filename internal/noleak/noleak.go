// Package noleak fails tests that leave a goroutine behind. The invariant: a goroutine that was told to end has ten
// seconds to do so, because on a loaded machine it may get no turn for a while, and one that waits for more than that is
// left behind. Start with Main.
package noleak

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take to end.
const patience = 10 * time.Second

// Main runs the tests of a package, then each of before, and exits: with 1 where all passed and a goroutine is left.
func Main(m interface{ Run() int }, before ...func()) {
	code := m.Run()
	for _, f := range before {
		f()
	}
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintf(os.Stderr, "the tests passed, and left goroutines: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find tells of the goroutines that are there beside the caller's and do not end within the patience.
func Find() error { return find(patience) }

func find(patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		err := goleak.Find() // it waits too, for less than half a second
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
