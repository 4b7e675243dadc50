package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// agentPackages are what the measured image asks for; the closure has what they need.
var agentPackages = []string{"git", "curl", "nodejs", "python3", "podman", "make", "less", "ca-certificates"}

// imageBench is a store with an agent's closure, nix's stand-in and zeno, in a directory that is /nix to what runs there.
type imageBench struct {
	dir, bwrap string
	zeno       string
	msb        string // its directory; "" where it is not installed
	all        []storePath
}

// buildImages measures `zeno image build` on an agent's closure as a process, beside others that read the same files.
func buildImages(rounds int) ([]measured, error) {
	if runtime.GOOS != "linux" {
		return nil, nil // bubblewrap is Linux only
	}
	b, done, err := newImageBench()
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := b.builds(rounds)
	if err != nil {
		return nil, err
	}
	moved, err := moves()
	return append(out, moved...), err
}

func newImageBench() (b *imageBench, done func(), err error) {
	b = &imageBench{}
	if b.bwrap, err = exec.LookPath("bwrap"); err != nil {
		return nil, nil, fmt.Errorf("%w: install it (Debian: apt-get install bubblewrap)", err)
	}
	if b.dir, err = os.MkdirTemp("", "zeno-bench-"); err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(b.dir) }
	if err = b.prepare(); err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}

func (b *imageBench) prepare() (err error) {
	if b.zeno, _, err = buildBoxed(b.dir); err != nil {
		return err
	}
	if msb, err := exec.LookPath("msb"); err == nil {
		if msb, err = filepath.EvalSymlinks(msb); err == nil {
			b.msb = filepath.Dir(msb)
		}
	}
	if b.all, err = closure(); err != nil {
		return err
	}
	for _, p := range b.all {
		if err := p.make(filepath.Join(b.dir, "root")); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "bin"), 0o755); err != nil {
		return err
	}
	if err := fakeNix(filepath.Join(b.dir, "bin/nix"), b.all, agentPackages); err != nil {
		return err
	}
	spec := `{:name "agent" :packages ["` + strings.Join(agentPackages, `" "`) + `"] :layers 60}`
	return os.WriteFile(filepath.Join(b.dir, "spec.joke"), []byte(spec), 0o644)
}

// inside gives the command line that runs argv with the store at /nix, and nix's stand-in in front of PATH.
func (b *imageBench) inside(argv ...string) []string {
	args := []string{b.bwrap, "--unshare-user-try", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--bind", b.dir, b.dir, "--bind", b.dir, "/var/tmp", "--ro-bind", filepath.Join(b.dir, "root/nix"), "/nix", "--chdir", b.dir,
		"--setenv", "HOME", b.dir, "--setenv", "TMPDIR", b.dir, "--setenv", "MSB_HOME", filepath.Join(b.dir, "msb"),
		"--setenv", "PATH", filepath.Join(b.dir, "bin") + ":/usr/bin:/bin:" + b.msb}
	if b.msb != "" {
		args = append(args, "--ro-bind", b.msb, b.msb)
	}
	return append(append(args, "--"), argv...)
}

// ran is what a process took.
type ran struct {
	cpu, wall float64 // seconds
	mb        float64 // greatest resident memory of it and of what it called
}

// run measures a command from a small process, since on Linux a child's greatest memory starts at its parent's.
func (b *imageBench) run(argv ...string) (ran, error) {
	xs, err := again(append([]string{runWord}, b.inside(argv...)...)...)
	if err != nil {
		return ran{}, err
	}
	return ran{xs[0], xs[1], xs[2]}, nil
}

// runChild runs a command and prints its processor time, the clock's and its greatest resident memory.
func runChild(argv []string) error {
	c := exec.Command(argv[0], argv[1:]...)
	var said strings.Builder
	c.Stderr = &said
	begun := time.Now()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said.String())
	}
	u, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("got no resource usage of a child")
	}
	fmt.Println((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), time.Since(begun).Seconds(), float64(u.Maxrss)*maxrssUnit()/(1<<20))
	return nil
}

