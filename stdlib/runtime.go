package stdlib

import (
	"runtime"

	"github.com/reflection-dev/zeno/lisp/value"
)

// runtimeNS is joker.runtime: what the program was made with.
func (h *Host) runtimeNS() []value.Builtin {
	return []value.Builtin{
		def("go-root", "([])", "Where Go is installed, by the environment variable GOROOT; empty where that is not set.", func() string { return h.getenv("GOROOT") }),
		def("go-version", "([])", "The version of Go that the program was built with.", runtime.Version),
		def("joker-version", "([])", "The version of the language.", func() string { return h.Version }),
	}
}
