//go:build linux

package native_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/reflection-dev/zeno/sandbox"
)

// echo is a proxy that answers every name with one address, and every connection with the address that was dialled.
type echo struct {
	extra []int
	fail  error // Serve returns it at once
	wg    sync.WaitGroup
}

func (e *echo) Env() map[string]string {
	return map[string]string{"GH_TOKEN": "$MSB_GH_TOKEN", "SSL_CERT_FILE": sandbox.BundlePath, "NODE_EXTRA_CA_CERTS": sandbox.CAPath}
}
func (e *echo) CA() []byte {
	return []byte("-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n")
}
func (e *echo) Ports() []int { return e.extra }

func (e *echo) Serve(ctx context.Context, l sandbox.Listeners) error {
	if e.fail != nil {
		return e.fail
	}
	for port, t := range l.TCP {
		e.wg.Add(1)
		go func() {
			defer e.wg.Done()
			for {
				c, err := t.Accept()
				if err != nil {
					return
				}
				body := "port " + net.JoinHostPort(c.LocalAddr().(*net.TCPAddr).IP.String(), strconv.Itoa(port))
				io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
				c.Close()
			}
		}()
	}
	e.wg.Add(1)
	go e.dns(l.DNS)
	<-ctx.Done()
	l.Close()
	e.wg.Wait()
	return nil
}

// dns answers A queries with 198.18.0.7, from the address that was asked.
func (e *echo) dns(conn net.PacketConn) {
	defer e.wg.Done()
	p := ipv4.NewPacketConn(conn)
	p.SetControlMessage(ipv4.FlagDst, true)
	buf := make([]byte, 1500)
	for {
		n, cm, from, err := p.ReadFrom(buf)
		if err != nil {
			return
		}
		if n < 17 || cm == nil {
			continue
		}
		q := buf[:n]
		end := 12
		for end < n && q[end] != 0 {
			end += int(q[end]) + 1
		}
		end += 5
		kind := binary.BigEndian.Uint16(q[end-4:])
		out := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
		if kind == 1 {
			out[7] = 1
			out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 7)
		}
		p.WriteTo(out, &ipv4.ControlMessage{Src: cm.Dst}, from)
	}
}

const fetch = `python3 -c '
import sys, urllib.request
for u in sys.argv[1:]:
    try: print(urllib.request.urlopen(u, timeout=30).read().decode())
    except Exception as e: print("failed", type(e).__name__)' `

func TestTheNetworkEndsAtTheProxy(t *testing.T) {
	b := backend(t)
	e := &echo{extra: []int{8443, 80}}
	res := sh(t, b, fetch+`http://name.example/ http://9.9.9.9/ http://name.example:8443/ http://name.example:8444/
cat /etc/resolv.conf; echo $GH_TOKEN; cat /.msb/tls/ca.pem; grep -c BEGIN $SSL_CERT_FILE; tail -2 $SSL_CERT_FILE`, func(s *sandbox.Spec) {
		s.Proxy, s.Egress = e, sandbox.Egress{Default: sandbox.EgressDeny}
	})
	lines := strings.Split(res.Out, "\n")
	want := []string{"port 198.18.0.7:80", "port 9.9.9.9:80", "port 198.18.0.7:8443", "failed URLError", "nameserver 127.0.0.53"}
	for i, w := range want {
		if i >= len(lines) || lines[i] != w {
			t.Fatalf("line %d: want %q, got\n%s\n%s", i, w, res.Out, res.Err)
		}
	}
	for _, w := range []string{"$MSB_GH_TOKEN", "ours\n-----END CERTIFICATE-----\n"} {
		if !strings.Contains(res.Out, w) {
			t.Errorf("want %q in\n%s", w, res.Out)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(res.Out), "-----END CERTIFICATE-----") {
		t.Errorf("the bundle does not end with the proxy's certificate:\n%s", res.Out)
	}
}

func TestWithoutEgressThereIsNothingButLo(t *testing.T) {
	b := backend(t)
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nreached")
			c.Close()
		}
	}()
	res := sh(t, b, fetch+`http://`+host.Addr().String()+`/ http://1.1.1.1/ http://[2606:4700::1111]/; ls /sys/class/net 2>/dev/null; cut -d: -f1 /proc/net/dev | tail -n +3`)
	if strings.Contains(res.Out, "reached") || strings.Count(res.Out, "failed") != 3 || strings.TrimSpace(res.Out[strings.LastIndex(strings.TrimSpace(res.Out), "\n"):]) != "lo" {
		t.Errorf("got %s %s", res.Out, res.Err)
	}
}

func TestABoxDoesNotOutliveItsProxy(t *testing.T) {
	b := backend(t)
	res, err := b.Run(context.Background(), sandbox.Spec{Argv: []string{"sleep", "600"}, Timeout: 3 * time.Minute,
		Proxy: &echo{fail: errors.New("broken")}, Egress: sandbox.Egress{Default: sandbox.EgressDeny}})
	if err != nil || res.KilledBy != sandbox.KilledEgress {
		t.Errorf("got %+v %v, want it killed", res, err)
	}
}
