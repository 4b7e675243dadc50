package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

func zip(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.Bytes()
}

// rawServer answers each request with the same bytes.
func rawServer(l net.Listener, cert *tls.Certificate, answer string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			t := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*cert}})
			if _, err := http.ReadRequest(bufio.NewReader(t)); err != nil {
				return
			}
			_, _ = io.WriteString(t, answer)
			_ = t.Close()
		}()
	}
}

// websocketEcho answers a handshake and sends every frame back without its mask.
func websocketEcho(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "websocket" {
		http.Error(w, "want a websocket", http.StatusBadRequest)
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	_ = rw.Flush()
	echoFrames(conn, rw)
}

func echoFrames(conn io.Writer, rw io.Reader) {
	for {
		var head [6]byte
		if _, err := io.ReadFull(rw, head[:]); err != nil || head[1]&0x7f > 125 {
			return
		}
		body := make([]byte, head[1]&0x7f)
		if _, err := io.ReadFull(rw, body); err != nil {
			return
		}
		for i := range body {
			body[i] ^= head[2+i%4]
		}
		_, _ = conn.Write(append([]byte{head[0], byte(len(body))}, body...))
		if head[0]&15 == 8 { // close
			return
		}
	}
}

func unzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// epoch is when the files of tests were changed.
var epoch = time.Unix(1e9, 0)
