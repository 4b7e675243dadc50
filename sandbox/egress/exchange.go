package egress

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is one request and its answer.
type exchange struct {
	to    dest
	h2    bool    // how it came
	model string  // dialect, or ""
	own   []bound // secrets that this request may carry
	scrub *matcher
	in    injector

	began    time.Time
	sent     atomic.Int64
	received int64
	status   int
	refused  string
	broken   string
	inBody   atomic.Bool
	seen     sync.Map // names of secrets whose placeholder passed in the body
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// serveHTTP is the way of one request.
func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	conn, _ := r.Context().Value(connKey{}).(*boxConn)
	if conn == nil {
		http.Error(w, "no connection", http.StatusInternalServerError)
		return
	}
	conn.requests.Add(1)
	x := &exchange{to: conn.to, h2: r.ProtoMajor == 2, began: time.Now()}
	out := &writer{ResponseWriter: w, x: x}
	if r.TLS != nil {
		out.out = conn.out
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
		defer p.end(x, r)
	default:
		defer p.end(x, r)
		x.answer(out, refuse(http.StatusServiceUnavailable, "too many requests at once"))
		return
	}
	if conn.forward {
		if no := p.forwardTo(x, r); no != nil {
			x.answer(out, no)
			return
		}
		if r.Method == http.MethodConnect {
			p.tunnel(out)
			return
		}
	}
	p.exchange(out, x, r)
}

// exchange forwards a request whose destination is known.
func (p *Proxy) exchange(out *writer, x *exchange, r *http.Request) {
	if no := p.check(r, x.to); no != nil {
		x.answer(out, no)
		return
	}
	p.prepare(x, r)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &counting{ReadCloser: r.Body, n: &x.sent, seen: &x.seen, f: p.placeholders(x)}
	}
	if err := p.injectBody(x, r); err != nil {
		x.broken = p.clean(err.Error())
		x.answer(out, refuse(http.StatusBadRequest, "the request's body could not be read"))
		return
	}
	p.forward.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// end records the exchange, also where the answer broke off: the forwarder then panics, to end the connection.
func (p *Proxy) end(x *exchange, r *http.Request) {
	cause := recover()
	if cause != nil && x.broken == "" {
		x.broken = "the answer broke off"
	}
	p.record(x, r)
	if cause != nil {
		panic(cause)
	}
}

// prepare finds the secrets of the exchange.
func (p *Proxy) prepare(x *exchange, r *http.Request) {
	x.in = injector{marks: p.marks, used: map[string]bool{}, kept: map[string]bool{}}
	var known []bound // to the server, whatever port or scheme it heard them by
	if x.to.internal() {
		x.own, x.in.others = p.token, p.secrets
		known = p.token
	} else {
		x.model = dialect(r)
		x.in.others = append(x.in.others, p.token...)
		for _, s := range p.secrets {
			if s.of(x.to.name) {
				known = append(known, s)
			}
			// Plain HTTP never carries a secret: anybody between could read it.
			if x.to.tls && s.at(x.to.name, x.to.port) {
				x.own = append(x.own, s)
			} else {
				x.in.others = append(x.in.others, s)
			}
		}
	}
	x.in.own = x.own
	x.scrub = p.scrubber(known)
}

// scrubber gives the matcher for the answers of a host with these secrets, or nil.
func (p *Proxy) scrubber(known []bound) *matcher {
	if len(known) == 0 {
		return nil
	}
	var key strings.Builder
	for _, s := range known {
		key.WriteString(s.env + " ")
	}
	return p.cached(key.String(), func() []pattern { return scrubPatterns(known) })
}

// cached gives the matcher of a key; there is one for each set of secrets that hosts share.
func (p *Proxy) cached(key string, patterns func() []pattern) *matcher {
	if m, ok := p.matchers.Load(key); ok {
		return m.(*matcher)
	}
	m, _ := p.matchers.LoadOrStore(key, newMatcher(patterns()))
	return m.(*matcher)
}

// wholeBody is the largest body that is rewritten in one piece, so that its length can be told.
const wholeBody = 1 << 20

// injectBody puts secrets into the body where they ask for it.
func (p *Proxy) injectBody(x *exchange, r *http.Request) error {
	ps := bodyPatterns(x.own, r.Header.Get("Content-Type"))
	if len(ps) == 0 || r.Body == nil || r.Body == http.NoBody || r.Header.Get("Content-Encoding") != "" {
		return nil
	}
	m := newMatcher(ps)
	if r.ContentLength < 0 || r.ContentLength > wholeBody {
		body := newRewriting(m, r.Body)
		body.end = func() { x.noteBody(body.w.hits) }
		r.Body, r.ContentLength = body, -1
		r.Header.Del("Content-Length")
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("failed to read the body: %w", err)
	}
	w := rewriter{m: m}
	b = w.finish(w.feed(nil, b))
	x.noteBody(w.hits)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	r.Header.Set("Content-Length", fmt.Sprint(len(b)))
	return nil
}

