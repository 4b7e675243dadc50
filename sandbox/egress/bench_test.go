package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
)

// pair is a client without the proxy and one with it, to the same server. Both speak h1, or both h2.
type pair struct {
	direct, proxied *http.Client
}

func newPair(b *testing.B, h http.Handler, h2, bound bool) pair {
	w := newWorld(b)
	addr := w.server("api.example.com", h)
	conf := Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool}
	if bound {
		conf.Secrets = []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(b, canary)}}
	}
	x := startBox(b, conf)
	proxied := x.client().Transport.(*http.Transport)
	direct := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.pool, ServerName: "api.example.com"}, ForceAttemptHTTP2: h2, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}}
	proxied.ForceAttemptHTTP2 = h2
	if !h2 {
		direct.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		proxied.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	b.Cleanup(direct.CloseIdleConnections)
	return pair{&http.Client{Transport: direct}, &http.Client{Transport: proxied}}
}

func fetch(b *testing.B, c *http.Client) (int64, time.Duration) {
	began := time.Now()
	req, _ := http.NewRequest("GET", "https://api.example.com/", nil)
	req.Header.Set("Authorization", "Bearer $MSB_TOKEN")
	res, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != 200 {
		b.Fatal(res.StatusCode, err)
	}
	return n, time.Since(began)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkLatency reports the median of a small request on a warm connection, direct and through the proxy in turn.
func BenchmarkLatency(b *testing.B) {
	for _, h2 := range []bool{false, true} {
		b.Run(fmt.Sprintf("h2=%v", h2), func(b *testing.B) {
			p := newPair(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), h2, true)
			for range 20 {
				fetch(b, p.direct)
				fetch(b, p.proxied)
			}
			var direct, proxied []time.Duration
			for b.Loop() {
				_, d := fetch(b, p.direct)
				direct = append(direct, d)
				_, d = fetch(b, p.proxied)
				proxied = append(proxied, d)
			}
			d, q := median(direct), median(proxied)
			b.ReportMetric(float64(d.Microseconds()), "direct-p50-us")
			b.ReportMetric(float64(q.Microseconds()), "proxied-p50-us")
			b.ReportMetric(float64((q - d).Microseconds()), "overhead-p50-us")
		})
	}
}

// BenchmarkThroughput reports a body of 200 MB, direct and through the proxy in turn, with and without secrets to look for.
func BenchmarkThroughput(b *testing.B) {
	const size = 200 << 20
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7919 >> 5)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	})
	for _, h2 := range []bool{false, true} {
		for _, bound := range []bool{false, true} {
			b.Run(fmt.Sprintf("h2=%v/scrub=%v", h2, bound), func(b *testing.B) {
				p := newPair(b, h, h2, bound)
				fetch(b, p.direct)
				fetch(b, p.proxied)
				var direct, proxied []time.Duration
				var cpu [2]time.Duration
				for b.Loop() {
					was := cpuTime()
					_, d := fetch(b, p.direct)
					direct = append(direct, d)
					cpu[0] += cpuTime() - was
					was = cpuTime()
					_, d = fetch(b, p.proxied)
					proxied = append(proxied, d)
					cpu[1] += cpuTime() - was
				}
				b.ReportMetric(100*cpu[0].Seconds()/cpu[1].Seconds(), "%-by-cpu")
				d, q := median(direct), median(proxied)
				b.ReportMetric(size/d.Seconds()/1e6, "direct-MB/s")
				b.ReportMetric(size/q.Seconds()/1e6, "proxied-MB/s")
				b.ReportMetric(100*d.Seconds()/q.Seconds(), "%-of-direct")
			})
		}
	}
}

// cpuTime is what this process has used: on a busy machine it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThroughputCurl is the same with curl, in a process of its own, and CONNECT.
func BenchmarkThroughputCurl(b *testing.B) {
	if _, err := exec.LookPath("curl"); err != nil {
		need.Skip(b, "%v", err)
	}
	const size = 200 << 20
	block := make([]byte, 1<<20)
	w := newWorld(b)
	addr := w.server("api.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(Config{Policy: Policy{Allow: []Rule{at("api.example.com", addr)}}, Roots: w.pool})
	if err != nil {
		b.Fatal(err)
	}
	x := &box{t: b, p: p}
	x.serve(func(ctx context.Context) error { return p.ServeForward(ctx, sandbox.Listeners{}, l) })
	ca := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, append(p.CA(), w.ca.pem...), 0o600); err != nil {
		b.Fatal(err)
	}
	curl := func(args ...string) time.Duration {
		out, err := exec.Command("curl", append(args, "-sSf", "--http1.1", "--cacert", ca, "-o", "/dev/null", "-w", "%{time_total}", "https://api.example.com/")...).CombinedOutput()
		took, bad := time.ParseDuration(string(out) + "s")
		if err != nil || bad != nil {
			b.Fatal(err, bad, string(out))
		}
		return took
	}
	var direct, proxied []time.Duration
	for b.Loop() {
		direct = append(direct, curl("--connect-to", "api.example.com:443:"+addr))
		proxied = append(proxied, curl("-x", "http://"+l.Addr().String()))
	}
	d, q := median(direct), median(proxied)
	b.ReportMetric(size/d.Seconds()/1e6, "direct-MB/s")
	b.ReportMetric(size/q.Seconds()/1e6, "proxied-MB/s")
	b.ReportMetric(100*slices.Min(direct).Seconds()/slices.Min(proxied).Seconds(), "%-of-direct-best")
	b.ReportMetric(100*d.Seconds()/q.Seconds(), "%-of-direct")
}
