//go:build linux && zeno_stage2

package native

import _ "embed"

// builtIn is the stage two program, which `make` builds before it builds zeno.
//
//go:embed stage2.bin
var builtIn []byte