// noteBody notes that secrets were put into the body: all that ask for it, since which of them it was is not told apart.
func (x *exchange) noteBody(hits int) { x.inBody.Store(hits > 0) }

// answer refuses the request.
func (x *exchange) answer(w http.ResponseWriter, no *refusal) {
	x.refused = no.why
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Zeno-Egress", "refused")
	if no.status == http.StatusMisdirectedRequest || no.status == http.StatusServiceUnavailable {
		h.Set("Connection", "close")
	}
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, "zeno egress: "+no.why+"\n")
}

// record tells what became of the exchange.
func (p *Proxy) record(x *exchange, r *http.Request) {
	for i := range x.own {
		if x.own[i].body && x.inBody.Load() {
			x.in.used[x.own[i].env] = true
		}
	}
	e := Event{Kind: KindRequest, Host: x.to.name, Port: x.to.port, Method: clip(r.Method, 32), Status: x.status, Sent: x.sent.Load(),
		Received: x.received, Took: time.Since(x.began), Secrets: sorted(x.in.used), Refused: x.refused, Error: x.broken}
	if !p.hidePath.Load() {
		e.Path = clip(r.URL.EscapedPath(), 512)
	}
	if x.refused != "" {
		p.refused(e)
		return
	}
	p.tell(e)
	x.seen.Range(func(name, _ any) bool { x.in.kept[name.(string)] = true; return true })
	if kept := sorted(x.in.kept); kept != nil {
		p.refused(Event{Kind: KindSecret, Host: x.to.name, Port: x.to.port, Secrets: kept, Refused: "not bound to this host, or not over TLS, or not in this place: the placeholder went as it was"})
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// placeholders gives what finds those that a body is not for; nil where there are none.
func (p *Proxy) placeholders(x *exchange) *finder {
	var ps []pattern
	for _, list := range [][]bound{x.own, x.in.others} {
		for i := range list {
			if s := &list[i]; !s.body || !x.mine(s.env) {
				ps = append(ps, pattern{s.placeholder, s.env})
			}
		}
	}
	if ps == nil {
		return nil
	}
	key := "?"
	for _, p := range ps {
		key += p.replace + " "
	}
	return newFinder(p.cached(key, func() []pattern { return ps }))
}

func (x *exchange) mine(env string) bool {
	return slices.ContainsFunc(x.own, func(s bound) bool { return s.env == env })
}

// counting counts the bytes of a body that were read, and notes placeholders that pass by.
type counting struct {
	io.ReadCloser
	n    *atomic.Int64
	f    *finder // or nil
	seen *sync.Map
	over bool
}

// Read remembers the end. Who sends a body of known length reads once more behind it, and may come to that only when the
// answer has begun, and with it the server has closed the body: that would be an error, and cut the answer off.
func (c *counting) Read(p []byte) (int, error) {
	if c.over {
		return 0, io.EOF
	}
	n, err := c.ReadCloser.Read(p)
	c.over = err == io.EOF
	c.n.Add(int64(n))
	if c.f != nil {
		c.f.read(p[:n])
		for i, found := range c.f.found {
			if found {
				c.seen.Store(c.f.m.patterns[i].replace, true)
			}
		}
	}
	return n, err
}

// writer notes what the box is answered.
type writer struct {
	http.ResponseWriter
	x   *exchange
	out *cork // below TLS; nil without
}

// Unwrap lets http.ResponseController reach Flush and Hijack.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader leaves informational answers out: they would pass by what hides secrets.
func (w *writer) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	w.x.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if w.x.status == 0 {
		w.x.status = http.StatusOK
	}
	n, err := w.pass(b)
	w.x.received += int64(n)
	return n, err
}

// h2Piece is a DATA frame that fills, with its head, one TLS record: a full frame would leave its last bytes to a second.
const h2Piece = 16<<10 - 9

// pass writes a long piece in the way that costs the connection least.
func (w *writer) pass(b []byte) (n int, err error) {
	switch {
	case len(b) <= fullRecord || w.out == nil:
		return w.ResponseWriter.Write(b)
	case !w.x.h2:
		return w.out.together(func() (int, error) { return w.ResponseWriter.Write(b) })
	}
	for err == nil && len(b) > 0 {
		var m int
		m, err = w.ResponseWriter.Write(b[:min(len(b), h2Piece)])
		n, b = n+m, b[m:]
	}
	return n, err
}
