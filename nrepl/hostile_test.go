package nrepl

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// request encodes a message.
func encoded(t testing.TB, m Message) string {
	t.Helper()
	b, err := bencode.Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const good = "d4:code7:(+ 1 2)2:id1:g2:op4:evale"

// heap is what is alive, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestNoBencode: what is no message closes its connection and nothing else; what came before it is answered.
func TestNoBencode(t *testing.T) {
	s := start(t, Config{})
	neighbour := open(t, s)
	before := heap()
	for name, src := range map[string]string{
		"text": "hello\n", "HTTP": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST": "POST / HTTP/1.1\r\n\r\n" + good, "TLS": "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03",
		"0xff": strings.Repeat("\xff", 1<<16), "NUL": strings.Repeat("\x00", 1<<16), "int": "i42e" + good, "list": "l2:op8:describee", "string": "5:hello",
		"lone e": "e" + good, "int key": "di1e1:ae" + good, "odd": "d2:ope" + good, "no int": "d2:idie2:op8:describee" + good, "int with x": "d2:idi12x4e2:op8:describee",
		"minus zero": "d2:idi-0e2:op8:describee", "leading zero": "d002:op4:evale", "huge int": "d2:idi99999999999999999999999e2:op8:describee",
		"negative length": "d2:op-5:xxxxxe" + good, "length 2^31": "d2:op2147483648:", "length 2^63": "d2:op9223372036854775808:", "length 2^80": "d2:op1208925819614629174706176:",
		"digits": "d2:op" + strings.Repeat("1", 1<<20), "int digits": "d2:idi" + strings.Repeat("1", 1<<20),
		"deep list": "d1:x" + strings.Repeat("l", 100_000), "deeper list": "d1:x" + strings.Repeat("l", 5_000_000), "deep dict": strings.Repeat("d1:a", 1_000_000),
		"long list": "d1:xl" + strings.Repeat("i1e", 3_000_000), "newline between": good + "\n" + good,
	} {
		p := connect(t, s)
		_, _ = p.nc.Write([]byte(src)) // it may close while there is more to write
		if !p.closed(patience) {
			t.Errorf("%s: the connection stays open", name)
		}
		want := 0
		if strings.HasPrefix(src, good) {
			want = 2
		}
		if got := len(p.messages(nil)); got != want {
			t.Errorf("%s: got %d replies, want %d", name, got, want)
		}
		neighbour.wants("(+ 40 2)", "42")
		open(t, s).wants("(+ 40 2)", "42")
	}
	if after := heap(); after > before+40<<20 {
		t.Errorf("%d bytes more are alive than before", after-before)
	}
}

// TestOddMessages are bencode and make no sense, or a lot of it: each is answered.
func TestOddMessages(t *testing.T) {
	s := start(t, Config{})
	for name, src := range map[string]string{
		"empty": "de", "op int": "d2:opi5e2:id1:xe", "op list": "d2:opl4:evale2:id1:xe", "op empty": "d2:op0:2:id1:xe", "code dict": "d4:coded1:a1:be2:id1:x2:op4:evale",
		"session int": "d4:code1:12:id1:x2:op4:eval7:sessioni5ee", "id dict": "d2:idd1:ai1ee2:op8:describee", "nested": "d1:x" + strings.Repeat("l", 100) + strings.Repeat("e", 100) + "4:code1:32:op4:evale",
		"long id":      encoded(t, Message{"op": "describe", "id": strings.Repeat("x", 1<<20)}),
		"long session": encoded(t, Message{"op": "eval", "code": "1", "session": strings.Repeat("x", 1<<20)}),
		"long op":      encoded(t, Message{"op": strings.Repeat("x", 1<<20)}), "binary op": encoded(t, Message{"op": "\xff\xfe"}),
		"parens":       encoded(t, Message{"op": "eval", "code": strings.Repeat("(", 100_000)}),
		"vectors":      encoded(t, Message{"op": "eval", "code": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)}),
		"quotes":       encoded(t, Message{"op": "eval", "code": strings.Repeat("'", 100_000) + "a"}),
		"invalid text": encoded(t, Message{"op": "eval", "code": "\"\xff\xfe\x80\""}), "NUL": encoded(t, Message{"op": "eval", "code": "(count \"a\x00b\")"}),
		"macroexpand": encoded(t, Message{"op": "macroexpand", "code": strings.Repeat("(", 100_000)}),
		"format":      encoded(t, Message{"op": "format-code", "code": strings.Repeat("(", 100_000)}),
		"edn":         encoded(t, Message{"op": "format-edn", "edn": strings.Repeat("[", 100_000)}),
	} {
		p := connect(t, s)
		p.raw(src)
		m := p.await(name, func(m Message) bool { return has(m, "done") })
		for k, v := range m {
			if text, ok := v.(string); ok && len(text) > 2*maxEcho {
				t.Errorf("%s: %d bytes of %s came back, want few", name, len(text), k)
			}
		}
		p.raw(good)
		p.await(name+": the next", func(m Message) bool { return m["id"] == "g" && m["value"] == "3" })
	}
}

// TestByteByByte: a request may come in as many parts as it likes, and many in one.
func TestByteByByte(t *testing.T) {
	s := start(t, Config{})
	p := connect(t, s)
	for _, b := range []byte(good) {
		p.raw(string(b))
		time.Sleep(time.Millisecond)
	}
	p.done("g")
	p = open(t, s)
	var all strings.Builder
	for i := range 500 {
		all.WriteString(encoded(t, Message{"op": "eval", "code": fmt.Sprint("(+ 0 ", i, ")"), "id": fmt.Sprint("m", i), "session": p.ses}))
	}
	p.raw(all.String())
	for i := range 500 {
		if got := values(p.done(fmt.Sprint("m", i))); got[0] != fmt.Sprint(i) {
			t.Fatalf("request %d: got %v", i, got)
		}
	}
}

