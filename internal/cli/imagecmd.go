package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/oci"
	"github.com/reflection-dev/zeno/sandbox/msb"
)

// imageCmd is `zeno image …`: what boxes run on.
type imageCmd struct {
	Build   imageBuild   `cmd:"" help:"Build the image of a spec, as an archive or for boxes."`
	Load    imageLoad    `cmd:"" help:"Unpack an image for boxes: an archive, a layout directory, or a name in a registry."`
	Push    imagePush    `cmd:"" help:"Write the image of an archive to a registry."`
	Inspect imageInspect `cmd:"" help:"Say what an image is made of: a loaded one, or an archive's."`
	LS      imageLS      `cmd:"" name:"ls" help:"List the loaded images."`
	RM      imageRM      `cmd:"" name:"rm" help:"Take names of loaded images away; gc removes their layers."`
	GC      imageGC      `cmd:"" name:"gc" help:"Remove layers that no image has."`
}

type imageBuild struct {
	Spec   string `arg:"" help:"A file with the spec: a map as Lisp data, or JSON if its name ends in .json; - is stdin."`
	Output string `short:"o" placeholder:"FILE" help:"Write an archive; - is stdout. Without it the image is unpacked for boxes."`
	Layout bool   `help:"-o is a directory: write an OCI layout."`
	To     string `default:"native" enum:"native,msb" help:"Without -o: which boxes it is for, native or msb."`
	Quiet  bool   `short:"q" help:"Say nothing of what goes on."`
	JSON   bool   `name:"json" help:"Print the result as JSON."`
}

type imageLoad struct {
	From string `arg:"" name:"file|name" help:"An archive of docker save, podman save, skopeo or zeno; a layout directory; a name such as docker.io/library/debian:12-slim."`
	Name string `placeholder:"NAME" help:"What it is to be called here. Default: what it is called there."`
	Pick string `placeholder:"NAME" help:"Which one of an archive with several."`
	To   string `default:"native" enum:"native,msb" help:"Which boxes it is for: native or msb."`
	JSON bool   `name:"json" help:"Print the result as JSON."`
}

type imagePush struct {
	File     string `arg:"" help:"The archive, or a layout directory."`
	To       string `arg:"" name:"name" help:"Where to: ghcr.io/me/agent:1. Credentials are those of docker login."`
	Pick     string `placeholder:"NAME" help:"Which one of an archive with several."`
	Compress string `default:"zstd" enum:"none,gzip,zstd" help:"How layers without compression are sent: none, gzip or zstd."`
	JSON     bool   `name:"json" help:"Print the result as JSON."`
}

type imageInspect struct {
	Image string `arg:"" help:"The name of a loaded image, or an archive: a path with a slash, or a name that ends in .tar."`
	JSON  bool   `name:"json" help:"Print it as JSON, the configuration with it."`
}

type imageLS struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

type imageRM struct {
	Names []string `arg:"" help:"Names of loaded images."`
}

type imageGC struct {
	Dry  bool `name:"dry-run" help:"Only tell what would be removed."`
	JSON bool `name:"json" help:"Print it as JSON."`
}

// Help implements kong.HelpProvider.
func (imageBuild) Help() string {
	return `The same packages give the same digest, whoever builds, where and when.

Spec:

  {:name "agent" :base {:host ["git" "curl" "nodejs" "ca-certificates"]} :workdir "/work"}

  {:name "agent" :packages ["git" "github:numtide/llm-agents.nix#omp"] :env {"LANG" "C.UTF-8"}}

Examples:

  zeno image build agent.joke -o agent.tar && podman load -i agent.tar

  zeno image build agent.joke -o - | ssh host docker load

  zeno image build agent.joke && zeno -e '(zeno.sandbox/run {:image "agent" :argv ["git" "version"]})'`
}

// Help implements kong.HelpProvider.
func (imageLoad) Help() string {
	return `What is unpacked is shared: each layer is on disk once. Every layer's digest is checked before a box can use it.

Examples:

  docker save debian:12-slim | zeno image load /dev/stdin

  zeno image load docker.io/library/debian:12-slim --name base`
}

// images gives the home's images; without a home they go to a directory that done removes.
func (a *app) images(home bool) (i *core.Images, done func(), err error) {
	h, err := a.resolve()
	if err == nil {
		state, err := h.State()
		return &core.Images{Dir: filepath.Join(state, "oci")}, func() {}, err
	}
	if home {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "zeno-image-")
	return &core.Images{Dir: dir}, func() { os.RemoveAll(dir) }, err
}

