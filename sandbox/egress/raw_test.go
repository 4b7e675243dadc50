package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"net/http"
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
