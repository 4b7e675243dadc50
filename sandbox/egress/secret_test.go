package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox/secret"
)

// secretBox is a box with one secret, TOKEN, bound to api.example.com.
func secretBox(t testing.TB, w *world, h http.Handler, in ...Place) *box {
	t.Helper()
	return startBox(t, Config{
		Policy:  Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", h)), at("other.example.com", w.server("other.example.com", h)), at80("api.example.com", w.plain(h))}},
		Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(t, canary), In: in}}, Roots: w.pool})
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestSecretsInHeaders(t *testing.T) {
	w := newWorld(t)
	rec := &recorder{}
	b := secretBox(t, w, rec)
	if b.p.Env()["TOKEN"] != "$MSB_TOKEN" {
		t.Fatalf("got %v as environment", b.p.Env())
	}
	const ph = "$MSB_TOKEN"
	type kv struct{ name, in, out string }
	cases := []kv{
		{"Authorization", "Bearer " + ph, "Bearer " + canary},
		{"Authorization", ph, canary},
		{"Authorization", "Basic " + b64("user:"+ph), "Basic " + b64("user:"+canary)},
		{"Authorization", "basic " + b64(ph+":x"), "basic " + b64(canary+":x")},
		{"X-Api-Key", ph + ph, canary + canary},
		{"X-Api-Key", "a " + ph + "!", "a " + canary + "!"},
		{"X-Api-Key", "$MSB_OTHER " + ph, "$MSB_OTHER " + canary},
		{"Cookie", "a=b; t=" + ph, "a=b; t=" + canary},
		{"X-Run", "v1." + strings.TrimRight(b64("u:"+ph), "=") + ".z", "v1." + strings.TrimRight(b64("u:"+canary), "=") + ".z"},
		{"X-Run", "key=" + b64("{\"a\":\""+ph+"\"}") + "; x", "key=" + b64("{\"a\":\""+canary+"\"}") + "; x"},
		{"X-Run", "glued" + b64(ph), "glued" + b64(canary)},
		{"X-Run", base64.URLEncoding.EncodeToString([]byte("\xff\xfe?" + ph + "?")), base64.URLEncoding.EncodeToString([]byte("\xff\xfe?" + canary + "?"))},
	}
	for shift := range 4 {
		s := strings.Repeat("x", shift)
		cases = append(cases, kv{"X-Run", b64(s + ph + s), b64(s + canary + s)})
	}
	for _, c := range cases {
		if status, body := b.get("https://api.example.com/", c.name, c.in); status != 200 {
			t.Fatalf("got %d %s", status, body)
		}
		if got := rec.last().Header.Get(c.name); got != c.out {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.in, got, c.out)
		}
		for _, elsewhere := range []string{"https://other.example.com/", "http://api.example.com/"} {
			b.get(elsewhere, c.name, c.in)
			if got := rec.last().Header.Get(c.name); got != c.in {
				t.Errorf("%s at %s: got %q, want it as it was", c.in, elsewhere, got)
			}
		}
	}
	b.wait(func(e Event) bool {
		return e.Kind == KindRequest && e.Host == "api.example.com" && fmt.Sprint(e.Secrets) == "[TOKEN]"
	})
	b.wait(func(e Event) bool { return e.Kind == KindSecret && e.Host == "other.example.com" })
	b.wait(func(e Event) bool { return e.Kind == KindSecret && e.Host == "api.example.com" && e.Port == 80 })
}

