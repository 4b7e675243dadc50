package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/webhook"
	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) { noleak.Main(m) }

const secret = "a secret of a sender"

// clock is when the tests are.
var clock = time.Unix(1_700_000_000, 0)

// box is a server whose hook "push" collects what it gets.
type box struct {
	*webhook.Server
	t    *testing.T
	url  string
	mu   sync.Mutex
	got  []webhook.Delivery
	seen map[string]bool
	fail func(d webhook.Delivery) error
}

func open(t *testing.T, dir string, change func(*webhook.Config, *webhook.Hook)) *box {
	t.Helper()
	b := &box{t: t, seen: map[string]bool{}}
	conf := webhook.Config{Dir: dir, Now: func() time.Time { return clock }, ReadTimeout: time.Minute,
		Seen: func(_ context.Context, _, id string) (bool, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.seen[id], nil
		}}
	hook := webhook.Hook{Name: "push", Secrets: func() ([]string, error) { return []string{secret}, nil }, Handle: b.handle}
	if change != nil {
		change(&conf, &hook)
	}
	b.Server = webhook.New(conf)
	if err := b.Add(hook); err != nil {
		t.Fatal(err)
	}
	addr, err := b.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + addr
	t.Cleanup(b.stop)
	return b
}

func (b *box) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Stop(ctx, errors.New("the test is over")); err != nil {
		b.t.Errorf("stop: %v", err)
	}
}

func (b *box) handle(ctx context.Context, d webhook.Delivery) error {
	if f := b.fail; f != nil {
		if err := f(d); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, d)
	b.seen[d.ID] = true
	return nil
}

// ids waits for n deliveries and gives their ids.
func (b *box) ids(n int) []string {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		b.mu.Lock()
		var ids []string
		for _, d := range b.got {
			ids = append(ids, d.ID)
		}
		b.mu.Unlock()
		if len(ids) >= n {
			return ids
		}
		if time.Now().After(end) {
			b.t.Fatalf("got %v, want %d deliveries", ids, n)
		}
	}
}

func (b *box) post(path, body string, heads map[string]string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequest("POST", b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range heads {
		req.Header.Set(k, v)
	}
	req.Close = true
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	return res.StatusCode, string(text)
}

func mac(secret string, parts ...string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(strings.Join(parts, "")))
	return m.Sum(nil)
}

func github(body, id string) map[string]string {
	return map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac(secret, body)), "X-GitHub-Delivery": id}
}

