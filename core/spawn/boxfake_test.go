//go:build linux

package spawn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/sandbox"
)

// fakeBoxed runs a shell script as the CLI, in a box, with a model server that speaks TLS. $URL is the model's root.
func fakeBoxed(t *testing.T, script string) (*house, Request, *boxesOf, *modelserver.Server) {
	t.Helper()
	model := modelserver.NewTLS(modelserver.Config{})
	t.Cleanup(model.Close)
	boxes, change := withBoxes(t)
	h := newHouse(t, func(c *Config) {
		table := sh(script)
		b := table["fake"]
		b.Env = map[string]string{"URL": "${base-url}", "ENDPOINT": "${endpoint}"}
		c.Backends, c.Roots = map[string]backend.Backend{"fake": b}, model.Roots()
		change(c)
	})
	h.gateway.pretend = true
	_, port, _ := strings.Cut(model.Addr(), ":")
	host := modelserver.TLSName + ":" + port
	return h, Request{Role: "reader", Backend: "fake", Prompt: "go", Timeout: 2 * time.Minute, Grace: 2 * time.Second,
		BaseURL: "https://" + host, APIKey: apiKey,
		Box: Box{Memory: 256 << 20, Egress: sandbox.Egress{Allow: []sandbox.Rule{{Host: host, Addr: model.Addr()}}}}}, boxes, model
}

// ask is a call of the model by curl.
const ask = `curl -s -o /dev/null -H "Authorization: Bearer $ZENO_API_KEY" -d '{"model":"m","messages":[{"role":"user","content":"hi"}]}' $URL/v1/chat/completions
`

// TestASilentCLIIsCountedAtTheProxy: what its stream does not tell, the model's answers do.
func TestASilentCLIIsCountedAtTheProxy(t *testing.T) {
	h, q, _, model := fakeBoxed(t, ask+ask+goodAnswer)
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	if res.Usage.TokensIn != 20 || res.Usage.TokensOut != 10 {
		t.Errorf("usage: got %+v, want two answers of 10 and 5 tokens", res.Usage)
	}
	if got := model.Requests()[0].Auth; got != apiKey {
		t.Errorf("key at the model: got %q", got)
	}
	h, q, _, _ = fakeBoxed(t, ask+ask+ask+`sleep 20`)
	q.MaxTokens = 20
	want(t, h.Run(context.Background(), q), OverBudget, "tokens: got 30")
}

// TestWhatABoxSees: a hostile CLI looks for the key and the token wherever it can, and for what is the host's.
func TestWhatABoxSees(t *testing.T) {
	beside := filepath.Join(t.TempDir(), "beside")
	if err := os.WriteFile(beside, []byte("host"), 0o644); err != nil {
		t.Fatal(err)
	}
	h, q, boxes, _ := fakeBoxed(t, ask+`
found= P=CANA P=${P}RY-
for f in /proc/*/environ /proc/*/cmdline; do tr '\0' '\n' < $f 2>/dev/null | grep -q $P && found="$found $f"; done
grep -rq $P $HOME /work /tmp /etc /run /.msb 2>/dev/null && found="$found files"
test "$ZENO_TOKEN" = '$MSB_ZENO_MCP' || found="$found token"
test "$ZENO_API_KEY" = '$MSB_ZENO_API_KEY' || found="$found key"
cat `+beside+` 2>/dev/null && found="$found beside"
ls -d `+"$HOME"+`/../../../*.sock $HOME/../../../admin.token $HOME/../../other 2>/dev/null && found="$found state"
code() { curl -s -m 60 -o /dev/null -w '%{http_code}' "$@"; }
own=$(code -H "Authorization: Bearer $ZENO_TOKEN" -H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"ping"}' $ENDPOINT)
other=$(code -H "Authorization: Bearer $ZENO_TOKEN" http://zeno.internal/mcp/admin)
net=$(code https://example.org)
ip=$(code http://127.0.0.1:`+"$PORT"+`)
echo "{\"answer\":\"found:$found own:$own other:$other net:$net ip:$ip\"}"`)
	port := h.gateway.URL[strings.LastIndexByte(h.gateway.URL, ':')+1:]
	q.Env = map[string]string{"PORT": port}
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	for _, part := range []string{"found: own:200 other:4", "net:000", "ip:000"} {
		if !strings.Contains(res.Answer, part) {
			t.Errorf("got %q, want it to hold %q\n%s", res.Answer, part, boxes.text())
		}
	}
	if said := h.said(res) + boxes.text(); strings.Contains(said, "CANARY") {
		t.Errorf("a secret came out in:\n%s", said)
	}

	// The same search finds them where there is no box.
	h, q = fake(t, `env | grep -q CANARY && echo '{"answer":"found"}'`, true)
	q.ID, q.Env = "CANARY-1", map[string]string{"K": "KEY-CANARY-1"}
	if res := h.Run(context.Background(), q); res.Answer != "found" || res.Boxed {
		t.Errorf("unboxed: got %+v, want the token found", res)
	}
}

