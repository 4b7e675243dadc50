package stdlib

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// sendTimeout is how long a request may take that names no :timeout.
const sendTimeout = 5 * time.Minute

// httpNS is joker.http: requests and servers, with maps as Ring has them.
func (h *Host) httpNS() []value.Builtin {
	return []value.Builtin{
		def("send", "([request])", "Sends an HTTP request, a map, and gives the response, a map of :status, :headers, :body and :content-length (-1: unknown). The request has :url and may have :method (a keyword, :get by default), :headers, :body (a string or a reader), :host, :timeout (such as \"30s\"; 5 minutes by default), :max-body (the most bytes of the response's body) and :redirects (false: do not follow them).", h.send),
		def("start-server", "([addr handler] [addr handler opts])", "Serves HTTP on a TCP address such as \"127.0.0.1:8080\" until the evaluation ends. handler gets a request, a map of :request-method, :uri, :query-string, :headers (names in lower case), :body (a string), :scheme, :protocol, :server-name, :server-port and :remote-addr, and gives a response, a map that may have :status, :headers and :body, or a string. Options: :started, a function that is called with the address once requests are taken.", h.startServer),
		def("start-file-server", "([addr root])", "Serves the files below root over HTTP on a TCP address until the evaluation ends.", h.startFileServer),
	}
}

type request struct {
	URL       string `lisp:"url,required"`
	Method    string
	Host      string
	Headers   map[string]string
	Body      Value
	Timeout   bind.Duration
	MaxBody   bind.Size
	Redirects *bool
}

type response struct {
	status  int
	headers http.Header
	body    string
	length  int64
}

func (h *Host) send(t *Thread, r request) Value {
	body, length := bodyOf(t, r.Body)
	req, err := r.build(body, length)
	if err != nil {
		panic(value.ArgError("send: got the request %s, want one with an absolute :url and a :method of letters: %s", r.name(), reason(unwrapURL(err))))
	}
	timeout, limit := time.Duration(r.Timeout), int64(r.MaxBody)
	if timeout <= 0 {
		timeout = sendTimeout
	}
	if limit <= 0 {
		limit = h.MaxBody
	}
	resp, err := beside(t, func(ctx context.Context) (*response, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return h.roundTrip(req.WithContext(ctx), limit, r.Redirects == nil || *r.Redirects)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		panic(value.Errorf("TimeoutException", "send: got no answer to %s within %s; try again or raise :timeout", r.name(), timeout))
	}
	check("send", "do", r.name(), unwrapURL(err))
	return resp.show(t)
}

// name is what messages call the request: without the query and the password, which may be secret.
func (r request) name() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.method()
	}
	return r.method() + " " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (r request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(r.Method)
}

func (r request) build(body io.Reader, length int64) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("the URL does not begin with http:// or https:// and a host")
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(r.method(), r.URL, body)
	if err != nil {
		return nil, err
	}
	if length >= 0 {
		req.ContentLength = length
	}
	for k, v := range r.Headers {
		req.Header.Set(k, v)
	}
	req.Host = r.Host
	if r.Host == "" {
		req.Host = req.URL.Host
	}
	return req, nil
}

// bodyOf gives the body of a request and its length, -1 where that is unknown.
func bodyOf(t *Thread, v Value) (io.Reader, int64) {
	switch v.Kind() {
	case value.KindNil:
		return nil, 0
	case value.KindString:
		return strings.NewReader(v.Text()), int64(len(v.Text()))
	}
	return io.NopCloser(readerOf(t, "send", v)), -1 // whoever opened it closes it
}

func (h *Host) roundTrip(req *http.Request, limit int64, follow bool) (*response, error) {
	c := http.Client{Transport: h.client}
	if !follow {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = tooMuch("the body of the response", limit, "raise :max-body")
	}
	return &response{resp.StatusCode, resp.Header, string(b), resp.ContentLength}, err
}

// unwrapURL takes the method and URL off an error: the message has them, and the URL may hold a secret.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (r *response) show(t *Thread) Value {
	return value.NewMap(t, value.Kw("status"), value.Int(int64(r.status)), value.Kw("body"), str(t, r.body),
		value.Kw("headers"), headerMap(t, r.headers, func(s string) string { return s }), value.Kw("content-length"), value.Int(r.length))
}

func headerMap(t *Thread, hs http.Header, name func(string) string) Value {
	var kvs []Value
	for _, k := range slices.Sorted(maps.Keys(hs)) {
		t.Step()
		kvs = append(kvs, str(t, name(k)), str(t, strings.Join(hs[k], ", ")))
	}
	return value.NewMap(t, kvs...)
}
