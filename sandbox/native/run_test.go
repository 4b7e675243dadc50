//go:build linux

package native_test

import (
	"testing"
)

func TestHello(t *testing.T) {
	b := backend(t)
	res := sh(t, b, "id; pwd; ls -la / /dev /work; mount; cat /proc/self/status | grep -E 'Cap|Secc|NoNew'; ps ax 2>&1; ip a 2>&1; env; ulimit -a")
	t.Logf("%+v\n%s\n%s", res, res.Out, res.Err)
}
