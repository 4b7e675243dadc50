package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/native"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

const (
	serveWord = "serve-body"
	// bodySize is what is loaded, and slowerBar how much longer it may take through the proxy: 60 % of direct.
	bodySize  = 200 << 20
	slowerBar = 1 / 0.6
	// smallRequests go over one connection; the first, which opens it, does not count.
	smallRequests = 200
	bodyHost      = "example.com" // the name in httptest's certificate
)

// serveChild is the server, a process of its own as any server is. It prints its address and its certificate and ends
// with its input.
func serveChild() error {
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7919 >> 5)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			_, _ = w.Write([]byte("ok"))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(bodySize))
		for range bodySize / len(block) {
			_, _ = w.Write(block)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	fmt.Println(s.Listener.Addr())
	if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		own, _, err := rusages()
		if err != nil {
			return err
		}
		fmt.Println(own)
	}
	return nil
}

// upstream is that process, as seen from here.
type upstream struct {
	addr, ca string // ca is a file
	pool     *x509.CertPool
	in       io.WriteCloser
	lines    *bufio.Scanner
	stop     func()
}

func startUpstream(dir string) (*upstream, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, serveWord)
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	u := &upstream{ca: filepath.Join(dir, "server.pem"), pool: x509.NewCertPool(), in: in, lines: bufio.NewScanner(out),
		stop: func() { _ = in.Close(); _ = c.Wait() }}
	var cert strings.Builder
	for u.lines.Scan() {
		if u.addr == "" {
			u.addr = u.lines.Text()
			continue
		}
		cert.WriteString(u.lines.Text() + "\n")
		if strings.HasPrefix(u.lines.Text(), "-----END") {
			break
		}
	}
	if !u.pool.AppendCertsFromPEM([]byte(cert.String())) {
		u.stop()
		return nil, fmt.Errorf("server: got %q, want an address and a certificate", u.addr)
	}
	return u, os.WriteFile(u.ca, []byte(cert.String()), 0o600)
}

// throughEgress measures curl in a box, through the proxy, beside curl without either, in turn: a body of 200 MB, and
// small requests on one connection. version is an option of curl.
func throughEgress(version string) func(rounds int) ([]measured, error) {
	return func(rounds int) ([]measured, error) {
		if runtime.GOOS != "linux" {
			return nil, nil
		}
		if _, err := exec.LookPath("curl"); err != nil {
			return nil, fmt.Errorf("%w: install it (Debian: apt-get install curl)", err)
		}
		dir, err := os.MkdirTemp("", "zeno-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		up, err := startUpstream(dir)
		if err != nil {
			return nil, err
		}
		defer up.stop()
		_, stage2, err := buildBoxed(dir)
		if err != nil {
			return nil, err
		}
		b, err := native.New(native.Config{StateDir: filepath.Join(dir, "state"), Stage2: stage2})
		if err != nil {
			return nil, err
		}
		defer b.Close()
		var out []measured
		for _, bound := range []bool{false, true} {
			lines, err := egressPair(up, b, version, bound, rounds)
			if err != nil {
				return nil, err
			}
			out = append(out, lines...)
		}
		return out, nil
	}
}

// loads are loads of the body, one way.
type loads struct {
	wall, server, client, proxy []float64 // milliseconds; all but wall are of the processor
}

func (l *loads) sum() float64 { return median(l.server) + median(l.client) + median(l.proxy) }

// once loads the body and notes what each process spent on it.
func (l *loads) once(up *upstream, run curl, version string) error {
	server, err := up.cpu()
	if err != nil {
		return err
	}
	own, children, err := rusages()
	if err != nil {
		return err
	}
	wall, err := loadBody(run, version)
	if err != nil {
		return err
	}
	own2, children2, err := rusages()
	if err != nil {
		return err
	}
	server2, err := up.cpu()
	l.wall, l.server = append(l.wall, 1000*wall), append(l.server, server2-server)
	l.client, l.proxy = append(l.client, children2-children), append(l.proxy, own2-own)
	return err
}

type curl func(args []string) (string, error)

func egressPair(up *upstream, b *native.Backend, version string, bound bool, rounds int) ([]measured, error) {
	direct := func(args []string) (string, error) {
		args = append(args, "--cacert", up.ca, "--connect-to", bodyHost+":443:"+up.addr)
		out, err := exec.Command("curl", args...).Output()
		return string(out), err
	}
	boxed := func(args []string) (string, error) { return curlInBox(up, b, bound, args) }
	through, stop, err := relay(up.addr)
	if err != nil {
		return nil, err
	}
	defer stop()
	relayed := func(args []string) (string, error) {
		args = append(args, "--cacert", up.ca, "--connect-to", bodyHost+":443:"+through)
		out, err := exec.Command("curl", args...).Output()
		return string(out), err
	}
	var near, far, peer loads
	for i := range 3*rounds + 1 {
		if i == 1 {
			near, far, peer = loads{}, loads{}, loads{} // the first warms up
		}
		if err := peer.once(up, relayed, version); err != nil {
			return nil, err
		}
		if err := near.once(up, direct, version); err != nil {
			return nil, err
		}
		if err := far.once(up, boxed, version); err != nil {
			return nil, err
		}
	}
	nearSmall, err := smallOnes(direct, version)
	if err != nil {
		return nil, err
	}
	farSmall, err := smallOnes(boxed, version)
	if err != nil {
		return nil, err
	}
	kind := strings.TrimPrefix(version, "--")
	if bound {
		kind += ", a secret bound"
	}
	mbs := func(ms []float64) float64 { return bodySize / 1e3 / median(ms) }
	// What the processors allow, were none of them idle while the body passes.
	ceiling := max(far.sum()/float64(runtime.NumCPU()), median(far.server), median(far.client), median(far.proxy))
	return []measured{
		{"200 MB by curl in a box, " + kind + ", beside curl direct", ratio(far.wall, near.wall), slowerBar, "x"},
		{"the least of each", slices.Min(far.wall) / slices.Min(near.wall), 0, "x"},
		{"the least that these processors allow beside direct", ceiling / median(near.wall), 0, "x"},
		{"a relay of bytes in this process, which opens nothing, beside curl direct", ratio(peer.wall, near.wall), 0, "x"},
		{"direct", mbs(near.wall), 0, "MB/s"},
		{"in a box", mbs(far.wall), 0, "MB/s"},
		{"processor time of the server, direct", median(near.server), 0, "ms"},
		{"of curl, direct", median(near.client), 0, "ms"},
		{"of the server, with the proxy", median(far.server), 0, "ms"},
		{"of curl, in a box", median(far.client), 0, "ms"},
		{"of the proxy", median(far.proxy), 0, "ms"},
		{"small request on a warm connection, " + kind + ", more than direct", median(farSmall) - median(nearSmall), 2, "ms"},
	}, nil
}

// relay passes connections on to addr as they are: what any process between costs.
func relay(addr string) (at string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer near.Close()
				far, err := net.Dial("tcp", addr)
				if err != nil {
					return
				}
				defer far.Close()
				go pass(far, near)
				pass(near, far)
			}()
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }, nil
}