// What is signed is accepted, once for each id; what is not leaves nothing.
func TestGitHub(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	b.Run()
	body := `{"é":1}`
	for _, test := range []struct {
		name string
		body string
		head map[string]string
		want int
	}{
		{"signed", body, github(body, "d1"), 202},
		{"again", body, github(body, "d1"), 200},
		{"another", body, github(body, "d2"), 202},
		{"not signed", body, nil, 401},
		{"another body", body + " ", github(body, "d3"), 401},
		{"half a signature", body, map[string]string{"X-Hub-Signature-256": github(body, "")["X-Hub-Signature-256"][:40]}, 401},
		{"no hexadecimal", body, map[string]string{"X-Hub-Signature-256": "sha256=" + strings.Repeat("zz", 32)}, 401},
		{"sha1", body, map[string]string{"X-Hub-Signature": "sha1=00"}, 401},
		{"no name", "no name", github("no name", ""), 202},
		{"no name, again", "no name", github("no name", ""), 200},
		{"no text", "\xff\xfe", github("\xff\xfe", "d4"), 400},
		{"a long name", "x", github("x", strings.Repeat("n", 1000)), 400},
	} {
		if got, text := b.post("/hooks/push", test.body, test.head); got != test.want || strings.Contains(text, secret) {
			t.Errorf("%s: got %d %s, want %d", test.name, got, text, test.want)
		}
	}
	ids := b.ids(3)
	if ids[0] != "d1" || ids[1] != "d2" || !strings.HasPrefix(ids[2], "sha256:") || len(ids) != 3 {
		t.Errorf("got %v, want d1, d2 and one named by its hash", ids)
	}
	if d := b.got[0]; d.Body != body || d.Headers["x-github-delivery"] != "d1" {
		t.Errorf("got %+v, want the body and the headers", d)
	}
	if got, _ := b.post("/hooks/other", body, github(body, "d5")); got != 404 {
		t.Errorf("got %d for a path that nobody has, want 404", got)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(b.url + "/hooks/push")
	if err != nil || res.StatusCode != 405 {
		t.Fatalf("got %v, %v for GET, want 405", res, err)
	}
	_ = res.Body.Close()
}

// A request that was caught and is sent again is refused when its time is over, and taken for the same one before. By
// GitHub's scheme only the body can tell.
func TestReplay(t *testing.T) {
	at := func(d time.Duration) string { return strconv.FormatInt(clock.Add(d).Unix(), 10) }
	stripe := func(body, at string) map[string]string {
		return map[string]string{"Stripe-Signature": "t=" + at + ",v0=00,v1=" + hex.EncodeToString(mac("old", at, ".", body)) + ",v1=" + hex.EncodeToString(mac(secret, at, ".", body))}
	}
	standard := func(id, body, at string) map[string]string {
		return map[string]string{"webhook-id": id, "webhook-timestamp": at,
			"webhook-signature": "v1a,xx v1," + base64.StdEncoding.EncodeToString(mac(secret, id, ".", at, ".", body))}
	}
	with := func(m map[string]string, k, v string) map[string]string { m[k] = v; return m }
	b := open(t, t.TempDir(), func(_ *webhook.Config, h *webhook.Hook) { h.Scheme = webhook.Stripe })
	for name, scheme := range map[string]string{"std": webhook.Standard, "key": webhook.Standard, "body": webhook.GitHub} {
		h := webhook.Hook{Name: name, Scheme: scheme, ByBody: name == "body", Handle: b.handle, Secrets: func() ([]string, error) {
			if name == "key" {
				return []string{"another", "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))}, nil
			}
			return []string{secret}, nil
		}}
		if err := b.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, path, body string
		head             map[string]string
		want             int
	}{
		{"stripe", "push", `{"id":"evt_1"}`, stripe(`{"id":"evt_1"}`, at(0)), 202},
		{"stripe, the same event signed anew", "push", `{"id":"evt_1"}`, stripe(`{"id":"evt_1"}`, at(time.Minute)), 200},
		{"stripe, old", "push", `{"id":"evt_2"}`, stripe(`{"id":"evt_2"}`, at(-6*time.Minute)), 401},
		{"stripe, of the future", "push", `{"id":"evt_3"}`, stripe(`{"id":"evt_3"}`, at(6*time.Minute)), 401},
		{"stripe, another time than signed", "push", `{"id":"evt_4"}`, with(stripe(`{"id":"evt_4"}`, at(-time.Hour)), "Stripe-Signature",
			strings.Replace(stripe(`{"id":"evt_4"}`, at(-time.Hour))["Stripe-Signature"], at(-time.Hour), at(0), 1)), 401},
		{"stripe, no time", "push", "{}", map[string]string{"Stripe-Signature": "t=,v1=00"}, 401},
		{"standard", "std", "{}", standard("m1", "{}", at(0)), 202},
		{"standard, again", "std", "{}", standard("m1", "{}", at(0)), 200},
		{"standard, under another name", "std", "{}", with(standard("m1", "{}", at(0)), "webhook-id", "m2"), 401},
		{"standard, old", "std", "{}", standard("m3", "{}", at(-time.Hour)), 401},
		{"standard, a time beyond all", "std", "{}", standard("m4", "{}", "99999999999999999999"), 401},
		{"standard, a key in base64, the second of two", "key", "{}", standard("m5", "{}", at(0)), 202},
		{"by body", "body", "{}", github("{}", "g1"), 202},
		{"by body, under another name", "body", "{}", github("{}", "g2"), 200},
	} {
		if got, text := b.post("/hooks/"+test.path, test.body, test.head); got != test.want {
			t.Errorf("%s: got %d %s, want %d", test.name, got, text, test.want)
		}
	}
}

// What was answered with 202 is handled by the next process where this one did not; without the files it would be lost.
func TestKilledBeforeItWasHandled(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, nil) // it does not Run: as if it was killed right after the answer
	for i := range 5 {
		body := fmt.Sprint(i)
		if got, _ := b.post("/hooks/push", body, github(body, "d"+body)); got != 202 {
			t.Fatalf("got %d, want 202", got)
		}
	}
	if len(b.got) != 0 {
		t.Fatalf("got %v handled, want none: the test shows nothing", b.got)
	}
	b.stop()
	// Half a file of one that was never answered.
	if err := os.WriteFile(filepath.Join(dir, "push", ".part-1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, nil)
	if got, _ := next.post("/hooks/push", "3", github("3", "d3")); got != 200 {
		t.Errorf("got %d for one that waits, want 200", got)
	}
	next.Run()
	if got := strings.Join(next.ids(5), " "); got != "d0 d1 d2 d3 d4" {
		t.Errorf("got %s, want all in their order", got)
	}
	var left []string
	for end := time.Now().Add(time.Minute); len(left) != 1 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		left, _ = filepath.Glob(filepath.Join(dir, "push", "*"))
	}
	if len(left) != 1 { // failed/
		t.Errorf("got %v left, want none", left)
	}
}

// Where a delivery cannot be recorded, or the queue is full, the sender is told to come again.
func TestNotAccepted(t *testing.T) {
	refuse := true
	b := open(t, t.TempDir(), func(c *webhook.Config, h *webhook.Hook) {
		h.MaxQueue, h.MaxBody = 2, 100
		c.Accepted = func(context.Context, webhook.Delivery) error {
			if refuse {
				return errors.New("the journal is full")
			}
			return nil
		}
	})
	send := func(id string) int { code, _ := b.post("/hooks/push", id, github(id, id)); return code }
	if got := send("a"); got != 503 {
		t.Errorf("got %d, want 503", got)
	}
	refuse = false
	for _, want := range []int{202, 202, 503} {
		if got := send(fmt.Sprint("q", time.Now().UnixNano())); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	big := strings.Repeat("x", 101)
	if got, _ := b.post("/hooks/push", big, github(big, "big")); got != 413 {
		t.Errorf("got %d, want 413", got)
	}
	// Without a length, too.
	req, _ := http.NewRequest("POST", b.url+"/hooks/push", io.MultiReader(strings.NewReader(big), strings.NewReader(big)))
	req.Close = true
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || res.StatusCode != 413 {
		t.Errorf("got %v, %v, want 413", res, err)
	}
	if err == nil {
		_ = res.Body.Close()
	}
}

// A delivery that fails lies with the failed ones, hinders no other, and can be handled again.
func TestFailed(t *testing.T) {
	broken := true
	var mu sync.Mutex
	b := open(t, t.TempDir(), nil)
	b.fail = func(d webhook.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case d.ID == "bad" && broken:
			return errors.New("no luck")
		case d.ID == "panics":
			panic("oh")
		}
		return nil
	}
	b.Run()
	for _, id := range []string{"bad", "panics", "good"} {
		b.post("/hooks/push", id, github(id, id))
	}
	b.ids(1)
	failed, err := b.Failed("push")
	if err != nil || len(failed) != 2 || failed[0].ID != "bad" || failed[0].Error != "no luck" || failed[1].Error != "panic: oh" {
		t.Fatalf("got %+v, %v, want bad and panics", failed, err)
	}
	if err := b.Again("push", "good", func() error { return nil }); err == nil {
		t.Error("got no error for one that did not fail, want one")
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	forgotten := false
	if err := b.Again("push", "bad", func() error { forgotten = true; return nil }); err != nil || !forgotten {
		t.Error(err)
	}
	if ids := b.ids(2); ids[1] != "bad" {
		t.Errorf("got %v, want bad at last", ids)
	}
	if left, _ := b.Failed("push"); len(left) != 1 {
		t.Errorf("got %+v, want panics only", left)
	}
}

// What is put off waits for Wake, and what a Stop cuts short waits for the next process.
func TestLaterAndCut(t *testing.T) {
	dir := t.TempDir()
	later := true
	var mu sync.Mutex
	b := open(t, dir, nil)
	b.fail = func(webhook.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		if later {
			return webhook.ErrLater
		}
		return nil
	}
	b.Run()
	b.post("/hooks/push", "x", github("x", "x"))
	time.Sleep(30 * time.Millisecond)
	if h := b.Hooks(); h[0].Waiting != 1 || len(b.got) != 0 {
		t.Errorf("got %+v, want it to wait", h)
	}
	mu.Lock()
	later = false
	mu.Unlock()
	b.Wake()
	b.ids(1)

	begun := make(chan struct{})
	if err := b.Add(webhook.Hook{Name: "push", Secrets: func() ([]string, error) { return []string{secret}, nil },
		Handle: func(ctx context.Context, _ webhook.Delivery) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		}}); err != nil {
		t.Fatal(err)
	}
	b.post("/hooks/push", "y", github("y", "y"))
	<-begun
	b.stop()
	next := open(t, dir, nil)
	next.Run()
	if ids := next.ids(1); ids[0] != "y" {
		t.Errorf("got %v, want y", ids)
	}
}

// Slow and partial senders are cut off, and many hinder nobody for long.
func TestHostileSenders(t *testing.T) {
	b := open(t, t.TempDir(), func(c *webhook.Config, _ *webhook.Hook) {
		c.ReadTimeout, c.MaxConns = 300*time.Millisecond, 16
	})
	b.Run()
	var conns []net.Conn
	for i := range 14 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		text := "POST /hooks/push HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
		_, _ = conn.Write([]byte(text[:len(text)-i*4]))
		conns = append(conns, conn)
	}
	time.Sleep(700 * time.Millisecond)
	got, text := b.post("/hooks/push", "x", github("x", "x"))
	for range 9 { // on a slow machine a good sender is slow, too
		if got != 202 {
			got, text = b.post("/hooks/push", "x", github("x", "x"))
		}
	}
	if got != 202 {
		t.Errorf("got %d %s, want 202", got, text)
	}
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a slow sender still has its connection")
		}
		_ = c.Close()
	}
}

func TestHooksThatMakeNoSense(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	ok := func(h webhook.Hook) webhook.Hook {
		if h.Secrets == nil {
			h.Secrets = func() ([]string, error) { return []string{secret}, nil }
		}
		h.Handle = b.handle
		return h
	}
	for want, h := range map[string]webhook.Hook{
		"want 1 to 64 small letters": ok(webhook.Hook{Name: "../x"}),
		"which push has":             ok(webhook.Hook{Name: "b", Path: "/hooks/push"}),
		"begins with /":              ok(webhook.Hook{Name: "b", Path: "x"}),
		`the scheme "md5"`:           ok(webhook.Hook{Name: "b", Scheme: "md5"}),
		"below zero":                 ok(webhook.Hook{Name: "b", MaxBody: -1}),
		"no secret or no function":   {Name: "b"},
	} {
		if err := b.Add(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
