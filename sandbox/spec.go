package sandbox

import (
	"io"
	"path"
	"time"
)

// Spec says what to run and what it may use. The zero value of a bound means its default, never "unbounded"; Defaults fills
// them in.
type Spec struct {
	// Name of the body: ps, stop and exec know it by this. Unique among those that live; made up where empty.
	Name string `json:"name,omitempty" lisp:"name"`
	// Image is an image that was loaded, an archive or an image spec, see Images; "" and "host" are a read-only view of the
	// host's programs (native only).
	Image string `json:"image,omitempty" lisp:"image"`
	// Root is the image unpacked. A backend that runs images itself ignores it.
	Root Root `json:"-" lisp:"-"`
	// Argv is the program and its arguments. A name without a slash is looked up in the PATH of the box.
	Argv []string `json:"argv" lisp:"argv,required"`
	// In is the text of standard input, at most 16 MiB; Stdin, where set, is a stream instead.
	In string `json:"in,omitempty" lisp:"in"`
	// Volume is kept between runs and mounted at Workdir; "" is a directory that ends with the run.
	Volume  string `json:"volume,omitempty" lisp:"volume"`
	Workdir string `json:"workdir,omitempty" lisp:"workdir"` // default /work
	// User is the uid and gid of the program as the box sees it. Either way it is no user of the host but the caller, or
	// one that no one else has.
	User int `json:"user,omitempty" lisp:"user"`
	// Read are files and directories of the host to show, read-only, at the same path.
	Read []string `json:"read,omitempty" lisp:"read"`
	// Write are directories of the host that the program may write to, at the same path; Disk bounds what it adds to them.
	// Native only. They are the caller's to choose: no profile names one.
	Write []string `json:"-" lisp:"-"`
	// Dir is where the program starts; default Workdir.
	Dir string `json:"-" lisp:"-"`
	// Path are directories of the box to look for programs in after those of its PATH. Native only.
	Path []string `json:"-" lisp:"-"`

	Env     map[string]string `json:"env,omitempty" lisp:"env"`
	Secrets []Secret          `json:"secrets,omitempty" lisp:"secrets"`
	Egress  Egress            `json:"egress,omitempty" lisp:"egress"`

	CPUs   float64 `json:"cpus,omitempty" lisp:"cpus"`     // processors; default 2
	Memory int64   `json:"memory,omitempty" lisp:"memory"` // bytes; default 2 GiB, at least 32 MiB
	Pids   int     `json:"pids,omitempty" lisp:"pids"`     // processes and threads; default 512, at least 8
	Disk   int64   `json:"disk,omitempty" lisp:"disk"`     // bytes, of the volume and of the rest of the box each; default 4 GiB

	Timeout     time.Duration `json:"timeout,omitempty" lisp:"timeout"`           // of the program; default 20 minutes
	TTL         time.Duration `json:"ttl,omitempty" lisp:"ttl"`                   // of the body, whatever runs in it; default 24 hours
	IdleTimeout time.Duration `json:"idle-timeout,omitempty" lisp:"idle-timeout"` // without output; 0 is none: Timeout bounds it

	Backend string `json:"backend,omitempty" lisp:"backend"` // native (default), msb, kubernetes
	Runtime string `json:"runtime,omitempty" lisp:"runtime"` // "" or runsc: native only
	Seccomp string `json:"seccomp,omitempty" lisp:"seccomp"` // default or strict
	Holder  string `json:"holder,omitempty" lisp:"-"`        // who to name when the volume is asked for by another

	// Output of the program as it comes, besides what Result keeps. A Write that blocks holds the program up.
	Stdin          io.Reader `json:"-" lisp:"-"`
	Stdout, Stderr io.Writer `json:"-" lisp:"-"`
	// MaxOut bounds what Result keeps of each stream, in bytes; default 1 MiB. The program writes on, the rest is dropped.
	MaxOut int `json:"max-out,omitempty" lisp:"max-out"`
	// Proxy is the host's end of the box's network; nil where Egress.Mode is none.
	Proxy Proxy `json:"-" lisp:"-"`
}

// Root is an unpacked image: directories, the lowest layer first.
type Root struct {
	Layers []string
	// Env, Workdir and Cmd are the image's own; the Spec's are put over them.
	Env     map[string]string
	Workdir string
	Cmd     []string
	User    int // where the Spec names none
}

// Secret is a value that the box never sees: it holds a placeholder, the proxy puts the value in toward Hosts.
type Secret struct {
	Env   string   `json:"env" lisp:"env,required"`
	Hosts []string `json:"hosts" lisp:"hosts,required"`
	In    []string `json:"in,omitempty" lisp:"in"` // besides headers: "query", "body"
}

// Modes of Egress.
const (
	EgressNone   = "none"   // no network but lo; the default
	EgressDeny   = "deny"   // what Allow names
	EgressPublic = "public" // everything but private addresses and what Deny names
)

// Egress says where a box may connect to.
type Egress struct {
	Default string   `json:"default,omitempty" lisp:"default"`
	Allow   []Rule   `json:"allow,omitempty" lisp:"allow"`
	Deny    []string `json:"deny,omitempty" lisp:"deny"`
}

// Rule allows a host: "pkg.example.net", "*.githubusercontent.com", "llm.lan:8443".
type Rule struct {
	Host string `json:"host" lisp:"host,required"`
	Addr string `json:"addr,omitempty" lisp:"addr"` // host:port to dial instead of what Host resolves to
	Port int    `json:"port,omitempty" lisp:"port"`
}

// Bounds and defaults.
const (
	DefaultMemory  = 2 << 30
	DefaultPids    = 512
	DefaultDisk    = 4 << 30
	DefaultCPUs    = 2
	DefaultTimeout = 20 * time.Minute
	DefaultTTL     = 24 * time.Hour
	DefaultMaxOut  = 1 << 20
	DefaultWorkdir = "/work"
	MaxIn          = 16 << 20
	MinMemory      = 32 << 20
	MinPids        = 8
	MinDisk        = 1 << 20
)

// Defaults gives the spec with every bound that was left open.
func (s Spec) Defaults() Spec {
	s.Memory = or(s.Memory, DefaultMemory)
	s.Pids = or(s.Pids, DefaultPids)
	s.Disk = or(s.Disk, DefaultDisk)
	s.CPUs = or(s.CPUs, DefaultCPUs)
	s.Timeout = or(s.Timeout, DefaultTimeout)
	s.TTL = or(s.TTL, DefaultTTL)
	s.MaxOut = or(s.MaxOut, DefaultMaxOut)
	if s.Workdir == "" {
		s.Workdir, s.Dir = imageWorkdir(s.Root.Workdir, s.Dir)
	}
	s.Seccomp = or(s.Seccomp, "default")
	s.Egress.Default = or(s.Egress.Default, EgressNone)
	s.User = or(s.User, s.Root.User)
	if len(s.Argv) == 0 {
		s.Argv = s.Root.Cmd
	}
	return s
}

// imageWorkdir is the working directory that an image names, and where its program starts. One that cannot be the box's own,
// such as / or /tmp, is only where it starts.
func imageWorkdir(own, start string) (workdir, dir string) {
	if own == "" {
		return DefaultWorkdir, start
	}
	own = path.Clean("/" + own)
	if workdirError(own, true) == nil {
		return own, start
	}
	return DefaultWorkdir, or(start, own)
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
