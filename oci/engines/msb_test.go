package engines

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/internal/npmcli"
	"github.com/reflection-dev/zeno/oci"
)

// msb loads the archive and saves it again, in both of its formats: what it saved has the same files in each layer. It
// writes layers and configuration anew, so the digests are others. None of it takes virtualisation.
func msb(t *testing.T, i *image) {
	program := filepath.Join(npmcli.Modules(t, "msb"), "@superradcompany", "microsandbox-linux-x64-gnu", "bin", "msb")
	home := short(t)
	run := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"MSB_HOME=" + home, "MSB_BACKEND=local", "HOME=" + home, "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("msb %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	ref := i.Names[0] // it does not add the registry to a name
	run("load", "-i", i.file)
	var seen struct {
		Reference string
		Layers    []struct {
			DiffID string `json:"diff_id"`
		}
	}
	must(t, json.Unmarshal([]byte(run("image", "inspect", ref, "--format", "json")), &seen))
	for n, l := range i.Layers {
		if len(seen.Layers) != len(i.Layers) || seen.Layers[n].DiffID != l.DiffID {
			t.Fatalf("loaded: got %+v, want the layer %s", seen, l.DiffID)
		}
	}
	of, err := oci.OpenArchive(context.Background(), i.file, oci.Limits{})
	must(t, err)
	defer of.Close()
	files := listed(t, of.Images[0])
	for _, format := range []string{"docker", "oci"} {
		file := filepath.Join(t.TempDir(), "saved.tar")
		run("save", "--format", format, "-o", file, ref)
		a, err := oci.OpenArchive(context.Background(), file, oci.Limits{})
		must(t, err)
		defer a.Close()
		if diff := cmp.Diff(i.Config.Config, a.Images[0].Config.Config); diff != "" {
			t.Errorf("%s: configuration (-want +got):\n%s", format, diff)
		}
		if diff := cmp.Diff(files, listed(t, a.Images[0])); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", format, diff)
		}
	}
}

// listed gives a line for each file of each layer.
func listed(t *testing.T, i *oci.Image) []string {
	s := &oci.Store{Dir: t.TempDir()}
	rec, err := s.Load(context.Background(), "listed:1", i)
	must(t, err)
	var out []string
	for n, l := range rec.Layers {
		top := filepath.Join(s.Dir, "layers", l)
		must(t, filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			if err != nil || file == top {
				return err
			}
			content, err := os.Readlink(file)
			if st.Mode().IsRegular() {
				var text []byte
				text, err = os.ReadFile(file)
				content = fmt.Sprintf("%x", sha256.Sum256(text))
			} else if d.IsDir() {
				err = nil
			}
			out = append(out, fmt.Sprintf("%d %s %s %s", n, strings.TrimPrefix(file, top), st.Mode(), content))
			return err
		}))
	}
	return out
}
