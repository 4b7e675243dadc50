package egress

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pieces is a connection that gives its data in the given pieces, and counts and keeps what is written.
type pieces struct {
	net.Conn
	in     [][]byte
	wrote  [][]byte
	broken error
}

func (c *pieces) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[0])
	if c.in[0] = c.in[0][n:]; len(c.in[0]) == 0 {
		c.in = c.in[1:]
	}
	return n, nil
}

func (c *pieces) Write(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	c.wrote = append(c.wrote, bytes.Clone(p))
	return len(p), nil
}

// record is one of TLS, with nothing in it that TLS would understand.
func record(n int) []byte {
	b := make([]byte, recordHead+n)
	_, _ = rand.Read(b)
	binary.BigEndian.PutUint16(b[3:], uint16(n))
	return b
}

// However a stream is cut, the records come out whole and no read crosses the end of one.
func TestRecords(t *testing.T) {
	for seed := range uint64(200) {
		r := mrand.New(mrand.NewPCG(seed, 1))
		var all []byte
		ends := map[int]bool{}
		for range 40 {
			all = append(all, record([]int{0, 1, 3, 40, 900, 16406, 40000}[r.IntN(7)])...)
			ends[len(all)] = true
		}
		c := &pieces{}
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN([]int{2, 7, 5000, 200000}[r.IntN(4)]))
			c.in, rest = append(c.in, rest[:n]), rest[n:]
		}
		s := &records{Conn: c}
		var got []byte
		p := make([]byte, 1+r.IntN(20000))
		for {
			whole := s.more()
			n, err := s.Read(p)
			for at := len(got) + 1; at < len(got)+n; at++ {
				if ends[at] {
					t.Fatalf("seed %d: a read from %d to %d crosses the end of a record at %d", seed, len(got), len(got)+n, at)
				}
			}
			if whole && (n == 0 || len(got) > 0 && !ends[len(got)]) {
				t.Fatalf("seed %d: more in the middle of a record, at %d", seed, len(got))
			}
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
		}
		if !bytes.Equal(got, all) {
			t.Fatalf("seed %d: got %d bytes, want the %d that were sent", seed, len(got), len(all))
		}
	}
}

