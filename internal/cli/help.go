package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// overview is `zeno --help`: everything on one screen.
const overview = `zeno runs an orchestrator of AI agents, written in a Clojure dialect.

Usage:
  zeno [--home DIR]                       REPL; loads init.joke of the home
  zeno [--home DIR] FILE [ARGS…]          run a program (#! works); - is stdin
  zeno [--home DIR] -e EXPR [-e …] [ARGS…]  evaluate, print values that are not nil
  zeno init [DIR]                         write the smallest useful home
  zeno demo [--backend B]                 watch an agent do a job; no key, no network
  zeno spawn ROLE PROMPT [--json]         run one agent, print its answer
  zeno eval [--role R] [-e EXPR | FILE]   evaluate as an agent of a role would
  zeno test [PATHS…] [--watch]            run the tests of *_test.joke and test/
  zeno --daemon [--log-format json]       serve the home headless, for editors and connect
  zeno connect [-e EXPR]                  a REPL in the zeno that serves the home
  zeno nrepl [-e EXPR | FILE] [--json]    evaluate there, for scripts
  zeno journal verify|tail|show SPAWN     check and read the record of what happened
  zeno dry-run HOME --for 24h             what would happen: virtual clock, stand-ins
  zeno doctor [--need NAME]               try what this machine can do; what is missing
  zeno inbox; zeno answer Q-17 TEXT       what waits for a person, and the answer
  zeno ps|logs|cancel|pause|resume|run-now|freeze|thaw|stop   operate the zeno there
  zeno gc | zeno backup DIR|FILE.tar.gz   remove what is old; copy a home, also while served
  zeno backends [--json]                  the agent CLIs: what is installed, how to install
  zeno sandbox run -- CMD | ps | exec | stop; volume ls | rm   boxes and what outlives them
  zeno proxy FILE --listen ADDR           the egress proxy of a box by itself
  zeno image build SPEC -o FILE | load | push | ls   what boxes run on
  zeno completions bash|zsh|fish | zeno version

Home: --home, else $ZENO_HOME, else ~/.zeno. The REPL, spawn and eval --role load it;
FILE and -e load it only with --home. A missing or broken home is reported and the REPL
is there all the same. A file named like a command: zeno ./init

Examples:
  zeno init mine && zeno --home mine
  zeno -e '(map inc [1 2 3])'
  echo '(+ 1 2)' | zeno eval
  zeno COMMAND --help                     flags and examples of a command

Exit codes: 0 it worked   1 the program failed   2 wrong command line
  3 eval: a limit ended it   4 eval: a name is neither in the core nor granted
  5 no zeno serves the home   130 interrupted   143 terminated
  n a program that calls (joker.os/exit n); a daemon that was told to stop and did: 0
`

func help(options kong.HelpOptions, ctx *kong.Context) error {
	if sel := ctx.Selected(); sel == nil || sel.Name == "run" && sel.Parent == ctx.Model.Node {
		_, err := fmt.Fprint(ctx.Stdout, overview)
		return err
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// Help gives the examples of each command.
func (initCmd) Help() string {
	return `Writes init.joke (a process and a role), src/notes.joke (two capabilities) and deps.edn. Refuses to overwrite.

Example:

  zeno init mine && zeno --home mine`
}

// Help implements kong.HelpProvider.
func (demoCmd) Help() string {
	return `Exits 0 only if the demo ends with :status :ok.

Examples:

  zeno demo

  zeno demo --keep /tmp/demo

  zeno demo --backend claude --api-key-env ANTHROPIC_API_KEY`
}

// Help implements kong.HelpProvider.
func (spawnCmd) Help() string {
	return `The answer goes to stdout, how it ended to stderr. Exits 0 only if the spawn ends ok. Where a zeno serves the home the spawn runs in that one, and ctrl-C ends it there.

Examples:

  zeno --home mine spawn clerk 'list the notes' --backend claude

  zeno spawn clerk - --json < task.txt | jq .answer`
}

// Help implements kong.HelpProvider.
func (evalCmd) Help() string {
	return `Prints what the code prints, then its value unless it is nil. Exits 3 where a limit ended it, 4 where a name did not resolve.

Examples:

  zeno eval -e '(frequencies "banana")'

  zeno --home mine eval --role clerk -e '(tools)'

  echo '(count (range))' | zeno eval`
}

// Help implements kong.HelpProvider.
func (testCmd) Help() string {
	return `Each file is loaded in an environment of its own. It finds the namespaces beside it, in the directories above it up to the one named, and in src of each; with --home also those of the home, whose init.joke is not run. Exits 1 where a test fails, 2 where there is none to run.

Examples:

  zeno test

  zeno test test/orders_test.joke --only 'refund' --watch

  zeno --home mine test --junit results.xml`
}

// Help implements kong.HelpProvider.
func (connectCmd) Help() string {
	return `Without an address it is the daemon of the home, by its .nrepl-port. $ZENO_NREPL_TOKEN is sent where it is set. Exits 1 where an evaluation fails.

Examples:

  zeno connect -e '(zeno.loop/processes)'

  zeno connect 127.0.0.1:7888`
}

// Help implements kong.HelpProvider.
func (nreplCmd) Help() string {
	return `The same as zeno eval --connect=home. Prints output as it comes and the last value, with --json all values. $ZENO_NREPL_TOKEN is sent where it is set. Exits 1 where the code fails.

Examples:

  zeno nrepl -e '(zeno.loop/processes)'

  zeno --home mine nrepl deploy.joke

  echo '(+ 1 2)' | zeno nrepl --connect 127.0.0.1:7888 --json`
}

// Help implements kong.HelpProvider.
func (journalCmd) Help() string {
	return `Reads state/journal.db of the home, also while a zeno writes it.

Examples:

  zeno journal tail -n 50 --follow

  zeno journal show ID --json | jq .data

  zeno journal anchor > kept-elsewhere && zeno journal verify --anchor kept-elsewhere

  zeno journal export > all.jsonl && zeno journal verify --export all.jsonl`
}

// Help implements kong.HelpProvider.
func (versionCmd) Help() string {
	return `Example:

  zeno version`
}
