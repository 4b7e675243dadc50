//go:build linux

package native_test

import (
	"context"
	"os/exec"
	"sort"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// bwrapArgs is a box of bubblewrap's with the namespaces and mounts of ours.
func bwrapArgs() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt",
		"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"}
	for _, f := range []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/localtime",
		"/etc/protocols", "/etc/services", "/etc/mime.types", "/etc/java-17-openjdk"} {
		args = append(args, "--ro-bind-try", f, f)
	}
	return append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/work", "--chdir", "/work", "true")
}

func BenchmarkTrue(b *testing.B) { benchmarkTrue(b, false) }

// BenchmarkTrueAlone makes every first process anew.
func BenchmarkTrueAlone(b *testing.B) { benchmarkTrue(b, true) }

// pause lets what the run before left to the kernel, or has made meanwhile, end: neither side pays for the other.
const pause = 10 * time.Millisecond

// benchmarkTrue runs `true` in a box and in bubblewrap's in turn, and reports the ratio of the medians and of the minima.
func benchmarkTrue(b *testing.B, alone bool) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		need.Skip(b, "bubblewrap is not installed")
	}
	be := backend(b, func(c *native.Config) { c.NoSpare = alone })
	var ours, theirs []time.Duration
	spec := sandbox.Spec{Argv: []string{"true"}}
	for range b.N {
		time.Sleep(pause)
		begin := time.Now()
		if res, err := be.Run(context.Background(), spec); err != nil || res.Exit != 0 {
			b.Fatal(res, err)
		}
		ours = append(ours, time.Since(begin))
		time.Sleep(pause)
		begin = time.Now()
		if out, err := exec.Command(bwrap, bwrapArgs()...).CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
		theirs = append(theirs, time.Since(begin))
	}
	sort.Slice(ours, func(i, j int) bool { return ours[i] < ours[j] })
	sort.Slice(theirs, func(i, j int) bool { return theirs[i] < theirs[j] })
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(ours[len(ours)/2]), "zeno-p50-ms")
	b.ReportMetric(ms(theirs[len(theirs)/2]), "bwrap-p50-ms")
	b.ReportMetric(ms(ours[0]), "zeno-min-ms")
	b.ReportMetric(ms(theirs[0]), "bwrap-min-ms")
	b.ReportMetric(ms(ours[len(ours)/2])/ms(theirs[len(theirs)/2]), "ratio-p50")
	b.ReportMetric(ms(ours[0])/ms(theirs[0]), "ratio-min")
}
