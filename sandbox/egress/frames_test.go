package egress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// end is the server's end of a websocket: it gives its bytes in pieces.
type end struct {
	pieces
}

func (*end) Close() error { return nil }

func serve(r *rand.Rand, all []byte) *end {
	e := &end{}
	for len(all) > 0 {
		n := len(all)
		if r != nil {
			n = min(n, 1+r.IntN([]int{3, 50, 20000}[r.IntN(3)]))
		}
		e.in, all = append(e.in, all[:n]), all[n:]
	}
	return e
}

// messages takes the frames of all apart: each message as its opcode and text, control frames as they come.
func messages(all []byte) (out []string, err error) {
	under := ""
	for len(all) > 0 {
		if len(all) < 2 {
			return out, io.ErrUnexpectedEOF
		}
		op, n, head := all[0]&15, uint64(all[1]), 2
		switch n {
		case 126:
			n, head = uint64(binary.BigEndian.Uint16(all[2:])), 4
		case 127:
			n, head = binary.BigEndian.Uint64(all[2:]), 10
		}
		if uint64(len(all)-head) < n {
			return out, io.ErrUnexpectedEOF
		}
		text, final := string(all[head:head+int(n)]), all[0]&0x80 != 0
		all = all[head+int(n):]
		switch {
		case op >= 8:
			out = append(out, fmt.Sprint(op, " ", text))
			continue
		case op == 0 && under == "" || op != 0 && under != "":
			return out, errors.New("a frame that does not continue")
		case op != 0:
			under = fmt.Sprint(op, " ")
		}
		if under += text; final {
			out, under = append(out, under), ""
		}
	}
	return out, nil
}

// Whatever a message's frames and the reads of it are, the secret in it is hidden and the rest is as it was.
func TestFramesHideSecrets(t *testing.T) {
	m := newMatcher(scrubPatterns([]bound{{env: "TOKEN", placeholder: "$MSB_TOKEN", value: canary}}))
	long := strings.Repeat("x", 70_000)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var sent []byte
		var want []string
		for range 1 + r.IntN(6) {
			text, clean := "", ""
			for range r.IntN(5) {
				part := []string{"hello", canary, canary[:5], b64(canary), long, "", "é", canary + canary}[r.IntN(8)]
				text += part
			}
			clean = strings.ReplaceAll(text, canary, "$MSB_TOKEN")
			clean = m.text(clean)
			op := byte(1 + r.IntN(2))
			want = append(want, fmt.Sprint(op, " ", clean))
			at := len(want) - 1
			for first := true; ; first = false {
				n := len(text)
				if n > 0 && r.IntN(3) > 0 {
					n = r.IntN(n)
				}
				code := op
				if !first {
					code = 0
				}
				final := n == len(text)
				sent = appendFrame(sent, code, final, []byte(text[:n]))
				if text = text[n:]; final {
					break
				}
				if r.IntN(4) == 0 { // a ping within the message
					sent = appendFrame(sent, 9, true, []byte("ping"))
					want = append(want[:at], append([]string{"9 ping"}, want[at:]...)...)
					at++
				}
			}
		}
		out, err := io.ReadAll(newFrames(m, serve(r, sent)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := messages(out)
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") || bytes.Contains(out, []byte(canary)) {
			t.Fatalf("seed %d: %v\ngot  %.300q\nwant %.300q", seed, err, got, want)
		}
	}
}

// What is said in a control frame is searched too, and stays as short as it has to.
func TestFramesOfControl(t *testing.T) {
	m := newMatcher(scrubPatterns([]bound{{env: "A_LONG_NAME_OF_A_SECRET", placeholder: "$MSB_A_LONG_NAME_OF_A_SECRET", value: "12345678"}}))
	text := []byte("\x03\xe8" + strings.Repeat("12345678", 15))
	out, err := io.ReadAll(newFrames(m, serve(nil, appendFrame(nil, 8, true, text))))
	if err != nil || len(out) != 2+len(text) || !bytes.HasPrefix(out, []byte("\x88\x7a\x03\xe8$MSB_A_L")) || bytes.Contains(out, []byte("12345678")) {
		t.Errorf("got %q %v", out, err)
	}
}

