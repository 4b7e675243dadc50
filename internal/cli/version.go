package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// built is the version that `make` gives to the linker.
var built string

// version is what make says, else the module's version, with the commit where the build knows it.
func version() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
	}
	return v
}

func (a *app) printVersion() error {
	_, err := fmt.Fprintf(a.std.Out, "zeno %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// Run implements `zeno version`.
func (versionCmd) Run(a *app) error { return a.printVersion() }
