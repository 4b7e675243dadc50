// Command zeno runs an orchestrator of AI agents that is written in a Lisp. See internal/cli for the command line and core
// for what it runs.
package main

import (
	"os"

	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/internal/cli"
	_ "github.com/reflection-dev/zeno/internal/firstgc" // before most of what is initialized
	"github.com/reflection-dev/zeno/sandbox/native/stage2"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == stage2.Word {
		stage2.Main() // inside a box: nothing else of zeno may run
	}
	if len(os.Args) > 1 && os.Args[1] == guard.Word {
		os.Exit(guard.Main(os.Args[2:]))
	}
	os.Exit(cli.Main(os.Args[1:], cli.Process()))
}