// What cannot be searched ends the connection, and nothing of it passes.
func TestFramesThatAreNone(t *testing.T) {
	for name, sent := range map[string]string{
		"a mask":                       "\x81\x85\x01\x02\x03\x04abcde",
		"compressed":                   "\xc1\x05abcde",
		"an opcode that means nothing": "\x83\x05abcde",
		"a control of that kind":       "\x8b\x01a",
		"a control in parts":           "\x09\x01a",
		"a control too long":           "\x89\x7e\x00\x80" + strings.Repeat("a", 128),
		"a continuation of nothing":    "\x80\x01a",
		"a message within another":     "\x01\x01a\x81\x01b",
		"no websocket":                 "HTTP/1.1 200 OK\r\n\r\n",
	} {
		out, err := io.ReadAll(newFrames(newMatcher([]pattern{{"secret-value", "$MSB_X"}}), serve(nil, []byte(sent))))
		if !errors.Is(err, errFrame) || bytes.Contains(out, []byte("abcde")) || bytes.Contains(out, []byte("aaa")) {
			t.Errorf("%s: got %q %v, want an end", name, out, err)
		}
	}
	for name, sent := range map[string]string{"in a head": "\x81\x7e\x00", "in a text": "\x81\x05abc", "in a control": "\x89\x05abc"} {
		if _, err := io.ReadAll(newFrames(newMatcher(nil), serve(nil, []byte(sent)))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an end %s: got %v, want it told", name, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x81\x05hello\x89\x00\x01\x02a\x00\x80\x7e\x00\x01x\x88\x02\x03\xe8"))
	f.Add(appendFrame(appendFrame(nil, 1, false, []byte(canary[:7])), 0, true, []byte(canary[7:])))
	m := newMatcher(scrubPatterns([]bound{{env: "TOKEN", placeholder: "$MSB_TOKEN", value: canary}}))
	f.Fuzz(func(t *testing.T, sent []byte) {
		out, err := io.ReadAll(newFrames(m, serve(nil, sent)))
		got, broken := messages(out)
		if broken != nil && err == nil {
			t.Errorf("%q: got frames that are none: %v", sent, broken)
		}
		for _, text := range got {
			if strings.Contains(text, canary) {
				t.Errorf("%q: got the secret in %q", sent, text)
			}
		}
	})
}

// In the proxy: an echo over a websocket brings no secret into the box, in one frame or in two, and nothing waits. Without
// a bound secret the frames pass as they are, extensions too.
func TestWebsocketEcho(t *testing.T) {
	w := newWorld(t)
	offered := make(chan string, 4)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered <- r.Header.Get(extensions)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
		if r.URL.Path == "/deflate" {
			fmt.Fprint(rw, extensions+": permessage-deflate\r\n")
		}
		fmt.Fprint(rw, "\r\n")
		value := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_, _ = rw.Write(appendFrame(nil, 1, true, []byte("is "+value+"!")))
		_, _ = rw.Write(appendFrame(appendFrame(nil, 1, false, []byte(value[:6])), 0, true, []byte(value[6:])))
		_, _ = rw.Write(appendFrame(nil, 1, true, []byte("ends as a secret begins: "+canary[:6])))
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, conn)
	})
	b := secretBox(t, w, h)
	open := func(host, path string) (net.Conn, *bufio.Reader, *http.Response) {
		conn, err := b.tls(host, host, "http/1.1")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%s: permessage-deflate\r\nAuthorization: Bearer $MSB_TOKEN\r\n\r\n", path, host, extensions)
		br := bufio.NewReader(conn)
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		return conn, br, res
	}
	_, br, res := open("api.example.com", "/")
	got := make([]byte, 2+14+2+10+2+31)
	if _, err := io.ReadFull(br, got); err != nil || res.StatusCode != 101 {
		t.Fatalf("got %q %v %d", got, err, res.StatusCode)
	}
	if want := "\x81\x0eis $MSB_TOKEN!\x81\x0a$MSB_TOKEN\x81\x1fends as a secret begins: " + canary[:6]; string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if with := <-offered; with != "" {
		t.Errorf("a server with a secret was offered %q, want no extension", with)
	}
	if _, _, res := open("api.example.com", "/deflate"); res.StatusCode != http.StatusBadGateway {
		t.Errorf("an extension that was not asked for: got %d, want 502", res.StatusCode)
	}
	<-offered
	if _, _, res := open("other.example.com", "/deflate"); res.StatusCode != 101 || <-offered != "permessage-deflate" {
		t.Errorf("a server without a secret: got %d, want its extension to pass", res.StatusCode)
	}
}