// imageTimes are the rounds of one thing that is measured.
type imageTimes struct{ cpu, wall, mb []float64 }

func (t *imageTimes) add(r ran) {
	t.cpu, t.wall, t.mb = append(t.cpu, r.cpu), append(t.wall, r.wall), append(t.mb, r.mb)
}

// steps are what is measured in each round, in order: the state that one leaves is where the next begins.
func (b *imageBench) steps(round int) []imageStep {
	home, tar := filepath.Join(b.dir, "home"+strconv.Itoa(round)), filepath.Join(b.dir, "agent.tar")
	zeno := func(args ...string) []string {
		return append([]string{b.zeno, "--home", home, "image", "build", filepath.Join(b.dir, "spec.joke"), "-q"}, args...)
	}
	paths := filepath.Join(b.dir, "paths")
	steps := []imageStep{
		{"first", zeno("-o", tar), func() error { return emptyHome(home) }},
		{"same archive", zeno("-o", tar), nil},
		{"unpack", zeno(), nil},
		{"same", zeno(), nil},
		{"changed", zeno(), func() error { return b.bump("curl") }},
		{"changed archive", zeno("-o", tar), nil},
		{"nix", []string{"sh", "-c", "i=0; while [ $i -lt " + strconv.Itoa(2*len(agentPackages)) + " ]; do nix build x.git; i=$((i+1)); done"}, nil},
		{"stream", []string{"python3", "-c", streamDesign, paths, tar + ".py"}, func() error { return b.list(paths) }},
		{"tar", []string{"sh", "-c", "tar -c -P -f - --files-from " + paths + " | sha256sum"}, nil},
		{"skopeo", []string{"skopeo", "copy", "-q", "--insecure-policy", "oci-archive:" + tar, "oci:" + filepath.Join(b.dir, "layout"+strconv.Itoa(round)) + ":x"}, nil},
	}
	if b.msb != "" {
		steps = append(steps, imageStep{"msb", zeno("--to", "msb"), nil}, imageStep{"msb same", zeno("--to", "msb"), nil},
			imageStep{"msb changed", zeno("--to", "msb"), func() error { return b.bump("curl") }})
	}
	return append(steps, imageStep{"", []string{"sh", "-c", "rm -rf " + home + " " + tar + "* " + b.dir + "/layout* " + b.dir + "/msb"}, nil})
}

type imageStep struct {
	name   string
	argv   []string
	before func() error
}

// builds measures builds. A peer that this machine lacks is left out.
func (b *imageBench) builds(rounds int) ([]measured, error) {
	times := map[string]*imageTimes{}
	for round := range rounds {
		for _, s := range b.steps(round) {
			if s.before != nil {
				if err := s.before(); err != nil {
					return nil, err
				}
			}
			if _, err := exec.LookPath(s.argv[0]); err != nil {
				continue
			}
			syscall.Sync() // what was written before is no cost of what comes
			r, err := b.run(s.argv...)
			if err != nil {
				return nil, err
			}
			if times[s.name] == nil {
				times[s.name] = &imageTimes{}
			}
			times[s.name].add(r)
		}
	}
	return b.words(times), nil
}

