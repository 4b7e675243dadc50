//go:build linux && amd64

package msb

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/internal/npmcli"
	"github.com/reflection-dev/zeno/sandbox"
)

const realImage = "zeno-test:base"

// realTool is the pinned msb with a home of its own, short, since sockets lie in it, and one image.
func realTool(t *testing.T) (*Backend, *tool) {
	t.Helper()
	bin := filepath.Join(npmcli.Modules(t, "msb"), "@superradcompany", "microsandbox-linux-x64-gnu", "bin")
	home, err := os.MkdirTemp("/tmp", "zm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	b, err := New(Config{Getenv: func(k string) string {
		return map[string]string{"MSB_HOME": home, "HOME": home, "PATH": bin + ":/usr/bin:/bin", "TOKEN": canary}[k]
	}})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := b.look()
	if err != nil {
		t.Fatal(err)
	}
	return b, tl
}

// loadImage makes an archive as `docker save` does and loads it.
func loadImage(t *testing.T, tl *tool) {
	t.Helper()
	shell, err := os.ReadFile(which(t, "busybox"))
	if err != nil {
		t.Fatal(err)
	}
	layer := tarOf(t, map[string][]byte{"bin/busybox": shell}, map[string]string{"bin/sh": "busybox", "bin/cat": "busybox", "bin/true": "busybox"})
	config, err := json.Marshal(map[string]any{"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/bin"}, "Cmd": []string{"/bin/sh"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}}})
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]any{map[string]any{"Config": name, "RepoTags": []string{realImage}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(archive, tarOf(t, map[string][]byte{name: config, "layer.tar": layer, "manifest.json": manifest}, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errs, err := tl.short(context.Background(), "load", "-i", archive); err != nil {
		t.Fatal(out, errs, err)
	}
}

func which(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; install it (Debian: apt-get install busybox-static)", err)
	}
	return path
}

func tarOf(t *testing.T, files map[string][]byte, links map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w.Write(text)
	}
	for name, to := range links {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// parsed is what msb understood of a command line.
type parsed struct {
	Config struct {
		Env    []struct{ Key, Value string }
		Mounts []struct {
			Guest, Name, Host, Type string
			Options                 struct{ Readonly bool }
		}
		Network struct {
			Policy struct {
				DefaultEgress string `json:"default_egress"`
				Rules         []struct {
					Action      string
					Destination map[string]string
					Ports       []struct{ Start, End int }
					Protocols   []string
				}
			}
			Secrets struct {
				Secrets []struct {
					EnvVar      string `json:"env_var"`
					Placeholder string
					Value       string
					Hosts       []map[string]string `json:"allowed_hosts"`
				}
			}
			Strict bool
			TLS    struct{ Enabled bool }
		}
		Resources struct {
			CPUs   int `json:"cpus"`
			Memory int `json:"memory_mib"`
		}
		Lifecycle struct {
			Max int `json:"max_duration_secs"`
		}
		Runtime struct{ User, Workdir string }
	}
}

// TestTheRealProgram holds the words of this package to the pinned msb: what it understood of them is asked for, whether
// or not a machine can be made here.
func TestTheRealProgram(t *testing.T) {
	b, tl := realTool(t)
	ctx := context.Background()
	if err := tl.version(ctx); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := tl.short(ctx, "image", "inspect", realImage); err == nil || !strings.Contains(errs, "not found") {
		t.Errorf("an image that is not there: got %q %v, want not found", errs, err)
	}
	loadImage(t, tl)
	if out, errs, err := tl.short(ctx, "image", "inspect", realImage, "--format", "json"); err != nil || !strings.Contains(out, realImage) {
		t.Errorf("got %q %q %v, want the image", out, errs, err)
	}
	for _, want := range []bool{true, false} { // the second time msb exits with 1
		if made, err := tl.ensureVolume(ctx, "agent-a1"); made != want || err != nil {
			t.Errorf("ensureVolume: got %v %v, want %v", made, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.home, "volumes", "agent-a1")); err != nil {
		t.Errorf("the volume is not where it is watched: %v", err)
	}
	if up, err := tl.running(ctx, "nobody"); up || err != nil {
		t.Errorf("running: got %v %v, want that it is not there", up, err)
	}
	if err := tl.remove(ctx, "nobody"); err != nil {
		t.Errorf("remove of what is not there: %v", err)
	}
	t.Run("words", func(t *testing.T) { realWords(t, b, tl) })
	t.Run("machine", func(t *testing.T) { realMachine(t, b, tl) })
}

func realSpec() sandbox.Spec {
	return sandbox.Spec{Name: "a1", Image: realImage, Argv: []string{"true"}, Volume: "agent-a1", User: 1000, Read: []string{"/etc/hostname"},
		Env: map[string]string{"A": "x y=z"}, Memory: 64 << 20, CPUs: 1, Disk: 256 << 20, TTL: time.Minute,
		Secrets: []sandbox.Secret{{Env: "TOKEN", Hosts: []string{"github.com", "api.github.com"}}},
		Egress: sandbox.Egress{Default: sandbox.EgressDeny, Deny: []string{"gist.github.com"},
			Allow: []sandbox.Rule{{Host: "github.com"}, {Host: "*.githubusercontent.com"}, {Host: "llm.lan:8443"}}}}.Defaults()
}

// realWords lets create begin, and ends it once what it understood can be asked for.
func realWords(t *testing.T, b *Backend, tl *tool) {
	s := realSpec()
	got := understood(t, tl, &s)
	c := got.Config
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Key] = e.Value
	}
	if diff := cmp.Diff(map[string]string{"PATH": "/bin", "A": "x y=z", "GIT_SSL_CAINFO": sandbox.CAPath}, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	var rules []string
	for _, r := range c.Network.Policy.Rules {
		rules = append(rules, fmt.Sprint(r.Action, r.Destination, r.Protocols, r.Ports))
	}
	want := []string{"deny map[domain:gist.github.com] [] []", "allow map[domain:github.com] [tcp] [{443 443}]", "allow map[domain:github.com] [tcp] [{80 80}]",
		"allow map[domain_suffix:githubusercontent.com] [tcp] [{443 443}]", "allow map[domain_suffix:githubusercontent.com] [tcp] [{80 80}]",
		"allow map[domain:llm.lan] [tcp] [{8443 8443}]", "allow map[group:host] [udp tcp] [{53 53}]"}
	for i := range want {
		want[i] = strings.Replace(want[i], " map", "map", 1)
	}
	for i := range rules {
		rules[i] = strings.Replace(rules[i], " map", "map", 1)
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if c.Network.Policy.DefaultEgress != "deny" || !c.Network.Strict || !c.Network.TLS.Enabled {
		t.Errorf("got %+v, want deny, strict and TLS", c.Network)
	}
	sec := c.Network.Secrets.Secrets
	if len(sec) != 1 || sec[0].EnvVar != "TOKEN" || sec[0].Placeholder != "$MSB_TOKEN" || sec[0].Value != "" || len(sec[0].Hosts) != 2 {
		t.Errorf("got the secrets %+v, want TOKEN for two hosts without a value", sec)
	}
	if c.Resources.CPUs != 1 || c.Resources.Memory != 64 || c.Lifecycle.Max != 65 || c.Runtime.User != "1000:1000" || c.Runtime.Workdir != "/work" {
		t.Errorf("got %+v %+v %+v", c.Resources, c.Lifecycle, c.Runtime)
	}
	mounts := map[string]bool{}
	for _, m := range c.Mounts {
		mounts[fmt.Sprint(m.Guest, " ", m.Name, m.Host, " ", m.Options.Readonly)] = true
	}
	if !mounts["/work agent-a1 false"] || !mounts["/etc/hostname /etc/hostname true"] {
		t.Errorf("got the mounts %v", mounts)
	}
	noValue(t, b.home)
	s = sandbox.Spec{Name: "a2", Image: realImage, Argv: []string{"true"}, Memory: 64 << 20, CPUs: 1, Disk: 256 << 20}.Defaults()
	if p := understood(t, tl, &s).Config.Network.Policy; p.DefaultEgress != "deny" || len(p.Rules) != 0 {
		t.Errorf("without egress: got %+v, want deny and no rule", p)
	}
	s.Egress.Default = sandbox.EgressPublic
	if p := understood(t, tl, &s).Config.Network.Policy; len(p.Rules) == 0 || fmt.Sprint(p.Rules[len(p.Rules)-1].Destination) != "map[group:public]" {
		t.Errorf("public: got %+v, want a rule for public", p)
	}
}

func understood(t *testing.T, tl *tool, s *sandbox.Spec) (got parsed) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan string, 1)
	go func() {
		_, errs, err := tl.finish(ctx, []string{"TOKEN=" + canary}, createArgs(s)...)
		ended <- fmt.Sprint(errs, " ", err)
	}()
	said := ""
	until(t, "what msb understood", func() bool {
		select {
		case said = <-ended:
		default:
		}
		out, _, err := tl.short(context.Background(), "inspect", "--format", "json", prefix+s.Name)
		return err == nil && json.Unmarshal([]byte(out), &got) == nil && got.Config.Resources.CPUs > 0 || said != ""
	})
	cancel()
	if said == "" {
		<-ended
	}
	if got.Config.Resources.CPUs == 0 {
		t.Fatalf("create: %s", said)
	}
	if err := tl.remove(context.Background(), s.Name); err != nil {
		t.Error(err)
	}
	return got
}

// noValue looks for the secret's value in everything that msb wrote.
func noValue(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // it may go away meanwhile
		}
		if st, err := d.Info(); err != nil || st.Size() > 64<<20 {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(canary)) {
			t.Errorf("%s holds the secret's value", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// realMachine runs a box where that can be done, and elsewhere sees that it is refused at once with what to do.
func realMachine(t *testing.T, b *Backend, tl *tool) {
	s := sandbox.Spec{Name: "m1", Image: realImage, Argv: []string{"/bin/sh", "-c", "cat; exit 3"}, In: "fed", Memory: 256 << 20, CPUs: 1, Disk: 256 << 20,
		Timeout: 2 * time.Minute}
	begin := time.Now()
	res, err := b.Run(context.Background(), s)
	if tl.virtual(context.Background()) == nil {
		if err != nil || res.Out != "fed" || res.Exit != 3 {
			t.Errorf("got %+v %v, want what was fed and exit 3", res, err)
		}
		return
	}
	var no *sandbox.Unenforceable
	if !errors.As(err, &no) || no.Fix == "" || time.Since(begin) > 30*time.Second {
		t.Errorf("got %v after %v, want it refused at once with what to do", err, time.Since(begin))
	}
	t.Logf("no machine can be made here: %v", err)
}
