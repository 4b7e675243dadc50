package egress

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/sandbox"
)

// These tests run real clients in a network namespace of their own, as in a box: every address is local there, and its
// sockets are served from outside. The test binary is its own first program in the namespace.

const helperEnv = "ZENO_EGRESS_HELPER"

type command struct {
	Argv []string
	Env  []string
	Dir  string
}

type result struct {
	Out  string
	Code int
}

// netns is the namespace.
type netns struct {
	*box
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	dir string
	env []string
}

func startNetns(t *testing.T, conf Config) *netns {
	t.Helper()
	b := &box{t: t}
	conf.Event = func(e Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	}
	p, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	b.p = p
	n := &netns{box: b, dir: t.TempDir()}
	ports := append([]int{80, 443}, p.Ports()...)
	files, err := n.launch(ports)
	if err != nil {
		need.Skip(t, "no network namespace here: %v", err)
	}
	l := sandbox.Listeners{TCP: map[int]net.Listener{}}
	for i, port := range ports {
		if l.TCP[port], err = net.FileListener(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if l.DNS, err = net.FilePacketConn(files[len(ports)]); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		_ = f.Close()
	}
	b.serve(func(ctx context.Context) error { return p.Serve(ctx, l) })
	n.environment()
	return n
}

// environment is what a backend gives the program.
func (n *netns) environment() {
	ca := filepath.Join(n.dir, "ca.pem")
	if err := os.WriteFile(ca, n.p.CA(), 0o644); err != nil {
		n.t.Fatal(err)
	}
	n.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.dir, "GIT_TERMINAL_PROMPT=0", "NODE_EXTRA_CA_CERTS=" + ca}
	for _, k := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"} {
		n.env = append(n.env, k+"="+ca)
	}
	for k, v := range n.p.Placeholders() {
		n.env = append(n.env, k+"="+v)
	}
}

func (n *netns) launch(ports []int) ([]*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	resolv := filepath.Join(n.dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+sandbox.DNSAddr+"\n"), 0o644); err != nil {
		return nil, err
	}
	n.cmd = exec.Command(os.Args[0])
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), helperEnv + "=" + resolv, "PORTS=" + strings.Trim(fmt.Sprint(ports), "[]")}
	n.cmd.ExtraFiles, n.cmd.Stderr = []*os.File{theirs}, os.Stderr
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	err = n.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	n.t.Cleanup(func() {
		_ = in.Close()
		_ = n.cmd.Wait()
	})
	n.in, n.out = json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return receiveFiles(ours, len(ports)+1)
}

func receiveFiles(from *os.File, want int) ([]*os.File, error) {
	buf, oob := make([]byte, 256), make([]byte, unix.CmsgSpace(4*want))
	n, on, _, _, err := unix.Recvmsg(int(from.Fd()), buf, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || on == 0 {
		return nil, fmt.Errorf("the helper sent no sockets: %s %w", buf[:max(n, 0)], err)
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != want {
		return nil, fmt.Errorf("got %d sockets, %w, want %d", len(fds), err, want)
	}
	var out []*os.File
	for _, fd := range fds {
		out = append(out, os.NewFile(uintptr(fd), "socket"))
	}
	return out, nil
}

// run runs a command in the namespace and gives what it printed to both streams.
func (n *netns) run(argv ...string) (string, int) {
	n.t.Helper()
	if err := n.in.Encode(command{Argv: argv, Env: n.env, Dir: n.dir}); err != nil {
		n.t.Fatal(err)
	}
	var r result
	if err := n.out.Decode(&r); err != nil {
		n.t.Fatal(err)
	}
	return r.Out, r.Code
}

// helper is the program in the namespace.
func helper() bool {
	resolv := os.Getenv(helperEnv)
	if resolv == "" {
		return false
	}
	if err := serveHelper(resolv); err != nil {
		_, _ = unix.Write(3, []byte(err.Error()))
		os.Exit(1)
	}
	return true
}

func serveHelper(resolv string) error {
	if err := everythingLocal(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount(resolv, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind resolv.conf: %w", err)
	}
	var fds []int
	for _, port := range strings.Fields(os.Getenv("PORTS")) {
		l, err := net.Listen("tcp4", "0.0.0.0:"+port)
		if err != nil {
			return err
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		_ = l.Close()
		fds = append(fds, int(f.Fd()))
	}
	u, err := net.ListenPacket("udp4", "0.0.0.0:53")
	if err != nil {
		return err
	}
	f, err := u.(*net.UDPConn).File()
	if err != nil {
		return err
	}
	_ = u.Close()
	fds = append(fds, int(f.Fd())) // Fd makes a socket blocking, here and where it is sent to: not after sending
	if err := unix.Sendmsg(3, []byte("sockets"), unix.UnixRights(fds...), nil, 0); err != nil {
		return err
	}
	for _, fd := range append(fds, 3) {
		_ = unix.Close(fd)
	}
	return obey()
}

func obey() error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c command
		if err := in.Decode(&c); err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		cmd.Env, cmd.Dir = c.Env, c.Dir
		b, err := cmd.CombinedOutput()
		cancel()
		r := result{Out: string(b), Code: cmd.ProcessState.ExitCode()}
		if err != nil && r.Code <= 0 {
			r.Out += err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// everythingLocal brings lo up and makes every IPv4 address the namespace's own.
func everythingLocal() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("lo up: %w", err)
	}
	nl, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(nl)
	m := make([]byte, 36)
	le := binary.LittleEndian
	le.PutUint32(m, 36)
	le.PutUint16(m[4:], unix.RTM_NEWROUTE)
	le.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m[16], m[20], m[21], m[22], m[23] = unix.AF_INET, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL
	le.PutUint16(m[28:], 8)
	le.PutUint16(m[30:], unix.RTA_OIF)
	le.PutUint32(m[32:], 1)
	if err := unix.Sendto(nl, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("route: %w", err)
	}
	ack := make([]byte, 256)
	n, _, err := unix.Recvfrom(nl, ack, 0)
	if err != nil || n < 20 {
		return fmt.Errorf("route: %d bytes, %w", n, err)
	}
	if code := int32(le.Uint32(ack[16:])); code != 0 {
		return fmt.Errorf("route: %w", unix.Errno(-code))
	}
	return nil
}