// withImages runs f, told of what goes on once that takes long.
func (a *app) withImages(home, quiet bool, f func(context.Context, *core.Images) error) error {
	i, done, err := a.images(home)
	if err != nil {
		return err
	}
	defer done()
	if !quiet {
		last := time.Now()
		i.Progress = func(text string) { // from one goroutine
			if time.Since(last) > time.Second {
				fmt.Fprintf(a.std.Err, "zeno: %s\n", harmless(text))
				last = time.Now()
			}
		}
	}
	return a.attend(func(ctx context.Context) error { return f(ctx, i) })
}

// buildGC lets the collector of a build run more often: it costs a twentieth of the time and keeps a few megabytes less.
const buildGC = 25

// Run implements `zeno image build`.
func (cmd *imageBuild) Run(a *app) error {
	spec, err := cmd.read(a)
	if err != nil {
		return usage(err)
	}
	debug.SetGCPercent(buildGC) // of this process, which only builds
	if cmd.Layout && (cmd.Output == "" || cmd.Output == "-") {
		return usage(fmt.Errorf("image build: got --layout without a directory, want -o DIR"))
	}
	return a.withImages(cmd.Output == "", cmd.Quiet, func(ctx context.Context, i *core.Images) error {
		r, err := cmd.build(ctx, i, spec, a.std.Out)
		if err != nil {
			return err
		}
		for _, w := range r.Warnings {
			fmt.Fprintf(a.std.Err, "zeno: image build: %s\n", harmless(w))
		}
		out := a.std.Out
		if cmd.Output == "-" {
			out = a.std.Err
		}
		return printImage(out, r, cmd.JSON)
	})
}

func (cmd *imageBuild) build(ctx context.Context, i *core.Images, spec oci.Spec, out io.Writer) (core.ImageResult, error) {
	switch {
	case cmd.Output == "" && cmd.To == msb.Name:
		b, err := msb.New(msb.Config{})
		if err != nil {
			return core.ImageResult{}, err
		}
		return i.BuildAndLoadMSB(ctx, b, spec)
	case cmd.Output == "":
		return i.BuildAndLoad(ctx, spec)
	case cmd.Layout:
		return i.BuildTo(ctx, spec, cmd.Output, oci.LayoutDir{Path: cmd.Output})
	case cmd.Output == "-":
		return i.BuildTo(ctx, spec, "", oci.Stream{W: out})
	}
	return i.Build(ctx, spec, cmd.Output)
}

// maxSpec bounds an image spec.
const maxSpec = 1 << 20

func (cmd *imageBuild) read(a *app) (oci.Spec, error) {
	var spec oci.Spec
	in := io.Reader(a.stdin)
	if cmd.Spec != "-" {
		f, err := os.Open(cmd.Spec)
		if err != nil {
			return spec, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSpec+1))
	if err == nil && len(text) > maxSpec {
		err = fmt.Errorf("got more than %d bytes", maxSpec)
	}
	if err == nil && filepath.Ext(cmd.Spec) == ".json" {
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.DisallowUnknownFields()
		err = d.Decode(&spec)
	} else if err == nil {
		err = decodeEDN(string(text), (*core.ImageSpec)(&spec))
	}
	if err == nil {
		full := spec.WithDefaults()
		err = full.Validate(nil)
	}
	if err != nil {
		return spec, fmt.Errorf("image spec %s: %w", cmd.Spec, err)
	}
	return spec, nil
}

// decodeEDN reads one form of plain data into a struct.
func decodeEDN(text string, into any) error {
	t := value.NewThread(value.NewRun(context.Background(), limit.Defaults()), value.NewEnv(value.NewNamespace("user"), nil))
	forms := read.New(t, text, read.Options{EDN: true})
	v, err := forms.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("got nothing, want a map")
	}
	if err != nil {
		return err
	}
	if _, err := forms.Read(); err == nil {
		return errors.New("got more than one form, want a map and nothing behind it")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return bind.Decode(t, v, into)
}

func printImage(out *os.File, r core.ImageResult, asJSON bool) error {
	if asJSON {
		return printJSON(out, r)
	}
	fmt.Fprintf(out, "%s\n%s\n%d layers, %s\n", r.Ref, r.Digest, r.Layers, size(r.Bytes))
	return nil
}