// TestABoxIsToldToEnd: TERM comes before KILL, so that a CLI can put its session in order.
func TestABoxIsToldToEnd(t *testing.T) {
	h, q, _, _ := fakeBoxed(t, `trap 'echo saved > kept; exit 0' TERM; echo '{"text":"busy"}'; while :; do sleep 0.1; done`)
	q.Work, q.Grace = t.TempDir(), time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for !strings.Contains(h.said(), "busy") {
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	want(t, h.Run(ctx, q), Cancelled, "cancelled")
	if text, _ := os.ReadFile(filepath.Join(q.Work, "kept")); string(text) != "saved\n" {
		t.Errorf("what it wrote on TERM: got %q, want \"saved\"", text)
	}
	// One that does not heed it is killed when the grace is over.
	h, q, boxes, _ := fakeBoxed(t, `trap '' TERM; echo '{"text":"busy"}'; while :; do sleep 1; done`)
	q.Stall, q.Grace = time.Second, 300*time.Millisecond
	want(t, h.Run(context.Background(), q), Stalled, "no output and no eval")
	if bodies, err := boxes.PS(context.Background()); err != nil || len(bodies) != 0 {
		t.Errorf("bodies: got %v %v, want none", bodies, err)
	}
}

// TestBoundsOfABox: what ends a box from outside is said, with what to do.
func TestBoundsOfABox(t *testing.T) {
	h, q, _, _ := fakeBoxed(t, `i=0; while :; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done`)
	q.Box.Disk = 8 << 20
	want(t, h.Run(context.Background(), q), Failed, ":disk")
	h, q, boxes, _ := fakeBoxed(t, `echo '{"text":"busy"}'; sleep 30`)
	q.ID = "stopped"
	go func() {
		for !strings.Contains(h.said(), "busy") {
			time.Sleep(20 * time.Millisecond)
		}
		_ = boxes.Stop(context.Background(), "stopped")
	}()
	want(t, h.Run(context.Background(), q), Cancelled, "stopped by the operator")
}

// TestWhatNoBoxCanHold lists refusals: each says what to do, and nothing was started.
func TestWhatNoBoxCanHold(t *testing.T) {
	h, q, _, _ := fakeBoxed(t, goodAnswer)
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"key over http":   {func(q *Request) { q.BaseURL = "http://llm.lan:8000" }, "over https only"},
		"no base-url":     {func(q *Request) { q.BaseURL = "" }, "base-url: got none"},
		"https of an IP":  {func(q *Request) { q.BaseURL = "https://127.0.0.1:1" }, "want a name"},
		"user in the URL": {func(q *Request) { q.BaseURL = "https://me:pw@llm.example" }, "a user or a password"},
		"short key":       {func(q *Request) { q.APIKey = "abcdef" }, "8 to"},
		"key in env":      {func(q *Request) { q.Env = map[string]string{"K": "x" + apiKey} }, "want no secret in a box"},
		"secrets":         {func(q *Request) { q.Env, q.Secrets = map[string]string{"K": "longenough"}, []string{"K"} }, "in the :secrets of the :sandbox profile"},
		"missing secret": {func(q *Request) {
			q.Box.Secrets = []sandbox.Secret{{Env: "ZENO_NOT_SET_X", Hosts: []string{"a.example"}}}
		}, "ZENO_NOT_SET_X is not set"},
		"work and volume": {func(q *Request) { q.Work, q.Box.Volume = "/tmp", "v" }, "want one of them"},
		"egress":          {func(q *Request) { q.Box.Egress.Default = "open" }, ":egress :default"},
		"runtime":         {func(q *Request) { q.Box.Runtime = "runsc" }, ":sandbox :none"},
		"backend":         {func(q *Request) { q.Box.Backend = "msb" }, "native"},
		"image":           {func(q *Request) { q.Box.Image = "nope:1" }, "nope:1"},
	} {
		q := q
		c.change(&q)
		if res := h.Run(context.Background(), q); res.Status != Refused || !strings.Contains(res.Error, c.want) {
			t.Errorf("%s: got %s %q, want refused with %q", name, res.Status, res.Error, c.want)
		}
	}
	h.conf.Boxes = nil
	want(t, h.Run(context.Background(), q), Refused, "makes no boxes; `:sandbox :none`")
}

