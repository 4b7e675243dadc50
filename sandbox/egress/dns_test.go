package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/time/rate"
)

func testStub() *stub {
	n := newNames()
	return &stub{limit: rate.NewLimiter(rate.Inf, 1), refused: func(string) {},
		address: func(name string) (netip.Addr, bool) {
			if name == "ok.example.com" {
				return n.addr(name), true
			}
			return netip.Addr{}, false
		}}
}

func query(t testing.TB, name string, typ dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	n, err := dnsmessage.NewName(name)
	if err != nil {
		t.Fatal(err)
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: n, Type: typ, Class: class}}}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStub(t *testing.T) {
	s := testStub()
	const in = dnsmessage.ClassINET
	for _, c := range []struct {
		name  string
		typ   dnsmessage.Type
		class dnsmessage.Class
		code  dnsmessage.RCode
		addr  string
	}{
		{"ok.example.com.", dnsmessage.TypeA, in, dnsmessage.RCodeSuccess, "198.18.0.1"},
		{"OK.Example.COM.", dnsmessage.TypeA, in, dnsmessage.RCodeSuccess, "198.18.0.1"},
		{"ok.example.com.", dnsmessage.TypeAAAA, in, dnsmessage.RCodeSuccess, ""},
		{"ok.example.com.", 65, in, dnsmessage.RCodeSuccess, ""}, // HTTPS
		{"ok.example.com.", dnsmessage.TypeTXT, in, dnsmessage.RCodeSuccess, ""},
		{"ok.example.com.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, dnsmessage.RCodeRefused, ""},
		{"no.example.com.", dnsmessage.TypeA, in, dnsmessage.RCodeRefused, ""},
		{"aGVsbG8gd29ybGQ.ok.example.com.", dnsmessage.TypeA, in, dnsmessage.RCodeRefused, ""},
		{"1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, in, dnsmessage.RCodeRefused, ""},
		{".", dnsmessage.TypeNS, in, dnsmessage.RCodeRefused, ""},
		{"ok.example.com\x00.", dnsmessage.TypeA, in, dnsmessage.RCodeRefused, ""},
	} {
		var m dnsmessage.Message
		if err := m.Unpack(s.answer(query(t, c.name, c.typ, c.class))); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range m.Answers {
			got = netip.AddrFrom4(a.Body.(*dnsmessage.AResource).A).String()
		}
		if m.ID != 7 || !m.Response || m.RCode != c.code || got != c.addr || len(m.Questions) != 1 || m.Questions[0].Name.String() != c.name {
			t.Errorf("%q %v: got %v %q %v, want %v %q", c.name, c.typ, m.RCode, got, m.Questions, c.code, c.addr)
		}
	}
}

func FuzzStub(f *testing.F) {
	f.Add(query(f, "ok.example.com.", dnsmessage.TypeA, dnsmessage.ClassINET))
	f.Add(query(f, "x.", dnsmessage.TypeALL, dnsmessage.ClassANY))
	f.Add([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1}) // a name that points to itself
	f.Add([]byte{})
	s := testStub()
	f.Fuzz(func(t *testing.T, q []byte) {
		out := s.answer(q)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil {
			t.Fatalf("the answer does not read: %v", err)
		}
		if len(m.Answers) > 0 && !strings.EqualFold(m.Questions[0].Name.String(), "ok.example.com.") {
			t.Fatalf("an address for %v", m.Questions)
		}
	})
}

// Names that are not allowed are sent nowhere: a resolver that is asked would carry what they say.
func TestNamesAreNotForwarded(t *testing.T) {
	var asked atomic.Int64
	r := resolver(func(string) []netip.Addr { asked.Add(1); return nil })
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{{Host: "ok.example.com"}}}, Resolver: r})
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &stub{address: b.p.address, refused: b.p.unknownName, limit: rate.NewLimiter(50, 50)}
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, conn) }()
	defer func() {
		cancel()
		_ = conn.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 512)
	_ = c.SetDeadline(time.Now().Add(patience))
	for _, name := range []string{"secret-data.evil.com.", "more.ok.example.com.", "ok.example.com."} {
		_, _ = c.Write(query(t, name, dnsmessage.TypeA, dnsmessage.ClassINET))
		n, err := c.Read(buf)
		var m dnsmessage.Message
		if err != nil || m.Unpack(buf[:n]) != nil || (m.RCode == dnsmessage.RCodeRefused) == (name == "ok.example.com.") {
			t.Errorf("%s: got %v %v", name, m.RCode, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the host's resolver was asked %d times", n)
	}
	b.wait(func(e Event) bool { return e.Kind == KindDNS && e.Host == "secret-data.evil.com" })
	// The rate: of 500 queries at once most are left without an answer.
	began := time.Now()
	for range 500 {
		_, _ = c.Write(query(t, "x.evil.com.", dnsmessage.TypeA, dnsmessage.ClassINET))
	}
	answers := 0
	for wait := patience; ; wait = 300 * time.Millisecond { // the first comes, the others may
		_ = c.SetReadDeadline(time.Now().Add(wait))
		if _, err := c.Read(buf); err != nil {
			break
		}
		answers++
	}
	if took := time.Since(began); answers == 0 || float64(answers) > 120+50*took.Seconds() {
		t.Errorf("got %d answers to 500 queries at 50 a second in %v, want some and not many", answers, took)
	}
}

func TestNamesAreRecycled(t *testing.T) {
	n := newNames()
	first := n.addr("first.example.com")
	for i := range maxNames {
		n.addr(strings.Repeat("a", i%60+1) + "." + strings.Repeat("b", i/60%60+1) + ".c" + strings.Repeat("d", i/3600))
	}
	if name, ok := n.name(first); !ok || name == "first.example.com" {
		t.Errorf("got %q %v at the first address, want another name", name, ok)
	}
	if a := n.addr("first.example.com"); a == first {
		t.Error("got the same address again")
	}
	if len(n.of) != maxNames || len(n.at) != maxNames {
		t.Errorf("got %d and %d names, want %d", len(n.of), len(n.at), maxNames)
	}
}
