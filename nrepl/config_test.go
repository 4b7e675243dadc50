package nrepl

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	env := newEnv(t)
	for _, c := range []struct {
		conf Config
		want string // in the error; "": none
	}{
		{Config{}, "no Env"},
		{Config{Env: env, Addr: "0.0.0.0:0"}, "want a loopback one or a token"},
		{Config{Env: env, Addr: ":7888"}, "want a loopback one or a token"},
		{Config{Env: env, Addr: "192.0.2.1:7888"}, "want a loopback one or a token"},
		{Config{Env: env, Addr: "example.org:7888"}, "want a loopback one or a token"},
		{Config{Env: env, Addr: "7888"}, "want host:port"},
		{Config{Env: env, Addr: "0.0.0.0:0", Token: "t"}, ""},
		{Config{Env: env, Addr: "localhost:0"}, ""},
		{Config{Env: env, Addr: "[::1]:0"}, ""},
		{Config{Env: env}, ""},
	} {
		_, err := New(c.conf)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.conf.Addr, err, c.want)
		}
	}
}

func TestBanner(t *testing.T) {
	s := start(t, Config{})
	if got, want := s.Banner(), "nREPL server started on port "+port(s.Port())+" on host 127.0.0.1 - nrepl://127.0.0.1:"+port(s.Port()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPortFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".nrepl-port")
	writeFile(t, file, "1") // of a server that was killed
	s, err := New(Config{Env: newEnv(t), PortFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != port(s.Port()) {
		t.Errorf("got %q, %v, want the port and nothing else", b, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 0 {
		t.Errorf("after stop: got %v, want nothing left", left)
	}

	first, second := start(t, Config{PortFile: file}), start(t, Config{PortFile: file})
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != port(second.Port()) {
		t.Errorf("after the stop of another: got %q, %v, want the file of the one that runs", b, err)
	}

	s, err = New(Config{Env: newEnv(t), PortFile: filepath.Join(t.TempDir(), "no", "such", "dir")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("no directory: got no error")
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("somebody listens after a start that failed")
	}
}

// Where the port file cannot be written at first, on a full disk say, the server runs, and the file is there once it can be.
func TestPortFileLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	file := filepath.Join(dir, ".nrepl-port")
	heard := make(chan error, 10)
	s := start(t, Config{PortFile: file, OnPortFile: func(err error) { heard <- err }})
	if err := <-heard; err == nil {
		t.Fatal("got no error, want one")
	}
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatalf("the server does not listen: %v", err)
	}
	_ = nc.Close()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-heard:
		if b, rerr := os.ReadFile(file); err != nil || rerr != nil || string(b) != port(s.Port()) {
			t.Errorf("got %v and %q, %v, want the port", err, b, rerr)
		}
	case <-time.After(time.Minute):
		t.Error("the file was not written")
	}
}

func TestUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "nrepl") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	s := start(t, Config{Unix: path})
	if s.Addr() != "" || s.Port() != 0 || !strings.Contains(s.Banner(), path) {
		t.Errorf("got address %q and %q, want the socket only", s.Addr(), s.Banner())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info, err)
	}
	c, err := Dial(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m, err := c.Do(t.Context(), Message{"op": "eval", "code": "(+ 1 2)"}, nil); err != nil || m["value"] != "3" {
		t.Errorf("got %v, %v, want 3", m, err)
	}
	other, err := New(Config{Env: newEnv(t), Unix: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("in use: got %v, want it refused", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after stop: got %v, want the socket gone", err)
	}

	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close() // as after a kill
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	start(t, Config{Unix: path, Addr: "127.0.0.1:0"})
	_ = os.Remove(path)
	writeFile(t, path, "precious")
	other, err = New(Config{Env: newEnv(t), Unix: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file: got %v, want it refused", err)
	}
}
