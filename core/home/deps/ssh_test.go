package deps_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Over ssh: the key comes from the agent, the host must be known, and one with another key is refused.
func TestSSH(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "r"))
	sha := r.commit("src/r.joke", "(ns r)")
	user, host := newKey(t), newKey(t)
	addr := serveSSH(t, host.signer, user.signer.PublicKey())
	serveAgent(t, user.private)
	known := filepath.Join(root, "known_hosts")
	t.Setenv("SSH_KNOWN_HOSTS", known)
	h := newHome(t, `{:deps {acme/r {:git/url "ssh://git@`+addr+r.dir+`" :git/sha "`+sha+`"}}}`)

	write(t, known, knownhosts.Line([]string{addr}, newKey(t).signer.PublicKey())+"\n")
	h.refused("acme/r", "knownhosts: key mismatch")
	write(t, known, "")
	h.refused("acme/r", "knownhosts: key is unknown")
	write(t, known, knownhosts.Line([]string{addr}, host.signer.PublicKey())+"\n")
	if res := h.want(); res.Libs[0].SHA != sha {
		t.Errorf("got %+v", res.Libs)
	}
}

type key struct {
	private ed25519.PrivateKey
	signer  ssh.Signer
}

func newKey(t *testing.T) key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key{private, s}
}

// serveAgent is an ssh-agent that holds one key.
func serveAgent(t *testing.T, private ed25519.PrivateKey) {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "a") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	listen(t, l, func(c net.Conn) { _ = agent.ServeAgent(ring, c) })
	t.Setenv("SSH_AUTH_SOCK", sock)
}

// listen serves connections until the test ends, and closes those that are still open then.
func listen(t *testing.T, l net.Listener, serve func(net.Conn)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// serveSSH runs the real git-upload-pack for who shows the user's key.
func serveSSH(t *testing.T, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if string(k.Marshal()) != string(user.Marshal()) {
			return nil, os.ErrPermission
		}
		return nil, nil
	}}
	conf.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen(t, l, func(c net.Conn) {
		conn, chans, reqs, err := ssh.NewServerConn(c, conf)
		if err != nil {
			return
		}
		defer conn.Close()
		go ssh.DiscardRequests(reqs)
		for nc := range chans {
			ch, in, err := nc.Accept()
			if err != nil {
				return
			}
			for q := range in {
				if q.Type == "exec" {
					_ = q.Reply(true, nil)
					uploadPack(ch, string(q.Payload[4:]))
					break
				}
				_ = q.Reply(false, nil)
			}
		}
	})
	return l.Addr().String()
}

func uploadPack(ch ssh.Channel, command string) {
	defer ch.Close()
	cmd := exec.Command("git", "upload-pack", strings.Trim(strings.TrimPrefix(command, "git-upload-pack "), "'"))
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(in, ch)
		_ = in.Close()
	}()
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	_ = cmd.Run()
	_, _ = ch.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
}
