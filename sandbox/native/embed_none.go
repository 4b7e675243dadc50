//go:build linux && !zeno_stage2

package native

// builtIn is empty in a plain `go build`: zeno re-executes itself as stage two.
var builtIn []byte
