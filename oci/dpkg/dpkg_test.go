package dpkg_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/oci/dpkg"
)

// fake is a host with a few packages.
type fake struct {
	t    *testing.T
	root string
}

func newFake(t *testing.T) *fake {
	f := &fake{t, t.TempDir()}
	f.pkg("dpkg", "Essential: yes\n", map[string]string{"/usr/bin/dpkg": "dpkg"})
	f.pkg("sh", "", map[string]string{"/bin/sh": "shell"}) // of a merged /usr
	f.write("var/lib/dpkg/diversions", "/usr/bin/tool\n/usr/bin/tool.real\nwrapper\n")
	os.Symlink("usr/bin", filepath.Join(f.root, "bin"))
	return f
}

func (f *fake) write(name, text string) {
	f.t.Helper()
	p := filepath.Join(f.root, name)
	os.MkdirAll(filepath.Dir(p), 0o755)
	if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) add(name, text string) {
	old, _ := os.ReadFile(filepath.Join(f.root, name))
	f.write(name, string(old)+text)
}

func sum(text string) string { h := md5.Sum([]byte(text)); return hex.EncodeToString(h[:]) }

// pkg installs a package.
func (f *fake) pkg(name, fields string, files map[string]string) {
	f.add("var/lib/dpkg/status", "Package: "+name+"\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n"+fields+"\n")
	list, sums := "/.\n", ""
	for path, text := range files {
		list += path + "\n"
		sums += sum(text) + "  " + path[1:] + "\n"
		real := path
		if rest, ok := strings.CutPrefix(path, "/bin/"); ok {
			real = "/usr/bin/" + rest
		}
		f.write(real, text)
	}
	f.write("var/lib/dpkg/info/"+name+".list", list)
	f.write("var/lib/dpkg/info/"+name+".md5sums", sums)
}

// image gives the files of an image of packages.
func (f *fake) image(change string, names ...string) (map[string]string, *oci.Built, error) {
	f.t.Helper()
	b, err := (&oci.Builder{Host: &dpkg.Source{Root: f.root}}).Build(context.Background(), oci.Spec{Name: "t", Base: oci.Base{Host: names, Changed: change}})
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	s := &oci.Store{Dir: f.t.TempDir()}
	r, err := s.Load(context.Background(), "t", b.Image)
	if err != nil {
		return nil, nil, err
	}
	out := map[string]string{}
	for _, l := range r.Layers {
		dir := filepath.Join(s.Dir, "layers", l)
		filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, _ := filepath.Rel(dir, p)
			if to, err := os.Readlink(p); err == nil {
				out[name] = "-> " + to
				return nil
			}
			text, err := os.ReadFile(p)
			out[name] = string(text)
			return err
		})
	}
	return out, b, nil
}

func TestPackagesOfAHost(t *testing.T) {
	f := newFake(t)
	f.pkg("lib", "Provides: virtual-lib (= 1)\n", map[string]string{"/usr/lib/lib": "lib"})
	f.pkg("tool", "Pre-Depends: sh\nDepends: nothing (>= 2) | virtual-lib, dpkg:any (>= 1)\nConffiles:\n /etc/tool.conf "+sum("as shipped")+"\n /etc/changed "+sum("as shipped")+"\n",
		map[string]string{"/usr/bin/tool": "unused"})
	os.Remove(filepath.Join(f.root, "usr/bin/tool"))
	f.write("usr/bin/tool.real", "unused")
	f.add("var/lib/dpkg/info/tool.list", "/etc/tool.conf\n/etc/changed\n/usr/share/doc/tool\n")
	f.write("etc/tool.conf", "as shipped")
	f.write("etc/changed", "password = x")
	f.write("etc/own", "of the host")
	f.write("var/lib/dpkg/alternatives/pick", "auto\n/usr/bin/pick\npick.1.gz\n/usr/share/man/pick.1.gz\n\n/usr/bin/elsewhere\n90\n\n/usr/bin/tool.real\n5\n\n\n")
	got, b, err := f.image("", "tool")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"usr/bin/tool.real": "unused", "usr/bin/sh": "shell", "usr/lib/lib": "lib", "usr/bin/dpkg": "dpkg", "bin": "-> usr/bin",
		"etc/tool.conf": "as shipped", "usr/bin/pick": "-> /etc/alternatives/pick", "etc/alternatives/pick": "-> /usr/bin/tool.real"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"etc/changed", "etc/own", "usr/bin/tool"} {
		if text, ok := got[name]; ok {
			t.Errorf("%s: got %q in the image", name, text)
		}
	}
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "/etc/changed") {
		t.Errorf("got warnings %q, want one about /etc/changed", b.Warnings)
	}
}

func TestNotWhatWasShipped(t *testing.T) {
	f := newFake(t)
	f.pkg("tool", "Depends: absent\n", nil)
	f.pkg("good", "", map[string]string{"/usr/bin/good": "good", "/usr/bin/more": "more"})
	for names, want := range map[string]string{"tool": "needs absent", "gopd": "did you mean good?", "x:amd64": "apt-get install x",
		"good:i386": "not installed on this host: apt-get install good:i386", // the good of another architecture is not it
		"good=1":    "want a name such as git or libc6:i386", "Good": "want a name such as"} {
		if _, _, err := f.image("", names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", names, err, want)
		}
	}
	f.write("usr/bin/good", "evil")
	if _, _, err := f.image("", "good"); err == nil || !strings.Contains(err.Error(), "usr/bin/good") || !strings.Contains(err.Error(), "reinstall") {
		t.Errorf("a changed program: got %v", err)
	}
	os.Remove(filepath.Join(f.root, "usr/bin/more"))
	if _, _, err := f.image("", "good"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing program: got %v", err)
	}
	got, b, err := f.image("take", "good")
	if err != nil || got["usr/bin/good"] != "evil" || len(b.Warnings) != 1 {
		t.Errorf("taken: got %v %v", got, err)
	}
	if _, err := (&dpkg.Source{Root: t.TempDir()}).Realise(context.Background(), &oci.Spec{Base: oci.Base{Host: []string{"a"}}}, func(string) {}); err == nil || !strings.Contains(err.Error(), "no Debian") {
		t.Errorf("no Debian: got %v", err)
	}
}

// TestOtherArchitecture: a package of a foreign architecture is taken with what it needs of that one.
func TestOtherArchitecture(t *testing.T) {
	f := newFake(t)
	f.pkg("lib", "", map[string]string{"/usr/lib/lib": "lib"})
	f.add("var/lib/dpkg/status", "Package: lib\nStatus: install ok installed\nArchitecture: i386\nVersion: 1\nDepends: data, dpkg:any, lib:amd64\n\n"+
		"Package: data\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n\n")
	f.write("var/lib/dpkg/info/lib:i386.list", "/.\n/usr/lib32/lib\n")
	f.write("var/lib/dpkg/info/data.list", "/.\n/usr/share/data\n")
	f.write("usr/lib32/lib", "lib of 32 bits")
	f.write("usr/share/data", "data")
	got, _, err := f.image("", "lib:i386")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"usr/lib32/lib": "lib of 32 bits", "usr/share/data": "data", "usr/lib/lib": "lib"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if got, _, err = f.image("", "lib"); err != nil || got["usr/lib32/lib"] != "" {
		t.Errorf("without a name of it: got %v %v, want none of the other architecture", got["usr/lib32/lib"], err)
	}
}
