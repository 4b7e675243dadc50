// Package need is how a test says what it needs of the machine. What is missing skips the test, and with ZENO_CI=1 fails it:
// a skip nobody sees proves nothing. internal/laws holds that no test skips in another way.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// CIVar is the environment variable that makes a skip a failure.
const CIVar = "ZENO_CI"

// Skip skips the test, or fails it where nothing may be missing.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(CIVar) == "1" {
		t.Fatalf(format+" ("+CIVar+"=1 makes a skip a failure)", args...)
	}
	t.Skipf(format, args...)
}

// Program finds a program on PATH; the package is what Debian calls what it comes in.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, "%s: not found; install it (Debian: apt-get install %s)", name, debian)
	}
	return path
}

// Full skips a test that takes long where -short is given. It is no lack of the machine: the full run of make test has it.
func Full(t testing.TB, takes string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: %s; make test runs it", takes)
	}
}