func TestSecretsInQueryAndBody(t *testing.T) {
	w := newWorld(t)
	var body, query, length string
	rec := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, query, length = string(b), r.URL.RawQuery, fmt.Sprint(r.ContentLength)
	})
	post := func(b *box, host, contentType, text string, stream bool) {
		t.Helper()
		var r io.Reader = strings.NewReader(text)
		if stream {
			r = io.MultiReader(r)
		}
		req, _ := http.NewRequest("POST", host+"/p/$MSB_TOKEN?a=$MSB_TOKEN&b=%24MSB_TOKEN", r)
		req.Header.Set("Content-Type", contentType)
		if status, text := b.do(req); status != 200 {
			t.Fatalf("got %d %s", status, text)
		}
	}
	closed := secretBox(t, w, rec)
	post(closed, "https://api.example.com", "text/plain", "x $MSB_TOKEN", false)
	if body != "x $MSB_TOKEN" || query != "a=$MSB_TOKEN&b=%24MSB_TOKEN" {
		t.Errorf("without :in: got the body %q and the query %q", body, query)
	}
	closed.wait(func(e Event) bool { return e.Kind == KindSecret })
	open := secretBox(t, w, rec, Query, Body)
	q := "a=" + url.QueryEscape(canary) + "&b=" + url.QueryEscape(canary)
	for _, stream := range []bool{false, true} {
		post(open, "https://api.example.com", "text/plain", "x $MSB_TOKEN", stream)
		if body != "x "+canary || query != q {
			t.Errorf("with :in: got the body %q and the query %q", body, query)
		}
		if want := fmt.Sprint(len(body)); !stream && length != want {
			t.Errorf("got the length %s, want %s", length, want)
		}
		post(open, "https://api.example.com", "application/x-www-form-urlencoded", "a=%24MSB_TOKEN", stream)
		if body != "a="+url.QueryEscape(canary) {
			t.Errorf("form: got %q", body)
		}
	}
	post(open, "https://other.example.com", "text/plain", "x $MSB_TOKEN", false)
	if body != "x $MSB_TOKEN" || strings.Contains(query, "canary") {
		t.Errorf("other host: got %q and %q", body, query)
	}
	large := strings.Repeat("y", 3<<20) + "$MSB_TOKEN"
	post(open, "https://api.example.com", "text/plain", large, false)
	if !strings.HasSuffix(body, "y"+canary) || len(body) != 3<<20+len(canary) {
		t.Errorf("a long body: got %d bytes", len(body))
	}
	open.wait(func(e Event) bool {
		return e.Kind == KindRequest && fmt.Sprint(e.Secrets) == "[TOKEN]" && e.Sent > 3<<20
	})
}

// A placeholder in a body that is not for it passes as it is, and is told of.
func TestPlaceholdersInBodiesAreTold(t *testing.T) {
	w := newWorld(t)
	b := secretBox(t, w, http.HandlerFunc(echo))
	for _, host := range []string{"api", "other"} {
		text := strings.Repeat("x", 100_000) + "$MSB_TOKEN."
		req, _ := http.NewRequest("POST", "https://"+host+".example.com/", &slow{text})
		if status, body := b.do(req); status != 200 || !strings.HasSuffix(body, "x$MSB_TOKEN.") {
			t.Errorf("got %d", status)
		}
		b.wait(func(e Event) bool { return e.Kind == KindSecret && e.Host == host+".example.com" })
	}
}

// slow gives a text a few bytes at a time.
type slow struct{ rest string }

