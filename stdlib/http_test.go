package stdlib_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/stdlib"
)

func echoServer(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("X-Saw", r.Header.Get("X-Sent")+"|"+r.Host+"|"+fmt.Sprint(r.ContentLength))
		_, _ = w.Write(b)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100_000)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestSend(t *testing.T) {
	w := newWorld(t, stdlib.Config{MaxBody: 50_000})
	w.eval(`(def url "` + echoServer(t) + `")`)
	w.run([]row{
		{`(:status (joker.http/send {:url (str url "/echo")}))`, `200`},
		{`(let [r (joker.http/send {:url (str url "/echo") :method :post :body "hi" :headers {"X-Sent" "s"} :host "h"})]
		    [(:body r) (get (:headers r) "X-Method") (get (:headers r) "X-Saw") (:content-length r)])`, `["hi" "POST" "s|h|2" 2]`},
		{`(do (spit "b" "from file") (with-open [f (joker.os/open "b")] (:body (joker.http/send {:url (str url "/echo") :method "put" :body f}))))`, `"from file"`},
		{`(:status (joker.http/send {:url (str url "/none")}))`, `404`},
		{`(:status (joker.http/send {:url (str url "/moved") :redirects false}))`, `302`},
		{`(:status (joker.http/send {:url (str url "/moved")}))`, `200`},
		{`(joker.http/send {:url (str url "/big")})`, `!larger than 50000 bytes; raise :max-body`},
		{`(count (:body (joker.http/send {:url (str url "/big") :max-body "1M"})))`, `100000`},
		{`(joker.http/send {:url (str url "/slow?key=secret") :timeout "50ms"})`, `!/slow within 50ms; try again or raise :timeout`},
		{`(try (joker.http/send {:url (str url "/slow") :timeout 50}) (catch TimeoutException e :late))`, `:late`},
		{`(joker.http/send {:url "ftp://x"})`, `!does not begin with http:// or https://`},
		{`(joker.http/send {})`, `!:url: got nothing`},
		{`(joker.http/send {:url "http://127.0.0.1:1/"})`, `!send: failed to do GET http://127.0.0.1:1/: `},
	})
	if s := w.eval(`(joker.http/send {:url "http://u:hidden@127.0.0.1:1/?k=secret"})`); strings.Contains(s, "secret") || strings.Contains(s, "hidden") {
		t.Errorf("the message tells a secret: %s", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := w.env.Eval(ctx, `(joker.http/send {:url (str url "/slow")})`, "test.joke"); err == nil || time.Since(start) > 25*time.Second {
		t.Errorf("got %v after %s, want a cancelled evaluation", err, time.Since(start))
	}
}

// lockedBuffer is a writer for two goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestServer(t *testing.T) {
	var errs lockedBuffer
	w := newWorld(t, stdlib.Config{Err: &errs, MaxBody: 1000})
	w.run([]row{
		{`(def addr (promise))`, `#'user/addr`},
		{`(defn handler [{:keys [uri request-method body headers query-string]}]
		    (case uri
		      "/text" "plain"
		      "/throw" (throw (ex-info "broken" {}))
		      "/deep" ((fn f [] (inc (f))))
		      "/bad" 7
		      {:status 201 :headers {"X-A" ["1" "2"] :x-b 3} :body (str (name request-method) " " uri " " query-string " " body " " (get headers "x-sent"))}))`, `#'user/handler`},
		{`(def server (future (joker.http/start-server "127.0.0.1:0" (fn [r] (handler r)) {:started (fn [a] (deliver addr a))})))`, `#'user/server`},
		{`(def url (str "http://" (deref addr 60000 nil)))`, `#'user/url`},
		{`(select-keys (joker.http/send {:url (str url "/a?b=c") :method :post :body "hi" :headers {:x-sent "s"}}) [:status :body])`, `{:status 201, :body "post /a b=c hi s"}`},
		{`(map (:headers (joker.http/send {:url url})) ["X-A" "X-B"])`, `("1, 2" "3")`},
		{`(:body (joker.http/send {:url (str url "/text")}))`, `"plain"`},
		{`(map #(:status (joker.http/send {:url (str url %)})) ["/throw" "/deep" "/bad" "/text"])`, `(500 500 500 200)`},
		{`(:status (joker.http/send {:url url :method :post :body (joker.string/join (repeat 2000 "x"))}))`, `413`},
		{`(count (set (map deref (doall (map (fn [i] (future (:body (joker.http/send {:url (str url "/" i)})))) (range 20))))))`, `20`},
		{`(joker.http/start-server (deref addr) handler)`, `!start-server: failed to listen on 127.0.0.1:`},
		{`(joker.http/start-server "127.0.0.1:0" 7)`, `!start-server: got 7 (integer), want a function`},
		{`(do (future-cancel server) (loop [i 0] (when (and (try (joker.http/send {:url url}) (catch Exception e nil)) (< i 3000)) (joker.time/sleep (* 20 joker.time/millisecond)) (recur (inc i)))) (joker.http/send {:url url}))`, `!connection refused`},
	})
	if !strings.Contains(errs.String(), "handler failed on GET /throw: broken") {
		t.Errorf("report: got %q", errs.String())
	}
}

func TestFileServer(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	if err := os.WriteFile(filepath.Join(w.dir, "a.txt"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got string
	for range 5 { // another program may take the port first
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		_ = l.Close()
		w.eval(`(def server (future (joker.http/start-file-server "` + addr + `" ".")))`)
		got = w.eval(`(loop [] (let [r (try (joker.http/send {:url "http://` + addr + `/a.txt"}) (catch Exception e nil))]
		    (cond r (:body r) (realized? server) nil :else (do (joker.time/sleep (* 20 joker.time/millisecond)) (recur)))))`)
		if got == `"content"` {
			break
		}
	}
	if got != `"content"` {
		t.Errorf("got %s, want the file", got)
	}
	w.run([]row{{`(future-cancel server)`, `true`}})
}