// A connection that only sends little holds little, and one that has become idle again too.
func TestRecordsHoldLittle(t *testing.T) {
	c := &pieces{in: [][]byte{record(100)}}
	s := &records{Conn: c}
	step := func(what string, want int) {
		t.Helper()
		if _, err := s.Read(make([]byte, 1<<20)); err != nil || len(s.buf) != want {
			t.Errorf("%s: got a buffer of %d bytes, %v, want %d", what, len(s.buf), err, want)
		}
	}
	step("a short record", shortRead)
	c.in = [][]byte{record(16000), record(200)}
	step("a long one", chunk)
	for len(s.rest) > 0 || len(c.in) > 0 {
		if _, err := s.Read(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.buf) > shortRead {
		t.Errorf("short ones again: got a buffer of %d bytes, want at most %d", len(s.buf), shortRead)
	}
}

func TestCork(t *testing.T) {
	c := &pieces{}
	k := &cork{Conn: c}
	put := func(n int) func() (int, error) {
		return func() (int, error) {
			for i := range n {
				if _, err := k.Write(bytes.Repeat([]byte{byte(i)}, 16406)); err != nil {
					return 0, err
				}
			}
			return n, nil
		}
	}
	if n, err := k.together(put(4)); n != 4 || err != nil || len(c.wrote) != 1 || len(c.wrote[0]) != 4*16406 {
		t.Errorf("four records: got %d, %v in %d writes, want one", n, err, len(c.wrote))
	}
	c.wrote = nil
	_, _ = k.Write([]byte("x"))
	if _, err := k.together(put(20)); err != nil || len(c.wrote) != 4 || string(c.wrote[0]) != "x" {
		t.Errorf("more than it holds: got %d writes, %v, want 4", len(c.wrote), err)
	}
	var n int
	for _, w := range c.wrote[1:] {
		for _, b := range w {
			if int(b) != n/16406 {
				t.Fatalf("byte %d: got %d, want %d: out of order", n, b, n/16406)
			}
			n++
		}
	}
	if n != 20*16406 {
		t.Errorf("got %d bytes, want %d", n, 20*16406)
	}
	c.wrote = nil
	if _, err := k.together(func() (int, error) { return k.Write(make([]byte, 1<<20)) }); err != nil || len(c.wrote) != 1 {
		t.Errorf("one that is larger than what it holds: got %v in %d writes", err, len(c.wrote))
	}
	c.broken = errors.New("broken")
	if _, err := k.together(put(1)); !errors.Is(err, c.broken) {
		t.Errorf("a write that fails: got %v, want it told", err)
	}
}

// What is there is given at once: a full record with a part of the next behind it waits for nothing, nor does a short one
// behind full ones, and full ones come together.
func TestBulkWaitsForNothing(t *testing.T) {
	a, err := newAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.certificate("example.com")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	hold := &cork{Conn: far}
	server := tls.Server(hold, &tls.Config{Certificates: []tls.Certificate{*cert}, DynamicRecordSizingDisabled: true})
	b := &bulk{out: &cork{Conn: near}}
	b.below = &records{Conn: b.out}
	b.Conn = tls.Client(b.below, &tls.Config{InsecureSkipVerify: true})
	_ = near.SetDeadline(time.Now().Add(patience))
	_ = far.SetDeadline(time.Now().Add(patience))
	var shaken sync.WaitGroup
	shaken.Go(func() { _ = server.Handshake() })
	if err := b.Handshake(); err != nil {
		t.Fatal(err)
	}
	shaken.Wait()

	p := make([]byte, chunk)
	total, reads := 0, 0
	read := func(until int) {
		t.Helper()
		for total < until {
			n, err := b.Read(p)
			if err != nil {
				t.Fatalf("after %d bytes of %d: %v: it waits for what does not come", total, until, err)
			}
			total, reads = total+n, reads+1
		}
	}
	for _, n := range []int{16384, 5, 16384 + 9, 3 * 16384, 1} {
		if _, err := hold.together(func() (int, error) { return server.Write(make([]byte, n)) }); err != nil {
			t.Fatal(err)
		}
		read(total + n)
	}
	few := math.MaxInt
	for range 20 { // what is written may be there only a while later
		reads = 0
		if _, err := hold.together(func() (int, error) { return server.Write(make([]byte, 7*16384)) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		read(total + 7*16384)
		if few = min(few, reads); few <= 4 { // the first may find a small buffer
			return
		}
	}
	t.Errorf("seven records that were there: got them in %d reads, want a few", few)
}

func (*pieces) Close() error { return nil }

// However a body comes and is read, it is rewritten alike.
func TestRewritingOfLongBodies(t *testing.T) {
	m := newMatcher([]pattern{{"secret-value", "$MSB_S"}, {"value-of-it", "$MSB_V"}, {"aaaab", "<b>"}})
	for seed := range uint64(200) {
		r := mrand.New(mrand.NewPCG(seed, 3))
		var text []byte
		for range 30 {
			text = append(text, []string{"secret-value", "secret-", "value-of-it", "secret-value-of-it", "aaaa", "b", "x", string(bytes.Repeat([]byte("plain "), r.IntN(2000)))}[r.IntN(8)]...)
		}
		c := &pieces{}
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN([]int{3, 500, 20000}[r.IntN(3)]))
			c.in, rest = append(c.in, rest[:n:n]), rest[n:]
		}
		ended := 0
		body := newRewriting(m, c)
		body.end = func() { ended++ }
		var got []byte
		for {
			p := make([]byte, []int{1, 100, shortRead, 3 * shortRead, chunk}[r.IntN(5)])
			n, err := body.Read(p)
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := m.text(string(text)); string(got) != want || ended != 1 {
			t.Fatalf("seed %d: ended %d times\n got %q\nwant %q", seed, ended, got, want)
		}
	}
}

// ending is a body of a server that has answered: behind the end it is closed.
type ending struct{ ended bool }

func (e *ending) Read(p []byte) (int, error) {
	if e.ended {
		return 0, http.ErrBodyReadAfterClose
	}
	e.ended = true
	return copy(p, "body"), io.EOF
}

func (*ending) Close() error { return nil }

// A body that was read to its end has no error behind it: the request that carried it would fail, and the answer break off.
func TestTheEndOfABodyIsRemembered(t *testing.T) {
	body := &counting{ReadCloser: &ending{}, n: &atomic.Int64{}, seen: &sync.Map{}}
	p := make([]byte, 10)
	for i, want := range []int{4, 0, 0} {
		if n, err := body.Read(p); n != want || err != io.EOF {
			t.Errorf("read %d: got %d bytes, %v, want %d and the end", i, n, err, want)
		}
	}
}

// A long body over h2, through the proxy, is what was sent.
func TestLongBodies(t *testing.T) {
	w := newWorld(t)
	text := make([]byte, 5<<20+77)
	_, _ = rand.Read(text)
	b := secretBox(t, w, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || len(got) > 0 && !bytes.Equal(got, text) {
			http.Error(w, "another body", http.StatusBadRequest)
			return
		}
		if r.URL.Path == "/told" {
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		}
		_, _ = w.Write(text)
	}))
	for _, host := range []string{"api.example.com", "other.example.com"} {
		for _, path := range []string{"/told", "/chunked"} {
			for _, h2 := range []bool{false, true} {
				client := b.client()
				if !h2 {
					client.Transport.(*http.Transport).TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
					client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
				}
				res, err := client.Post("https://"+host+path, "text/plain", bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.ProtoMajor == 2 != h2 || !bytes.Equal(got, text) {
					t.Errorf("%s%s h2=%v: got %s, %d bytes, %v, want %d by it", host, path, h2, res.Proto, len(got), err, len(text))
				}
			}
		}
	}
}
