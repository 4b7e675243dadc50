package control_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("CONTROL_TEST_SERVE"); dir != "" {
		serveForever(dir)
	}
	noleak.Main(m)
}

// serveForever is a zeno that can be killed.
func serveForever(dir string) {
	s := control.New(control.Config{Dir: dir})
	s.Register(control.Verb{Name: "hang", Call: func(ctx context.Context, _ control.Request) (any, error) {
		fmt.Println("hanging")
		time.Sleep(time.Hour)
		return nil, nil
	}}, control.Verb{Name: "drip", Stream: func(ctx context.Context, _ control.Request, send func(any) error) error {
		for i := 0; ; i++ {
			if err := send(i); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}})
	if err := s.Start(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// start gives a server with a few verbs, and a client of it.
func start(t *testing.T, conf control.Config, verbs ...control.Verb) (*control.Server, *control.Client) {
	t.Helper()
	if conf.Dir == "" {
		conf.Dir = t.TempDir()
	}
	s := control.New(conf)
	s.Register(verbs...)
	s.Register(control.Verb{Name: "echo", Call: func(_ context.Context, q control.Request) (any, error) {
		var in struct {
			Text string `json:"text"`
		}
		if err := q.Decode(&in); err != nil {
			return nil, err
		}
		return map[string]any{"text": in.Text, "by": q.By}, nil
	}}, control.Verb{Name: "change", Change: true, Call: func(context.Context, control.Request) (any, error) { return "changed", nil }})
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	c, err := control.Dial(context.Background(), conf.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return s, c
}

type echoed struct {
	Text string
	By   control.By
}

// The kernel says who calls; the socket and the token are this user's alone.
func TestWhoCalls(t *testing.T) {
	dir := t.TempDir()
	_, c := start(t, control.Config{Dir: dir})
	var got echoed
	if err := c.Call(context.Background(), "echo", map[string]string{"text": "é\u202e"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Text != "é\u202e" || got.By.UID != os.Getuid() || got.By.PID != os.Getpid() || got.By.Via != "socket" {
		t.Errorf("got %+v, want the text and this process", got)
	}
	for _, name := range []string{control.SocketFile, control.TokenFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info.Mode(), err)
		}
	}
}

// A verb that takes more than others do says so.
func TestMaxBodyOfAVerb(t *testing.T) {
	_, c := start(t, control.Config{MaxBody: 1000}, control.Verb{Name: "roomy", MaxBody: 10_000,
		Call: func(_ context.Context, q control.Request) (any, error) {
			var in struct{ Text string }
			return nil, q.Decode(&in)
		}})
	if err := c.Call(context.Background(), "roomy", map[string]string{"text": strings.Repeat("x", 5000)}, nil); err != nil {
		t.Errorf("5000 bytes: got %v, want no error", err)
	}
	if err := c.Call(context.Background(), "roomy", map[string]string{"text": strings.Repeat("x", 20_000)}, nil); err == nil {
		t.Error("20000 bytes: got no error, want one")
	}
}

func TestErrors(t *testing.T) {
	_, c := start(t, control.Config{MaxBody: 1000}, control.Verb{Name: "panics", Call: func(context.Context, control.Request) (any, error) { panic("secret reason") }},
		control.Verb{Name: "fails", Call: func(context.Context, control.Request) (any, error) { return nil, errors.New("disk: full") }})
	for name, test := range map[string]struct {
		verb string
		in   any
		kind string
		want string
	}{
		"unknown verb":    {"ecko", nil, control.Unknown, `got "ecko", want one of change, echo, fails, panics`},
		"unknown option":  {"echo", map[string]int{"txt": 1}, control.Usage, "txt"},
		"wrong type":      {"echo", map[string]int{"text": 1}, control.Usage, "text"},
		"a huge argument": {"echo", map[string]string{"text": strings.Repeat("x", 2000)}, "too-big", "1000 bytes"},
		"a failure":       {"fails", nil, control.Failed, "disk: full"},
		"a panic":         {"panics", nil, control.Failed, "internal error"},
	} {
		err := c.Call(context.Background(), test.verb, test.in, nil)
		var e *control.Error
		if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Message, test.want) || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: got %v, want %s with %q", name, err, test.kind, test.want)
		}
	}
	var got string
	if err := c.Call(context.Background(), "change", nil, &got); err != nil || got != "changed" {
		t.Errorf("got %q, %v after all that, want it to work", got, err)
	}
}

// Off the socket only the admin token counts, and no page of another origin can use even that.
func TestTokenAndOrigin(t *testing.T) {
	dir := t.TempDir()
	s, _ := start(t, control.Config{Dir: dir})
	addr, err := s.ListenTCP(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token, err := control.Token(dir)
	if err != nil || token != s.AdminToken() {
		t.Fatalf("got %q, %v, want the server's token", token, err)
	}
	for name, test := range map[string]struct {
		method, host, origin, auth string
		want                       int
	}{
		"right":                 {"POST", "", "", "Bearer " + token, 200},
		"right, of this origin": {"POST", "", "http://" + addr.String(), "Bearer " + token, 200},
		"by name":               {"POST", "localhost", "", "Bearer " + token, 200},
		"none":                  {"POST", "", "", "", 403},
		"wrong":                 {"POST", "", "", "Bearer " + strings.Repeat("A", len(token)), 403},
		"a part":                {"POST", "", "", "Bearer " + token[:10], 403},
		"empty":                 {"POST", "", "", "Bearer ", 403},
		"another scheme":        {"POST", "", "", "Basic " + token, 403},
		"a foreign page":        {"POST", "", "https://evil.example", "Bearer " + token, 403},
		"another port's page":   {"POST", "", "http://127.0.0.1:1", "Bearer " + token, 403},
		"null":                  {"POST", "", "null", "Bearer " + token, 403},
		"rebinding":             {"POST", "evil.example", "", "Bearer " + token, 403},
		"a change by GET":       {"GET", "", "", "Bearer " + token, 400},
	} {
		req, _ := http.NewRequest(test.method, "http://"+addr.String()+"/v1/change", nil)
		if test.host != "" {
			req.Host = test.host
		}
		if test.origin != "" {
			req.Header.Set("Origin", test.origin)
		}
		if test.auth != "" {
			req.Header.Set("Authorization", test.auth)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != test.want || bytes.Contains(b, []byte(token)) {
			t.Errorf("%s: got %d %s, want %d", name, res.StatusCode, b, test.want)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// A token file that others could have read, or that is damaged, is replaced.
func TestTokenFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, control.TokenFile)
	first, err := control.Token(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := control.Token(dir); err != nil || again != first {
		t.Errorf("got %q, %v, want the same token", again, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	second, err := control.Token(dir)
	if err != nil || second == first {
		t.Errorf("got %v and the token that others could read, want another", err)
	}
	if err := os.WriteFile(file, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if third, err := control.Token(dir); err != nil || len(third) < 43 {
		t.Errorf("got %q, %v, want a whole token", third, err)
	}
	if err := errors.Join(os.Remove(file), os.Symlink("/etc/hostname", file)); err != nil {
		t.Fatal(err)
	}
	if got, err := control.Token(dir); err == nil {
		t.Errorf("got %q through a link, want an error", got)
	}
}

// Clients that are slow, huge, partial or many harm nobody else.
func TestHostileClients(t *testing.T) {
	dir := t.TempDir()
	_, c := start(t, control.Config{Dir: dir, MaxConns: 8, ReadTimeout: 300 * time.Millisecond, WriteTimeout: 300 * time.Millisecond, MaxBody: 1 << 16},
		control.Verb{Name: "big", Call: func(context.Context, control.Request) (any, error) { return strings.Repeat("x", 32<<20), nil }})
	path := filepath.Join(dir, control.SocketFile)
	open := func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	ended := func(what string, conn net.Conn) {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open, want it ended", what)
		}
	}
	for what, text := range map[string]string{
		"silent":          "",
		"half a line":     "POST /v1/echo HT",
		"no end of heads": "POST /v1/echo HTTP/1.1\r\nHost: x\r\nX: ",
		"half a body":     "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"text\":",
		"huge heads":      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<16) + "\r\n\r\n",
		"a huge body":     "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + strings.Repeat("x", 1<<17),
		"no HTTP":         "\x00\xff\x00\n\n\n",
	} {
		conn := open()
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte(text)) // it may be cut off
		ended(what, conn)
		_ = conn.Close()
	}
	// One that reads nothing of a large answer.
	slow := open()
	_, _ = slow.Write([]byte("POST /v1/big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"))
	hungUp(t, slow.(*net.UnixConn))
	ended("reads nothing", slow)
	// Too many: those beyond are closed at once, and there is room again when others end.
	var many []net.Conn
	for range 12 {
		many = append(many, open())
	}
	var got echoed
	for end := time.Now().Add(time.Minute); ; {
		err := c.Call(context.Background(), "echo", map[string]string{"text": "still"}, &got)
		if err == nil && got.Text == "still" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %v, want an answer once the idle ones have been ended", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, conn := range many {
		_ = conn.Close()
	}
}

// hungUp waits until the other side of a connection has closed it, and reads nothing.
func hungUp(t *testing.T, conn *net.UnixConn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		fds := make([]unix.PollFd, 1)
		if err := raw.Control(func(fd uintptr) {
			fds[0].Fd = int32(fd)
			_, _ = unix.Poll(fds, 0)
		}); err != nil {
			t.Fatal(err)
		}
		if fds[0].Revents&unix.POLLHUP != 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the connection of one that reads nothing is still open")
		}
	}
}

// A stream tells its end from being cut off, ends with its server, and notices a caller that has gone.
func TestStream(t *testing.T) {
	begun, gone := make(chan struct{}, 2), make(chan error, 2)
	var s *control.Server
	s, c := start(t, control.Config{Beat: 20 * time.Millisecond},
		control.Verb{Name: "three", Stream: func(_ context.Context, _ control.Request, send func(any) error) error {
			return errors.Join(send(1), send("zwei\n"), send(nil))
		}},
		control.Verb{Name: "half", Stream: func(_ context.Context, _ control.Request, send func(any) error) error {
			return errors.Join(send(1), errors.New("lost it"))
		}},
		control.Verb{Name: "none", Stream: func(context.Context, control.Request, func(any) error) error {
			return &control.Error{Kind: control.Usage, Message: "no such thing"}
		}},
		control.Verb{Name: "quiet", Stream: func(ctx context.Context, _ control.Request, _ func(any) error) error {
			begun <- struct{}{}
			<-ctx.Done()
			gone <- context.Cause(ctx)
			return ctx.Err()
		}})
	ctx := context.Background()
	var got []string
	take := func(item json.RawMessage) error { got = append(got, string(item)); return nil }
	if err := c.Stream(ctx, "three", nil, take); err != nil || strings.Join(got, ",") != `1,"zwei\n",null` {
		t.Errorf("got %v, %v, want three items", got, err)
	}
	if err := c.Stream(ctx, "half", nil, take); err == nil || !strings.Contains(err.Error(), "lost it") {
		t.Errorf("got %v, want the error after an item", err)
	}
	var e *control.Error
	if err := c.Stream(ctx, "none", nil, take); !errors.As(err, &e) || e.Kind != control.Usage {
		t.Errorf("got %v, want a usage error", err)
	}
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { <-begun; cancel() }()
	if err := c.Stream(short, "quiet", nil, take); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the server goes on for a caller that has gone")
	}
	done := make(chan error, 1)
	go func() { done <- c.Stream(ctx, "quiet", nil, take) }()
	<-begun
	stop, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.Stop(stop); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("got no error of a stream that the stop ended, want one")
	}
}

// Stop waits for calls under way and takes no more; the socket is gone.
func TestStopWaitsForCalls(t *testing.T) {
	dir := t.TempDir()
	begun, finish := make(chan struct{}), make(chan struct{})
	s, c := start(t, control.Config{Dir: dir}, control.Verb{Name: "slow", Call: func(context.Context, control.Request) (any, error) {
		close(begun)
		<-finish
		return "done", nil
	}})
	var got string
	done := make(chan error, 1)
	go func() { done <- c.Call(context.Background(), "slow", nil, &got) }()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Lstat(filepath.Join(dir, control.SocketFile)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the socket is still there")
		}
	}
	if _, err := control.Dial(context.Background(), dir); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("got %v, want that none runs", err)
	}
	close(finish)
	if err := errors.Join(<-done, <-stopped); err != nil || got != "done" {
		t.Errorf("got %q, %v, want the call to end first", got, err)
	}
}