// rusages gives the milliseconds of processor time of this process and of its children that ended.
func rusages() (own, children float64, err error) {
	var u [2]syscall.Rusage
	for i, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		if err := syscall.Getrusage(who, &u[i]); err != nil {
			return 0, 0, fmt.Errorf("failed to read the processor time: %w", err)
		}
	}
	ms := func(u syscall.Rusage) float64 { return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 }
	return ms(u[0]), ms(u[1]), nil
}

// cpu asks the server for its processor time, in milliseconds.
func (u *upstream) cpu() (float64, error) {
	if _, err := u.in.Write([]byte("\n")); err != nil {
		return 0, err
	}
	if !u.lines.Scan() {
		return 0, fmt.Errorf("server: got no answer: %w", u.lines.Err())
	}
	return strconv.ParseFloat(u.lines.Text(), 64)
}

// loadBody gives the seconds that the body took.
func loadBody(run curl, version string) (float64, error) {
	out, err := run([]string{"-sSf", version, "-H", "Authorization: Bearer $MSB_TOKEN", "-o", "/dev/null", "-w", "%{size_download} %{time_total}\n", "https://" + bodyHost + "/"})
	if err != nil {
		return 0, fmt.Errorf("curl: %w: %s", err, out)
	}
	var n, s float64
	if _, err := fmt.Sscan(out, &n, &s); err != nil || n != bodySize {
		return 0, fmt.Errorf("curl: got %q, want %d bytes and a time", out, bodySize)
	}
	return s, nil
}

// smallOnes gives the milliseconds of each small request but the first.
func smallOnes(run curl, version string) ([]float64, error) {
	args := []string{"-sSf", version, "-w", "\n%{time_total}\n"}
	for range smallRequests {
		args = append(args, "https://"+bodyHost+"/small")
	}
	out, err := run(args)
	if err != nil {
		return nil, fmt.Errorf("curl: %w: %s", err, out)
	}
	var ms []float64
	for _, f := range strings.Fields(out) {
		if f == "ok" {
			continue
		}
		s, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, fmt.Errorf("curl: got %q, want times", out)
		}
		ms = append(ms, 1000*s)
	}
	return ms[1:], nil
}

func curlInBox(up *upstream, b *native.Backend, bound bool, args []string) (string, error) {
	conf := egress.Config{Roots: up.pool, Policy: egress.Policy{Allow: []egress.Rule{{Host: bodyHost, Port: 443, Addr: up.addr}}}}
	if bound {
		v, err := secret.New("a value of a secret 0123456789")
		if err != nil {
			return "", err
		}
		conf.Secrets = []egress.Secret{{Env: "TOKEN", Hosts: []string{bodyHost}, Value: v}}
	}
	p, err := egress.New(conf)
	if err != nil {
		return "", err
	}
	res, err := b.Run(context.Background(), sandbox.Spec{Argv: append([]string{"curl"}, args...), Proxy: p, Egress: sandbox.Egress{Default: sandbox.EgressDeny}, Timeout: time.Minute})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("in a box: got %+v", res)
	}
	return res.Out, err
}
