package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
)

func (p *Proxy) newForward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: roundTripper{p}, ModifyResponse: p.returned, ErrorHandler: p.failed,
		FlushInterval: -1, BufferPool: &buffers{}, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// roundTripper sends what leads to the gateway there and the rest out.
type roundTripper struct{ p *Proxy }

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	switch x := exchangeOf(r.Context()); {
	case x.to.internal():
		return t.p.inside.RoundTrip(r)
	case x.h2:
		return t.p.out.RoundTrip(r)
	}
	return t.p.out1.RoundTrip(r)
}

// rewrite makes the request that goes out.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	out := r.Out
	out.URL.Scheme, out.URL.Host = "http", net.JoinHostPort(x.to.name, strconv.Itoa(x.to.port))
	out.Host = x.to.name
	if x.to.tls {
		out.URL.Scheme = "https"
	}
	if x.to.port != 80 && x.to.port != 443 {
		out.Host = out.URL.Host
	}
	delete(out.Header, "Host")
	if u := out.Header.Get("Upgrade"); u != "" && !strings.EqualFold(u, "websocket") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
	if x.scrub != nil || x.model != "" {
		out.Header.Set("Accept-Encoding", "identity")
	}
	if x.scrub != nil {
		out.Header.Del(extensions)
		out.Header.Del("Range") // of two halves of a secret neither is one
		out.Header.Del("If-Range")
	}
	x.in.header(out.Header)
	out.URL.RawQuery = x.in.query(r.In.URL.RawQuery)
	if x.to.internal() {
		to := p.conf.Internal.Endpoint
		out.URL.Host, out.Host, out.URL.RawQuery = to.Host, to.Host, ""
	}
}

// returned prepares the answer for the box.
func (p *Proxy) returned(res *http.Response) error {
	x := exchangeOf(res.Request.Context())
	res.Header.Del("Alt-Svc") // it sends clients where there is nothing for a box
	if x.scrub != nil {
		scrubHeader(x.scrub, res.Header)
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		x.status = res.StatusCode
		return switched(x.scrub, res)
	}
	if (x.scrub != nil || x.model != "") && res.Request.Method != http.MethodHead {
		if err := decode(res); err != nil {
			return err
		}
	}
	if x.model != "" && res.StatusCode < 300 {
		res.Body = &metered{res.Body, newMeter(x.model, res.Header.Get("Content-Type"), func(u Usage) {
			u.Model = p.clean(u.Model)
			p.tell(Event{Kind: KindUsage, Host: x.to.name, Port: x.to.port, Usage: &u})
		})}
	}
	if x.scrub != nil {
		return scrubBody(x.scrub, res)
	}
	return nil
}

// extensions of a websocket may hide what its frames say.
const extensions = "Sec-Websocket-Extensions"

// switched prepares a websocket: with a secret to look for, in what the server's frames hold.
func switched(m *matcher, res *http.Response) error {
	if m == nil {
		return nil
	}
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok || !strings.EqualFold(res.Header.Get("Upgrade"), "websocket") || res.Header.Get(extensions) != "" {
		return refuse(http.StatusBadGateway, "the answer to the upgrade is no websocket without extensions, and cannot be searched for secrets")
	}
	res.Body = newFrames(m, conn)
	return nil
}

// decode takes off an encoding that hides what the body says. It was asked not to be there.
func decode(res *http.Response) error {
	encoding := strings.ToLower(strings.Join(res.Header["Content-Encoding"], ", "))
	switch encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		if res.ContentLength == 0 {
			return nil
		}
		res.Body = &unzipped{body: res.Body}
		res.Header.Del("Content-Encoding")
		res.Header.Del("Content-Length")
		res.ContentLength = -1
		return nil
	}
	return refuse(http.StatusBadGateway, "the answer is encoded as %q although none was asked for, and cannot be searched for secrets", encoding)
}

// unzipped opens the gzip stream when it is first read, so that an answer without its first byte delays nothing.
type unzipped struct {
	body io.ReadCloser
	z    *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.body)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(p)
}

func (u *unzipped) Close() error { return u.body.Close() }

// scrubBody hides secrets in the body. Of a long one whose length is told, the length stays as it is: programs that load
// large files rely on it.
func scrubBody(m *matcher, res *http.Response) error {
	body := newRewriting(m, res.Body)
	body.end = func() { scrubHeader(m, res.Trailer) } // there may be one behind an empty body, too
	empty := res.Request.Method == http.MethodHead || res.StatusCode == http.StatusNotModified
	switch {
	case !empty && res.ContentLength > 0 && res.ContentLength <= wholeBody:
		b, err := io.ReadAll(body)
		closed := res.Body.Close()
		if err = errors.Join(err, closed); err != nil {
			return fmt.Errorf("failed to read the answer: %w", err)
		}
		res.Body, res.ContentLength = io.NopCloser(strings.NewReader(string(b))), int64(len(b))
		res.Header.Set("Content-Length", strconv.Itoa(len(b)))
	default:
		body.w.keep = res.ContentLength > 0
		res.Body = body
	}
	return nil
}

// failed answers where there is no answer from upstream.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	var no *refusal
	switch {
	case errors.As(err, &no):
		x.answer(w, no)
	case errors.Is(err, context.Canceled):
		x.broken = "the box gave up"
		x.status = 499 // as no status was sent
	default:
		// Errors of HTTP quote what was received.
		x.broken = p.clean(err.Error())
		http.Error(w, "zeno egress: "+x.broken, http.StatusBadGateway)
	}
}

// buffers are reused between bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[chunk]byte); ok {
		return p[:]
	}
	return new([chunk]byte)[:]
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[chunk]byte)(p)) }