// TestAModelOnThisHost: a plain model server on loopback, without a key, is reached by a name of its own.
func TestAModelOnThisHost(t *testing.T) {
	h, q, boxes, _ := fakeBoxed(t, `echo "{\"answer\":\"$URL $(curl -s -m 60 -o /dev/null -w '%{http_code}' $URL/v1/models)\"}"`)
	model := modelserver.New(modelserver.Config{})
	t.Cleanup(model.Close)
	q.BaseURL, q.APIKey, q.Box.Egress = strings.Replace(model.URL, "127.0.0.1", "localhost", 1), "", sandbox.Egress{}
	res := h.Run(context.Background(), q)
	want(t, res, OK, "")
	if !strings.HasPrefix(res.Answer, "http://model.internal:") || !strings.HasSuffix(res.Answer, " 200") {
		t.Errorf("got %q\n%s", res.Answer, boxes.text())
	}
}

// TestALeftHomeLeadsNowhere: an agent left links and a pipe in its home; a run that goes on in it writes none of its files
// through them.
func TestALeftHomeLeadsNowhere(t *testing.T) {
	home, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := backend.Plan{Dir: home, Files: []backend.PlannedFile{{Path: filepath.Join(home, "a.json"), Data: []byte("{}")}}}
	// Without the guard: a plain write goes through the link.
	if err := os.Symlink(victim, filepath.Join(home, "a.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plan.Files[0].Path, []byte("gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "gone" {
		t.Fatalf("the link does not lead out: got %q", text)
	}
	if err := carryOut(plan, home, true); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "gone" {
		t.Errorf("victim: got %q, want it untouched", text)
	}
	// A directory of the home that leads out is refused.
	if err := os.Symlink(filepath.Dir(victim), filepath.Join(home, "agent")); err != nil {
		t.Fatal(err)
	}
	plan.Files = []backend.PlannedFile{{Path: filepath.Join(home, "agent", "victim"), Data: []byte("{}")}}
	if err := carryOut(plan, home, true); err == nil || !strings.Contains(err.Error(), "failed to prepare the home") {
		t.Errorf("got %v, want a refusal", err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "gone" {
		t.Errorf("victim: got %q, want it untouched", text)
	}
}

// TestAVolumeIsTheWorkingDirectory: what an agent leaves in its volume the next one finds; while one has it another is
// told who.
func TestAVolumeIsTheWorkingDirectory(t *testing.T) {
	h, q, _, _ := fakeBoxed(t, `if test -e f; then echo "{\"answer\":\"$(pwd) $(cat f)\"}"; else echo kept > f; `+goodAnswer+`; fi`)
	q.Box.Volume = "agent-1"
	want(t, h.Run(context.Background(), q), OK, "")
	if res := h.Run(context.Background(), q); res.Answer != "/work kept" {
		t.Errorf("got %+v, want what the first one kept", res)
	}
	h.conf.Backends = sh(`echo '{"text":"busy"}'; sleep 30`)
	q.ID = "holder"
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Result)
	go func() { done <- h.Run(ctx, q) }()
	for !strings.Contains(h.said(), "busy") {
		time.Sleep(20 * time.Millisecond)
	}
	q.ID = "second"
	want(t, h.Run(context.Background(), q), Refused, `spawn holder`)
	cancel()
	want(t, <-done, Cancelled, "cancelled")
}