// A home deep in the tree has a socket all the same: its path is longer than a socket's may be.
func TestLongPath(t *testing.T) {
	dir := t.TempDir()
	for len(dir) < 300 {
		dir = filepath.Join(dir, strings.Repeat("d", 40))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(dir, "s")); err == nil {
		_ = l.Close()
		need.Skip(t, "this system takes such paths as they are")
	}
	_, c := start(t, control.Config{Dir: dir})
	if err := c.Call(context.Background(), "change", nil, nil); err != nil {
		t.Error(err)
	}
	t.Setenv("TMPDIR", dir)
	if _, err := control.Dial(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got %v, want to be told of TMPDIR where that is long too", err)
	}
}

// A zeno that is killed in the middle of a call: the caller hears that it is not known what was done, and the next zeno
// takes the place of the socket that was left.
func TestKilledInACall(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONTROL_TEST_SERVE="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	wait := func(want string) {
		t.Helper()
		if got, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(got) != want {
			t.Fatalf("got %q, %v, want %s", got, err, want)
		}
	}
	wait("ready")
	c, err := control.Dial(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var seen atomic.Int64
	errs := make(chan error, 2)
	var wg sync.WaitGroup
	wg.Go(func() { errs <- c.Call(context.Background(), "hang", nil, nil) })
	wg.Go(func() {
		errs <- c.Stream(context.Background(), "drip", nil, func(json.RawMessage) error { seen.Add(1); return nil })
	})
	wait("hanging")
	for seen.Load() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for range 2 {
		if err := <-errs; !errors.Is(err, control.ErrCut) {
			t.Errorf("got %v, want ErrCut", err)
		}
	}
	_ = cmd.Wait()
	if _, err := os.Lstat(filepath.Join(dir, control.SocketFile)); err != nil {
		t.Fatalf("got %v, want the socket left behind: the test shows nothing", err)
	}
	if _, err := control.Dial(context.Background(), dir); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("got %v, want that none runs", err)
	}
	_, c2 := start(t, control.Config{Dir: dir})
	if err := c2.Call(context.Background(), "change", nil, nil); err != nil {
		t.Error(err)
	}
}

// What is in the socket's place and no socket is left alone.
func TestAFileInTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, control.SocketFile), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := control.New(control.Config{Dir: dir}).Start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("got %v, want it refused", err)
	}
}

// A handler that is mounted, a page or metrics, is behind the same door.
func TestMount(t *testing.T) {
	s, _ := start(t, control.Config{})
	s.Mount("metrics", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") }))
	addr, err := s.ListenTCP(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for auth, want := range map[string]int{"": 403, "Bearer " + s.AdminToken(): 200} {
		req, _ := http.NewRequest("GET", "http://"+addr.String()+"/metrics", nil)
		req.Header.Set("Authorization", auth)
		req.Close = true
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("got %d with %q, want %d", res.StatusCode, auth, want)
		}
	}
}