func (s *slow) Read(p []byte) (int, error) {
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 997)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func TestJSONBody(t *testing.T) {
	w := newWorld(t)
	var got map[string]string
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _ = json.NewDecoder(r.Body).Decode(&got) })
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", h))}}, Roots: w.pool,
		Secrets: []Secret{{Env: "PASS", Hosts: []string{"api.example.com"}, Value: value(t, "quo\"te\\n\nline"), In: []Place{Body}}}})
	req, _ := http.NewRequest("POST", "https://api.example.com/", strings.NewReader(`{"p":"$MSB_PASS"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Key", "$MSB_PASS")
	if status, text := b.do(req); status != 200 || got["p"] != "quo\"te\\n\nline" {
		t.Errorf("got %d %s, upstream %q", status, text, got)
	}
}

// leaks gives the form in which text holds the canary.
func leaks(text string) string {
	for _, p := range scrubPatterns([]bound{{env: "T", placeholder: "$MSB_T", value: canary}}) {
		if strings.Contains(text, p.find) {
			return p.find
		}
	}
	return ""
}

// The canary comes back in every way that a server has; the box sees none, and nobody else either.
func TestEchoesAreScrubbed(t *testing.T) {
	w := newWorld(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		forms := []string{s, url.QueryEscape(s), url.PathEscape(s), b64(s), b64("x" + s), b64("xx" + s + "y"), base64.RawURLEncoding.EncodeToString([]byte("u:" + s))}
		text := strings.Join(forms, "\n")
		w.Header().Set("Link", "</"+s+">")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-End")
		w.Header().Set("X-Echo", text[:len(s)])
		w.Header().Set("Location", "/"+url.QueryEscape(s))
		switch r.URL.Path {
		case "/known":
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			fmt.Fprint(w, text)
		case "/long":
			text = strings.Repeat("z", 2<<20) + text
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			fmt.Fprint(w, text)
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zip(text))
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, text)
		default:
			for i := range len(text) { // byte by byte
				_, _ = w.Write([]byte{text[i]})
				if i%7 == 0 {
					w.(http.Flusher).Flush()
				}
			}
			fmt.Fprint(w, strings.Repeat("z", 2<<20), text)
		}
		w.Header().Set("X-End", s)
	})
	if harm := direct(t, w, h); leaks(harm) == "" {
		t.Fatalf("without the proxy the value comes back; got %q", harm)
	}
	b := secretBox(t, w, h)
	for _, path := range []string{"/chunks", "/known", "/gzip", "/br", "/long"} {
		req, _ := http.NewRequest("GET", "https://api.example.com"+path, nil)
		req.Header.Set("Authorization", "Bearer $MSB_TOKEN")
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := b.client().Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		all := fmt.Sprint(res.Header, string(body), res.Trailer, err)
		if form := leaks(all); form != "" {
			t.Errorf("%s: the box sees %q", path, form)
		}
		if path == "/long" {
			if res.ContentLength != int64(len(body)) || !strings.Contains(string(body), "z$MSB_TOKEN***") {
				t.Errorf("got the length %d, %d bytes, ending in %q", res.ContentLength, len(body), body[2<<20:])
			}
			continue
		}
		if path == "/br" {
			if res.StatusCode != 502 || !strings.Contains(string(body), "cannot be searched") {
				t.Errorf("got %d %s, want a refusal of what cannot be searched", res.StatusCode, body)
			}
			continue
		}
		if !strings.HasPrefix(string(body), "$MSB_TOKEN\n%24MSB_TOKEN\n") || res.Header.Get("X-Echo") != "$MSB_TOKEN" || res.Header.Get("Location") != "/%24MSB_TOKEN" {
			t.Errorf("%s: got %v %.200s", path, res.Header, body)
		}
		if path != "/known" && res.Trailer.Get("X-End") != "$MSB_TOKEN" {
			t.Errorf("%s: got the trailer %v", path, res.Trailer)
		}
		// What surrounds the secret in base64 still decodes.
		line := strings.Split(string(body), "\n")[5]
		if d, err := base64.StdEncoding.DecodeString(line); err != nil || !bytes.HasPrefix(d, []byte("xx")) {
			t.Errorf("%s: got %q, %v, want base64 of xx…", path, d, err)
		}
	}
	if form := leaks(b.told()); form != "" {
		t.Errorf("the events hold %q", form)
	}
}

// direct asks an upstream with the value itself and without the proxy.
func direct(t *testing.T, w *world, h http.Handler) string {
	t.Helper()
	addr := w.server("api.example.com", h)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.pool, ServerName: "api.example.com"}}}
	defer c.CloseIdleConnections()
	req, _ := http.NewRequest("GET", "https://"+addr+"/", nil)
	req.Header.Set("Authorization", "Bearer "+canary)
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.Header, string(body), res.Trailer)
}

// An error of HTTP quotes what the server said.
func TestErrorsAreScrubbed(t *testing.T) {
	w := newWorld(t)
	cert, _ := w.ca.issue("api.example.com")
	for _, answer := range []string{"%s nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\n%s\r\n\r\n", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go rawServer(l, cert, fmt.Sprintf(answer, canary))
		b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", l.Addr().String())}}, Roots: w.pool,
			Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"api.example.com"}, Value: value(t, canary)}}})
		status, body := b.get("https://api.example.com/", "Authorization", "$MSB_TOKEN")
		e := b.wait(func(e Event) bool { return e.Kind == KindRequest })
		if form := leaks(body + b.told()); form != "" || status != 502 {
			t.Errorf("%q: got %d, leaked %q: %s %s", answer, status, form, body, e.Error)
		}
		_ = l.Close()
	}
}

// The answer of a model comes in events; none waits for the next.
func TestEventStreamsAreNotDelayed(t *testing.T) {
	w := newWorld(t)
	next := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: %d %s\n\n", i, r.Header.Get("X-Key"))
			w.(http.Flusher).Flush()
			<-next
		}
	})
	b := secretBox(t, w, h)
	req, _ := http.NewRequest("GET", "https://api.example.com/", nil)
	req.Header.Set("X-Key", "$MSB_TOKEN")
	res, err := b.client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for i := range 5 {
		want := fmt.Sprintf("data: %d $MSB_TOKEN\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q %v, want %q before the next is sent", got, err, want)
		}
		next <- struct{}{}
	}
}

func TestSecretsThatAreRefused(t *testing.T) {
	good := value(t, canary)
	for want, s := range map[string]Secret{
		"want letters":          {Env: "A-B", Hosts: []string{"a.com"}, Value: good},
		"the certificates are":  {Env: "SSL_CERT_FILE", Hosts: []string{"a.com"}, Value: good},
		"A: no value":           {Env: "A", Hosts: []string{"a.com"}},
		"A: got no hosts":       {Env: "A", Value: good},
		"got the host *":        {Env: "A", Hosts: []string{"*"}, Value: good},
		"want a host name":      {Env: "A", Hosts: []string{"a b"}, Value: good},
		"an address has no":     {Env: "A", Hosts: []string{"127.0.0.1"}, Value: good},
		`got :in "path"`:        {Env: "A", Hosts: []string{"a.com"}, Value: good, In: []Place{"path"}},
		"a value of several li": {Env: "A", Hosts: []string{"a.com"}, Value: value(t, "line one\nline two")},
	} {
		_, err := New(Config{Secrets: []Secret{s}})
		if err == nil || !strings.Contains(err.Error(), want) || leaks(err.Error()) != "" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(Config{Secrets: []Secret{{Env: "A", Hosts: []string{"a.com"}, Value: good}, {Env: "A", Hosts: []string{"b.com"}, Value: good}}}); err == nil {
		t.Error("got no error for one variable twice")
	}
	_, err := ResolveSecrets(context.Background(), []Secret{{Env: "HAVE"}, {Env: "MISSING_ONE"}, {Env: "MISSING_TWO"}}, secret.Env{Lookup: func(k string) (string, bool) { return canary, k == "HAVE" }})
	if err == nil || !strings.Contains(err.Error(), "no value for MISSING_ONE, MISSING_TWO") {
		t.Errorf("got %v, want both missing ones named", err)
	}
}

// The value is in nothing that prints the configuration or the proxy's own state of it.
func TestConfigDoesNotShowValues(t *testing.T) {
	conf := Config{Secrets: []Secret{{Env: "TOKEN", Hosts: []string{"a.com"}, Value: value(t, canary)}}, Internal: &Internal{Token: value(t, canary), Endpoint: &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/mcp/worker"}}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", conf.Secrets[0], "all", conf.Secrets)
	j, err := json.Marshal(conf.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{log.String(), string(j), fmt.Sprintf("%v %+v %#v %s %q %x", conf, conf, conf, conf.Secrets, conf.Secrets, conf.Secrets)} {
		if leaks(s) != "" || strings.Contains(s, fmt.Sprintf("%x", canary)) {
			t.Errorf("shown: %s", s)
		}
	}
}

// A box cannot make the proxy hold a request for ever.
func TestIdleConnections(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	defer close(release)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	b := startBox(t, Config{Policy: Policy{Allow: []Rule{at("api.example.com", w.server("api.example.com", h))}}, Roots: w.pool, Limits: Limits{Idle: 200 * time.Millisecond, HeaderTime: 100 * time.Millisecond}})
	if status, why := b.get("https://api.example.com/"); status != 0 || strings.Contains(why, "Client.Timeout") {
		t.Errorf("got %d %s, want the connection to be cut", status, why)
	}
	silent := b.mustDial("api.example.com", 443)
	if err := func() error {
		_ = silent.SetReadDeadline(time.Now().Add(patience))
		_, err := silent.Read(make([]byte, 1))
		return err
	}(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection that says nothing: got %v, want it closed", err)
	}
}
