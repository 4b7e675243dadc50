//go:build linux

package spawn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/need"
	"github.com/reflection-dev/zeno/internal/npmcli"
	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/native"
)

// boxes gives a house boxes, and hears their proxies.
type boxesOf struct {
	*native.Backend
	mu   sync.Mutex
	told []egress.Event
}

func withBoxes(t *testing.T) (*boxesOf, func(*Config)) {
	t.Helper()
	b := &boxesOf{}
	return b, func(c *Config) {
		n, err := native.New(native.Config{StateDir: c.StateDir, Self: true})
		if err != nil {
			t.Fatal(err)
		}
		if r := n.Probe(context.Background()); !r.Usable {
			need.Skip(t, "no boxes here:\n%s", r)
		}
		b.Backend = n
		t.Cleanup(func() { _ = n.Close() })
		c.Boxes = func() (Boxes, error) { return n, nil }
		c.OnEgress = func(_, _ string, e egress.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, e)
		}
	}
}

// newBoxed is newReal in a box, with a model server that speaks TLS.
func newBoxed(t *testing.T, cli string) (*realRun, *boxesOf) {
	t.Helper()
	path := npmcli.Need(t, cli)
	model := modelserver.NewTLS(modelserver.Config{})
	t.Cleanup(model.Close)
	boxes, change := withBoxes(t)
	h := newHouse(t, func(c *Config) {
		c.Path, c.Roots = path, model.Roots()
		change(c)
	})
	_, port, _ := strings.Cut(model.Addr(), ":")
	return &realRun{house: h, model: model, req: Request{
		Role: "reader", Backend: cli, Prompt: "go [[eval: (+ 1 2)]]", System: "SYSTEM-MARK", Model: "m1",
		BaseURL: "https://" + modelserver.TLSName + ":" + port + traits()[cli].base, APIKey: apiKey, Timeout: 2 * time.Minute, Grace: time.Second,
		Box: Box{Egress: sandbox.Egress{Allow: []sandbox.Rule{{Host: modelserver.TLSName + ":" + port, Addr: model.Addr()}}}},
	}}, boxes
}

// TestBoxedWork is the main job in a box: three evals, an answer, usage, a session that goes on in another box; the key and
// the token reach the model server and the endpoint, and are nowhere else.
func TestBoxedWork(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r, boxes := newBoxed(t, cli)
		r.req.Work = t.TempDir()
		r.req.Prompt = "go [[eval: (+ 1 2)]] [[eval: (str \"a\" 'b)]] [[eval: {:né [1 2]}]]"
		res := r.Run(context.Background(), r.req)
		want(t, res, OK, "")
		if res.Answer != "RESULT: => {:né [1 2]}" || res.Evals != 3 || !res.Boxed || res.Session == "" {
			t.Fatalf("got %+v\n%s", res, boxes.text())
		}
		if res.Usage.TokensIn != 40 || res.Usage.TokensOut != 20 {
			t.Errorf("usage: got %+v, want 4 answers of 10 and 5 tokens", res.Usage)
		}
		for _, q := range r.model.Requests() {
			if q.Auth != apiKey || strings.Contains(q.Body, tokenPrefix) {
				t.Errorf("a request to the model: got the key %q, want ours and no token", q.Auth)
			}
		}
		r.checkResume(t, res)
		if said := r.said(res) + boxes.text(); strings.Contains(said, "CANARY") {
			t.Errorf("a secret came out in:\n%s", said)
		}
		if !slices.ContainsFunc(boxes.told, func(e egress.Event) bool { return slices.Contains(e.Secrets, keyEnv) }) {
			t.Errorf("events: got none that names the key:\n%s", boxes.text())
		}
		if files := filesWith(t, r.conf.StateDir, "CANARY"); len(files) != 0 {
			t.Errorf("a secret is in %v", files)
		}
	})
}

func (b *boxesOf) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, e := range b.told {
		fmt.Fprintf(&out, "%+v\n", e)
	}
	return out.String()
}

// filesWith lists the files below dir that hold text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	for _, file := range leftFiles(dir) {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), text) {
			found = append(found, file)
		}
	}
	return found
}

// TestBoxedCancel cancels in the middle of an eval: nothing of the box is left when Run returns.
func TestBoxedCancel(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		r, boxes := newBoxed(t, cli)
		r.req.ID, r.req.Prompt = "cancelled-"+cli, "[[eval: (sleep)]]"
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		home := "HOME=" + filepath.Join(r.spawnsDir(), r.req.ID, "home")
		var before []string
		go func() {
			<-r.gateway.running
			before = processesWith(home)
			cancel()
		}()
		want(t, r.Run(ctx, r.req), Cancelled, "cancelled")
		if len(before) == 0 {
			t.Error("processes before the cancel: got none")
		}
		if after := processesWith(home); len(after) != 0 {
			t.Errorf("processes after the cancel: got %v, want none", after)
		}
		if bodies, err := boxes.PS(context.Background()); err != nil || len(bodies) != 0 {
			t.Errorf("bodies: got %v %v, want none", bodies, err)
		}
		if left := leftFiles(r.spawnsDir()); len(left) != 0 {
			t.Errorf("left in the state directory: %v", left)
		}
	})
}

// TestBoxedTimeout: the model takes longer than the spawn may.
func TestBoxedTimeout(t *testing.T) {
	r, _ := newBoxed(t, "claude")
	r.model.Set(modelserver.Config{Latency: time.Minute})
	r.req.Timeout = 4 * time.Second
	want(t, r.Run(context.Background(), r.req), Timeout, "4s")
}