// Run implements `zeno image load`.
func (cmd *imageLoad) Run(a *app) error {
	return a.withImages(true, false, func(ctx context.Context, i *core.Images) error {
		r, err := cmd.load(ctx, i)
		if err != nil {
			return err
		}
		return printImage(a.std.Out, r, cmd.JSON)
	})
}

func (cmd *imageLoad) load(ctx context.Context, i *core.Images) (core.ImageResult, error) {
	if cmd.To != msb.Name {
		return i.Load(ctx, cmd.From, cmd.Pick, cmd.Name)
	}
	b, err := msb.New(msb.Config{})
	if err != nil {
		return core.ImageResult{}, err
	}
	return i.LoadMSB(ctx, b, cmd.From, cmd.Pick, cmd.Name)
}

// Run implements `zeno image push`.
func (cmd *imagePush) Run(a *app) error {
	return a.withImages(false, false, func(ctx context.Context, i *core.Images) error {
		r, err := i.Push(ctx, cmd.File, cmd.Pick, cmd.To, cmd.Compress)
		if err != nil {
			return err
		}
		return printImage(a.std.Out, r, cmd.JSON)
	})
}

// Run implements `zeno image inspect`.
func (cmd *imageInspect) Run(a *app) error {
	path := strings.HasSuffix(cmd.Image, ".tar")
	if strings.Contains(cmd.Image, "/") {
		_, err := os.Stat(cmd.Image)
		path = err == nil
	}
	return a.withImages(!path, false, func(ctx context.Context, i *core.Images) error {
		var all []oci.Record
		if path {
			arch, err := oci.OpenArchive(ctx, cmd.Image, oci.Limits{})
			if err != nil {
				return err
			}
			defer arch.Close()
			for _, img := range arch.Images {
				all = append(all, oci.RecordOf(img))
			}
		} else {
			r, err := i.Store().Get(cmd.Image)
			if err != nil {
				return err
			}
			all = append(all, *r)
		}
		if cmd.JSON {
			return printJSON(a.std.Out, all)
		}
		for _, r := range all {
			printRecord(a.std.Out, r)
		}
		return nil
	})
}

func printRecord(out io.Writer, r oci.Record) {
	fmt.Fprintf(out, "name     %s\ndigest   %s\nid       %s\n", harmless(r.Name), r.Digest, r.ID)
	if r.Bytes > 0 {
		fmt.Fprintf(out, "size     %s\n", size(r.Bytes))
	}
	fmt.Fprintf(out, "cmd      %s\nworkdir  %s\nuser     %s\n", harmless(strings.Join(r.Cmd, " ")), harmless(r.Workdir), harmless(r.User))
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		fmt.Fprintf(out, "env      %s=%s\n", harmless(k), harmless(r.Env[k]))
	}
	for _, l := range r.Layers {
		fmt.Fprintf(out, "layer    %s\n", l)
	}
}

// Run implements `zeno image ls`.
func (cmd *imageLS) Run(a *app) error {
	return a.withImages(true, true, func(_ context.Context, i *core.Images) error {
		all, err := i.Store().List()
		if err != nil {
			return err
		}
		if cmd.JSON {
			return printJSON(a.std.Out, all)
		}
		w := tabwriter.NewWriter(a.std.Out, 0, 0, 2, ' ', 0)
		for _, r := range all {
			fmt.Fprintf(w, "%s\t%s\t%d layers\t%s\t%s\n", r.Name, strings.TrimPrefix(r.Digest, "sha256:")[:12], len(r.Layers), size(r.Bytes), r.Created.Format(time.DateTime))
		}
		return w.Flush()
	})
}

// Run implements `zeno image rm`.
func (cmd *imageRM) Run(a *app) error {
	return a.withImages(true, true, func(_ context.Context, i *core.Images) error {
		for _, n := range cmd.Names {
			if err := i.Store().Remove(n); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run implements `zeno image gc`.
func (cmd *imageGC) Run(a *app) error {
	return a.withImages(true, true, func(ctx context.Context, i *core.Images) error {
		c, err := i.Store().GC(ctx, cmd.Dry)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return printJSON(a.std.Out, c)
		}
		what := "removed"
		if cmd.Dry {
			what = "would remove"
		}
		fmt.Fprintf(a.std.Out, "%s %d layers and %d parts, %s\n", what, c.Layers, c.Parts, size(c.Bytes))
		return nil
	})
}