// TestHalfMessagesEnd: who begins a message and stops is disconnected.
func TestHalfMessagesEnd(t *testing.T) {
	s := start(t, Config{MessageTimeout: 100 * time.Millisecond})
	idle, slow := connect(t, s), connect(t, s)
	slow.raw("d4:code100000:x")
	if !slow.closed(patience) {
		t.Error("half a message keeps its connection open")
	}
	idle.wants("1", "1") // it has begun none
}

// TestSlowReader: a client that reads nothing holds up itself alone, is disconnected after a while, and what it asked for
// takes bounded memory.
func TestSlowReader(t *testing.T) {
	s := start(t, Config{WriteTimeout: time.Hour, MaxPending: 1 << 16})
	before := heap()
	lazy(t, s, 20)
	time.Sleep(100 * time.Millisecond)
	open(t, s).wants("(+ 40 2)", "42") // while the others wait
	if after := heap(); after > before+40<<20 {
		t.Errorf("20 clients that do not read hold %d bytes", after-before)
	}
	s = start(t, Config{WriteTimeout: 300 * time.Millisecond, MaxPending: 1 << 16})
	lazy(t, s, 3)
	open(t, s).wants("(+ 40 2)", "42") // so the three before it are there
	deadline := time.Now().Add(patience)
	for s.connections() > 1 {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open, want those of slow readers closed", s.connections())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// lazy makes connections that ask for a lot and read nothing.
func lazy(t *testing.T, s *Server, n int) {
	t.Helper()
	for range n {
		nc, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		if _, err := nc.Write([]byte(encoded(t, Message{"op": "eval", "id": "w", "code": `(let [s (apply str (repeat 1000 "0123456789"))] (while true (println s)))`}))); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// TestVanishingClient: an evaluation without a session ends when its client goes; one in a session goes on.
func TestVanishingClient(t *testing.T) {
	s := start(t, Config{})
	watch := open(t, s)
	watch.eval("(def kit-a (atom 0)) (def kit-b (atom 0))")
	gone, named := connect(t, s), open(t, s)
	gone.send(Message{"op": "eval", "code": "(while true (swap! user/kit-a inc) (println :x))"})
	named.send(Message{"op": "eval", "code": "(while true (swap! user/kit-b inc) (println :x))"})
	gone.await("output", func(m Message) bool { return m["out"] != nil })
	named.await("output", func(m Message) bool { return m["out"] != nil })
	for _, p := range []*peer{gone, named} {
		if err := p.nc.(*net.TCPConn).SetLinger(0); err != nil { // close with a reset
			t.Fatal(err)
		}
		_ = p.nc.Close()
	}
	deadline := time.Now().Add(2 * patience)
	for {
		a := values(watch.eval("@kit-a"))[0]
		time.Sleep(50 * time.Millisecond)
		if a == values(watch.eval("@kit-a"))[0] {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the evaluation without a session still runs")
		}
	}
	b := values(watch.eval("@kit-b"))[0]
	for b == values(watch.eval("@kit-b"))[0] {
		if time.Now().After(deadline) {
			t.Fatal("the evaluation in a session has ended, want it to go on")
		}
		time.Sleep(20 * time.Millisecond)
	}
	watch.ask(Message{"op": "interrupt", "session": named.ses})
}

func TestBounds(t *testing.T) {
	s := start(t, Config{MaxQueue: 3, MaxConns: 3, MaxHeld: 300_000, MaxMessage: 200_000})
	p := open(t, s)
	id := p.send(Message{"op": "eval", "code": loop})
	time.Sleep(30 * time.Millisecond)
	var waiting any
	for range 3 {
		waiting = p.send(Message{"op": "eval", "code": "1"})
	}
	if got := status(p.ask(Message{"op": "eval", "code": "1"})); got != "done error queue-full" {
		t.Errorf("one too many: got %s", got)
	}
	p.ask(Message{"op": "interrupt", "interrupt-id": id})
	p.done(waiting)
	if got := status(p.ask(Message{"op": "eval", "code": "1"})); got != "done" {
		t.Errorf("afterwards: got %s", got)
	}
	big := connect(t, s)
	_, _ = big.nc.Write([]byte(encoded(t, Message{"op": "eval", "code": ";" + strings.Repeat("x", 200_000)})))
	if !big.closed(patience) {
		t.Error("a message over the limit: the connection stays open")
	}
	p.send(Message{"op": "eval", "code": loop, "id": "busy"})
	held := p.send(Message{"op": "eval", "code": ";" + strings.Repeat("x", 150_000)})
	p.ask(Message{"op": "describe"}) // so it has been read
	more := connect(t, s)
	_, _ = more.nc.Write([]byte(encoded(t, Message{"op": "eval", "code": ";" + strings.Repeat("x", 199_000)})))
	if !more.closed(patience) {
		t.Error("more than all requests together may hold: the connection stays open")
	}
	p.ask(Message{"op": "interrupt", "interrupt-id": "busy"})
	p.done(held)
	p.wants(`(count "`+strings.Repeat("x", 150_000)+`")`, "150000")
	a, b := connect(t, s), connect(t, s)
	if c := connect(t, s); !c.closed(patience) {
		t.Error("a connection too many stays open")
	}
	a.wants("1", "1")
	b.wants("1", "1")
}
