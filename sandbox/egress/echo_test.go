package egress

import (
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// echoWays are ways in which a server that knows a secret says it, each by a path. What a request needs for it is in ask.
var echoWays = []struct {
	path  string
	ask   func(*http.Request)
	serve func(http.ResponseWriter, *http.Request)
}{
	{"/trailer-without-a-body", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "0")
		w.Header().Set("Trailer", "X-End")
		w.WriteHeader(200)
		w.Header().Set("X-End", canary)
	}},
	{"/trailer-that-was-not-announced", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "x")
		w.Header().Set(http.TrailerPrefix+"X-End", canary)
	}},
	{"/two-encodings", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = []string{"identity", "gzip"}
		_, _ = w.Write(zip(canary))
	}},
	{"/list-of-encodings", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "identity, gzip")
		_, _ = w.Write(zip(canary))
	}},
	{"/gzip-twice", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip, gzip")
		_, _ = w.Write(zip(string(zip(canary))))
	}},
	{"/zstd", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "zstd")
		fmt.Fprint(w, canary)
	}},
	{"/deflate", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "deflate")
		fmt.Fprint(w, canary)
	}},
	{"/range", func(r *http.Request) { r.Header.Set("Range", "bytes=0-11") }, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", epoch, strings.NewReader(canary))
	}},
	{"/rest", func(r *http.Request) { r.Header.Set("Range", "bytes=12-") }, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", epoch, strings.NewReader(canary))
	}},
	{"/ranges", func(r *http.Request) { r.Header.Set("Range", "bytes=0-8,9-15,16-") }, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", epoch, strings.NewReader(canary))
	}},
	{"/json-of-php", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"a":"%s"}`, strings.ReplaceAll(canary, "/", `\/`))
	}},
	{"/json-of-dotnet", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"a":"%s"}`, strings.ReplaceAll(canary, "+", `\u002B`))
	}},
	{"/url-in-lower-case", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3D", "%3d").Replace(url.QueryEscape(canary)))
	}},
	{"/html", nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, html.EscapeString(canary)) }},
	{"/html-of-templates", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(canary, "+", "&#43;"))
	}},
	{"/html-of-handlebars", nil, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(canary, "=", "&#x3D;"))
	}},
	{"/multipart", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", `multipart/mixed; boundary="b"`)
		fmt.Fprintf(w, "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--b--\r\n", b64("u:"+canary))
	}},
	{"/cookie", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "a=b")
		w.Header().Add("Set-Cookie", "t="+url.QueryEscape(canary)+"; HttpOnly")
	}},
	{"/elsewhere", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://other.example.com/?t="+url.QueryEscape(canary))
		w.Header().Set("Refresh", "0; url=https://other.example.com/"+canary)
		w.WriteHeader(302)
	}},
	{"/error", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+canary+`"`)
		http.Error(w, "no such key: "+canary, 500)
	}},
	{"/events", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range "data: " + canary + "\n\n" {
			fmt.Fprint(w, string(c))
			w.(http.Flusher).Flush()
		}
	}},
	{"/not-modified", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString([]byte(canary))+`"`)
		w.WriteHeader(http.StatusNotModified)
	}},
}

// parts are what is looked for: a box that gets two halves has the whole.
var parts = []string{canary, canary[:12], canary[12:], "canary-0f", url.QueryEscape(canary)[7:], strings.TrimRight(b64("u:" + canary)[4:], "=")[:12]}

// What a server says of a secret that it knows is hidden in whatever way it says it, over h1 and h2, and also over plain
// HTTP, over which it was never sent: a server forgets nothing between its ports.
func TestEveryWayToSayASecret(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, way := range echoWays {
			if way.path == r.URL.Path {
				way.serve(w, r)
			}
		}
	})
	w := newWorld(t)
	b := secretBox(t, w, h)
	h1 := b.client()
	h1.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	h1.Transport.(*http.Transport).TLSNextProto = nil
	for _, way := range echoWays {
		if harm := allOf(t, b.client().Transport, "https://other.example.com"+way.path, way.ask); holds(harm) == "" {
			t.Errorf("%s: of a host that no secret is bound to: got %q, want it said, else the rest shows nothing", way.path, harm)
		}
		for scheme, c := range map[string]http.RoundTripper{"https": b.client().Transport, "http": b.client().Transport, "h1 https": h1.Transport} {
			scheme = strings.TrimPrefix(scheme, "h1 ")
			got := allOf(t, c, scheme+"://api.example.com"+way.path, way.ask)
			if found := holds(got); found != "" {
				t.Errorf("%s over %s: got %q, which holds %q", way.path, scheme, got, found)
			}
		}
	}
	if found := holds(b.told()); found != "" {
		t.Errorf("the events hold %q", found)
	}
}

func holds(text string) string {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return p
		}
	}
	return leaks(text)
}

// allOf is all that a client can read of an answer; what is encoded as gzip it opens.
func allOf(t *testing.T, c http.RoundTripper, at string, ask func(*http.Request)) string {
	t.Helper()
	req, err := http.NewRequest("GET", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Key", "$MSB_TOKEN")
	if ask != nil {
		ask(req)
	}
	res, err := c.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	for range 2 {
		if z, err := unzip(body); err == nil {
			body = append(body, z...)
		}
	}
	return fmt.Sprint(res.Header, string(body), res.Trailer, err)
}

// Where no secret is, a range is asked for as the box asks.
func TestRangesOfOthersPass(t *testing.T) {
	w := newWorld(t)
	b := secretBox(t, w, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x", epoch, strings.NewReader("0123456789"))
	}))
	for _, c := range []struct {
		host   string
		status int
		body   string
	}{{"other", 206, "234"}, {"api", 200, "0123456789"}} {
		status, body := b.get("https://"+c.host+".example.com/", "Range", "bytes=2-4")
		if diff := cmp.Diff([]any{c.status, c.body}, []any{status, body}); diff != "" {
			t.Errorf("%s: %s", c.host, diff)
		}
	}
}