func (b *imageBench) words(t map[string]*imageTimes) []measured {
	nix := median(t["nix"].cpu)
	peak := 0.0
	for _, name := range []string{"first", "same archive", "unpack", "same", "changed", "changed archive"} {
		peak = max(peak, median(t[name].mb))
	}
	kib := 0
	for _, p := range b.all {
		kib += p.kib
	}
	what := fmt.Sprintf("image of %d store paths, %d MB: ", len(b.all), kib>>10)
	out := []measured{
		{what + "unchanged, to an archive, processor time beyond nix", median(t["same archive"].cpu) - nix, 0.1, "s"},
		{what + "unchanged, unpacked for boxes, processor time beyond nix", median(t["same"].cpu) - nix, 0.1, "s"},
		{what + "one small path changed, to ready for a box", median(t["changed"].wall), 1.5, "s"},
		{what + "one small path changed, to an archive, all of which is copied", median(t["changed archive"].wall), 1.5, "s"},
		{what + "the same, processor time", median(t["changed archive"].cpu), 0, "s"},
		{what + "greatest resident memory of these", peak, 40, "MB"},
		{what + "first build to an archive, processor time", median(t["first"].cpu), 0, "s"},
		{what + "first unpacking for boxes, digests known, processor time", median(t["unpack"].cpu), 0, "s"},
	}
	if t["msb"] != nil {
		out = append(out, measured{what + "one small path changed, to ready in msb", median(t["msb changed"].wall), 1.5, "s"},
			measured{what + "unchanged, in msb, processor time with msb's", median(t["msb same"].cpu) - nix, 0, "s"}, measured{what + "first into msb, processor time with msb's", median(t["msb"].cpu), 0, "s"})
	}
	for _, p := range [][2]string{{"stream", "streamLayeredImage's design (python tarfile, hashed, then written)"}, {"tar", "tar to sha256sum of the same paths (hashed, not written)"}, {"skopeo", "skopeo copy of the same archive to a layout"}} {
		if t[p[0]] == nil {
			continue
		}
		out = append(out, measured{p[1] + ", processor time", median(t[p[0]].cpu), 0, "s"},
			measured{"first build to an archive beside that", ratio(t["first"].cpu, t[p[0]].cpu), 0, "x"},
			measured{p[1] + ", greatest resident memory", median(t[p[0]].mb), 0, "MB"})
	}
	out = append(out, measured{"nix2container: not measured, the proxy of Go modules refuses its module", 0, 0, "s"})
	return out
}

// bump makes another version of a path, as an update does.
func (b *imageBench) bump(short string) error {
	for i := range b.all {
		if b.all[i].short() == short {
			b.all[i].rev++
			if err := b.all[i].make(filepath.Join(b.dir, "root")); err != nil {
				return err
			}
		}
	}
	return fakeNix(filepath.Join(b.dir, "bin/nix"), b.all, agentPackages)
}

func emptyHome(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "init.joke"), nil, 0o644)
}

// list writes the store's paths to a file.
func (b *imageBench) list(file string) error {
	var text strings.Builder
	for _, p := range b.all {
		fmt.Fprintln(&text, p.path())
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// streamDesign does what nixpkgs' streamLayeredImage does, in the same language and library: a layer for each path, read once
// for its digest and once more for the archive. nix2container, the other peer, can be had as no Go module (its proxy
// refuses it), package of Debian or of npm.
const streamDesign = `
import hashlib, json, os, sys, tarfile
def files(top):
    yield top
    for d, ds, fs in os.walk(top):
        ds.sort()
        for n in sorted(ds + fs): yield os.path.join(d, n)
def layer(out, top):
    with tarfile.open(fileobj=out, mode="w|") as t:
        for f in files(top):
            i = t.gettarinfo(f)
            i.mtime = 1; i.uid = i.gid = 0; i.uname = i.gname = ""
            if i.isfile():
                with open(f, "rb") as r: t.addfile(i, r)
            else: t.addfile(i)
class Sum:
    def __init__(self): self.h = hashlib.sha256(); self.n = 0
    def write(self, b): self.h.update(b); self.n += len(b)
class Raw:
    def __init__(self, f): self.f = f
    def write(self, b): self.f.write(b)
def member(out, name, size):
    i = tarfile.TarInfo(name); i.size = size
    out.write(i.tobuf(tarfile.GNU_FORMAT))
ids = []
with open(sys.argv[2], "wb") as out:
    for top in open(sys.argv[1]).read().split():
        s = Sum(); layer(s, top); ids.append(s.h.hexdigest())
        member(out, ids[-1] + "/layer.tar", s.n)
        layer(Raw(out), top)
        out.write(bytes(-s.n % 512))
    m = json.dumps(ids).encode()
    member(out, "manifest.json", len(m)); out.write(m + bytes(-len(m) % 512 + 1024))
`
