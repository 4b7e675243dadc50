package sandbox_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
)

func TestEveryBoundIsFiniteByDefault(t *testing.T) {
	s := sandbox.Spec{Argv: []string{"true"}}.Defaults()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.Memory <= 0 || s.Pids <= 0 || s.Disk <= 0 || s.CPUs <= 0 || s.Timeout <= 0 || s.TTL <= 0 || s.MaxOut <= 0 {
		t.Errorf("got %+v, want every bound", s)
	}
	if s.Egress.Default != sandbox.EgressNone {
		t.Errorf("got egress %q, want none", s.Egress.Default)
	}
}

// What cannot be meant is refused, and the error names the field.
func TestValidateNamesTheField(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct {
		field string
		f     func(*sandbox.Spec)
	}{
		{":name", func(s *sandbox.Spec) { s.Name = "a/b" }},
		{":name", func(s *sandbox.Spec) { s.Name = "a..b" }},
		{":volume", func(s *sandbox.Spec) { s.Volume = "Ä" }},
		{":argv", func(s *sandbox.Spec) { s.Argv = nil }},
		{":argv", func(s *sandbox.Spec) { s.Argv = []string{"a\x00b"} }},
		{":argv", func(s *sandbox.Spec) { s.Argv = []string{"a", long} }},
		{":argv", func(s *sandbox.Spec) {
			for range 12 {
				s.Argv = append(s.Argv, long[:100<<10])
			}
		}},
		{":in", func(s *sandbox.Spec) { s.In = "x"; s.Stdin = strings.NewReader("y") }},
		{":workdir", func(s *sandbox.Spec) { s.Workdir = "work" }},
		{":workdir", func(s *sandbox.Spec) { s.Workdir = "/work/../etc" }},
		{":workdir", func(s *sandbox.Spec) { s.Workdir = "/usr/share" }},
		{":workdir", func(s *sandbox.Spec) { s.Workdir = "/" }},
		{":workdir", func(s *sandbox.Spec) { s.Workdir = "/\xff" }},
		{":read 1", func(s *sandbox.Spec) { s.Read = []string{"/srv", "/proc/1"} }},
		{":read 0", func(s *sandbox.Spec) { s.Read = []string{"/etc"} }},
		{":read 1", func(s *sandbox.Spec) { s.Read = []string{"/etc/ssh", "/etc/passwd"} }},
		{":env", func(s *sandbox.Spec) { s.Env = map[string]string{"A B": ""} }},
		{":env", func(s *sandbox.Spec) { s.Env = map[string]string{"A": "x\x00"} }},
		{":env", func(s *sandbox.Spec) { s.Env = map[string]string{"A": long} }},
		{":env", func(s *sandbox.Spec) {
			s.Env, s.Egress.Default = map[string]string{"KEY": "v"}, sandbox.EgressDeny
			s.Secrets = []sandbox.Secret{{Env: "KEY", Hosts: []string{"h"}}}
		}},
		{":secrets 0 :hosts", func(s *sandbox.Spec) { s.Secrets = []sandbox.Secret{{Env: "K"}} }},
		{":secrets 1 :env", func(s *sandbox.Spec) {
			s.Secrets = []sandbox.Secret{{Env: "K", Hosts: []string{"h"}}, {Env: "K", Hosts: []string{"h"}}}
		}},
		{":secrets 0 :in", func(s *sandbox.Spec) {
			s.Secrets = []sandbox.Secret{{Env: "K", Hosts: []string{"h"}, In: []string{"path"}}}
		}},
		{":egress", func(s *sandbox.Spec) { s.Egress.Allow = []sandbox.Rule{{Host: "h"}} }},
		{":egress :default", func(s *sandbox.Spec) { s.Egress.Default = "all" }},
		{":egress :allow 0", func(s *sandbox.Spec) {
			s.Egress = sandbox.Egress{Default: sandbox.EgressDeny, Allow: []sandbox.Rule{{Host: "http://h"}}}
		}},
		{":cpus", func(s *sandbox.Spec) { s.CPUs = math.NaN() }},
		{":cpus", func(s *sandbox.Spec) { s.CPUs = -1 }},
		{":memory", func(s *sandbox.Spec) { s.Memory = -1 }},
		{":pids", func(s *sandbox.Spec) { s.Pids = math.MaxInt }},
		{":disk", func(s *sandbox.Spec) { s.Disk = 1 }},
		{":timeout", func(s *sandbox.Spec) { s.Timeout = -time.Second }},
		{":ttl", func(s *sandbox.Spec) { s.TTL = -time.Second }},
		{":idle-timeout", func(s *sandbox.Spec) { s.IdleTimeout = -1 }},
		{":user", func(s *sandbox.Spec) { s.User = 65534 }},
		{":backend", func(s *sandbox.Spec) { s.Backend = "docker" }},
		{":runtime", func(s *sandbox.Spec) { s.Runtime = "runc" }},
		{":seccomp", func(s *sandbox.Spec) { s.Seccomp = "unconfined" }},
	} {
		s := sandbox.Spec{Argv: []string{"true"}}.Defaults()
		c.f(&s)
		err := s.Validate()
		var bad *sandbox.FieldError
		if !errors.As(err, &bad) || bad.Field != c.field {
			t.Errorf("%s: got %v, want an error of that field", c.field, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%s: the error is %d bytes long", c.field, len(err.Error()))
		}
	}
}

// The image's own settings stand where the spec has none.
func TestDefaultsOfAnImage(t *testing.T) {
	s := sandbox.Spec{Root: sandbox.Root{Workdir: "/srv", Cmd: []string{"sh"}}}.Defaults()
	if s.Workdir != "/srv" || len(s.Argv) != 1 {
		t.Errorf("got %q %q", s.Workdir, s.Argv)
	}
}

// Where an image says that its program works is where it does, whatever directory that is; and what an image says that
// cannot be is refused as the image's, not as a word of the caller's.
func TestTheWorkingDirectoryOfAnImage(t *testing.T) {
	for own, want := range map[string][2]string{
		"": {"/work", ""}, "/": {"/work", "/"}, "/app/": {"/app", ""}, "app": {"/app", ""}, "/usr/src/app": {"/usr/src/app", ""}, "/opt/x": {"/opt/x", ""},
		"/tmp": {"/work", "/tmp"}, "/tmp/x": {"/tmp/x", ""}, "/etc": {"/work", "/etc"}, "/proc/1": {"/work", "/proc/1"}, "/../a": {"/a", ""}, "/dev/shm": {"/work", "/dev/shm"},
	} {
		s := sandbox.Spec{Argv: []string{"true"}, Image: "x:1", Root: sandbox.Root{Layers: []string{"/l"}, Workdir: own}}.Defaults()
		if err := s.Validate(); err != nil || s.Workdir != want[0] || s.Dir != want[1] {
			t.Errorf("%q: got %q, starting in %q, %v, want %q", own, s.Workdir, s.Dir, err, want)
		}
	}
	for _, own := range []string{"/a\x00", "/" + strings.Repeat("x", 2000)} {
		s := sandbox.Spec{Argv: []string{"true"}, Root: sandbox.Root{Layers: []string{"/l"}, Workdir: own}}.Defaults()
		if err := s.Validate(); err == nil {
			t.Errorf("%.20q: got no error", own)
		}
	}
	for _, env := range []map[string]string{{"A": "x\x00"}, {"A\x00": ""}, {"A": strings.Repeat("x", 200<<10)}} {
		s := sandbox.Spec{Argv: []string{"true"}, Root: sandbox.Root{Layers: []string{"/l"}, Env: env}}.Defaults()
		var field *sandbox.FieldError
		if err := s.Validate(); !errors.As(err, &field) || field.Field != ":image" {
			t.Errorf("got %v, want the image named", err)
		}
	}
	s := sandbox.Spec{Argv: []string{"true"}, Workdir: "/usr/src/app"}.Defaults()
	if err := s.Validate(); err == nil {
		t.Error("/usr/src/app without an image: got no error, want it refused: it would be the host's")
	}
}
