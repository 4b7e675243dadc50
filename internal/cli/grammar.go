package cli

import (
	"slices"
	"strings"
	"time"
)

// grammar is the command line as kong reads it.
type grammar struct {
	Home string `placeholder:"DIR" help:"The home: init.joke, namespaces, state. Default: $$ZENO_HOME, else ~/.zeno."`
	logging

	Program  programCmd  `cmd:"" default:"withargs" hidden:"" name:"run" help:"Run a file, expressions, or the REPL."`
	Init     initCmd     `cmd:"" help:"Write the smallest useful home."`
	Demo     demoCmd     `cmd:"" help:"Run the demo: an agent that calls back and gets work done. No key, no network."`
	Spawn    spawnCmd    `cmd:"" help:"Run one agent of a role to its end and print its answer."`
	Eval     evalCmd     `cmd:"" help:"Evaluate code as an agent of a role would: its grant, its limits."`
	Test     testCmd     `cmd:"" help:"Run test suites written in Lisp: *_test.joke and what lies in directories called test."`
	Connect  connectCmd  `cmd:"" help:"A REPL in the zeno that serves the home, or -e expressions there."`
	NREPL    nreplCmd    `cmd:"" name:"nrepl" help:"Evaluate in the zeno that serves the home, for scripts: eval --connect=home."`
	Journal  journalCmd  `cmd:"" help:"Read and check the record of what happened: verify, tail, show, export, anchor."`
	Backends backendsCmd `cmd:"" help:"List the agent CLIs that spawns can use: what is installed, which version was tried, how to install."`
	Doctor   doctorCmd   `cmd:"" help:"Try what this machine can do, and say what is missing and how to get it."`
	DryRun   dryRunCmd   `cmd:"" name:"dry-run" help:"Pass hours of a home's processes in a moment, with stand-ins, and tell what would have happened."`
	Proxy    proxyCmd    `cmd:"" help:"Run the egress proxy of a box by itself, for other backends."`
	Image    imageCmd    `cmd:"" help:"What boxes run on: build, load, push, inspect, ls, rm, gc."`
	Sandbox  sandboxCmd  `cmd:"" help:"Boxes: run a program in one; ps, stop, exec."`
	Volume   volumeCmd   `cmd:"" help:"Directories that outlive boxes: ls, rm."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
	operate
}

// commands are the words that are no file: `zeno ./init` runs a file of such a name.
func commands() []string {
	return append([]string{"init", "demo", "spawn", "eval", "test", "connect", "nrepl", "journal", "backends", "doctor", "dry-run", "proxy", "image", "sandbox", "volume", "version"}, operateNames()...)
}

type programCmd struct {
	Expr        []string      `short:"e" name:"expr" placeholder:"EXPR" sep:"none" help:"Evaluate EXPR and print its value unless it is nil. May be given several times."`
	Daemon      bool          `help:"Serve the home without a terminal until a signal ends it; editors and zeno connect reach it."`
	Drain       time.Duration `placeholder:"30s" help:"With --daemon: how long what runs may go on after the first signal. Default: what the program says, else 30s."`
	ShowVersion bool          `name:"version" help:"Print the version."`
	File        string        `arg:"" optional:"" help:"A program to run; - is stdin. Without it and without -e: the REPL."`
	Args        []string      `arg:"" optional:"" help:"*command-line-args* of the program."`
}

type initCmd struct {
	Dir string `arg:"" optional:"" default:"." help:"Where to; made if it is not there. Default: the current directory."`
}

type demoCmd struct {
	model
	Backend string `default:"scripted" help:"Who plays the agent: scripted, or an agent CLI that is installed, such as omp or claude."`
	Keep    string `placeholder:"DIR" help:"Run in DIR, which must be new or empty. Default: a temporary directory."`
}

type spawnCmd struct {
	model
	Role    string        `arg:"" help:"A role that the home registers."`
	Prompt  string        `arg:"" help:"What the agent is to do; - reads it from stdin."`
	Backend string        `placeholder:"NAME" help:"The agent CLI, such as omp (the default) or claude."`
	System  string        `placeholder:"TEXT" help:"The system prompt."`
	Timeout time.Duration `placeholder:"20m" help:"When the spawn ends at the latest."`
	Sandbox string        `placeholder:"none|FILE" help:"none: no box, the agent can reach what you can. A file: a profile, such as {:egress {:allow [\"pkg.example.net\"]} :memory \"4G\"}. Default: a box with its model and its endpoint."`
	Trust   bool          `help:"With --sandbox none: also where a person has to approve what the role may do."`
	DryRun  bool          `name:"dry-run" help:"Print what would be started, and start nothing: argv, files, names of variables."`
	JSON    bool          `name:"json" help:"Print the whole result as JSON."`
}

// model says which model server an agent CLI talks to.
type model struct {
	Model     string `placeholder:"NAME" help:"The model, as the agent CLI names it."`
	BaseURL   string `name:"base-url" placeholder:"URL" help:"The model server. Default: the agent CLI's own."`
	APIKeyEnv string `name:"api-key-env" placeholder:"VAR" help:"The environment variable that holds the model server's key."`
}

type evalCmd struct {
	Role    string   `placeholder:"ROLE" help:"Whose grant and limits. Without it: the pure core and the default limits, and no home is loaded."`
	Expr    []string `short:"e" name:"expr" placeholder:"EXPR" sep:"none" help:"Code. May be given several times: it is joined."`
	Connect string   `name:"connect" placeholder:"ADDR" help:"Evaluate with full power in a zeno that runs: host:port, the path of a Unix socket, or home for the daemon of the home."`
	JSON    bool     `name:"json" help:"Print the outcome as JSON."`
	File    string   `arg:"" optional:"" help:"A file of code; - or nothing is stdin."`
}

type testCmd struct {
	Watch bool     `help:"Run again whenever a source file changes, until ctrl-C."`
	JUnit string   `name:"junit" placeholder:"FILE" help:"Write the results as JUnit XML too."`
	Only  string   `placeholder:"RE" help:"Run only the tests whose namespace/name matches."`
	Paths []string `arg:"" optional:"" help:"Files and directories. Default: the home if --home names one, else the current directory."`
}

type versionCmd struct{}

// prepare marks where the arguments of a program begin, so that none of them is taken for one of ours: FILE and what
// follows it, and after -e every word that is no flag, belongs to the command "run", which nobody types. It also ties every
// EXPR to its -e, so that -e -1 is no flag.
func prepare(args []string) []string {
	var out []string
	exprs, eval := false, false
	for i := 0; i < len(args); i++ {
		arg, last := args[i], i+1 == len(args)
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case (arg == "-e" || arg == "--expr") && !last:
			exprs = true
			i++
			out = append(out, "--expr="+args[i])
		case slices.Contains([]string{"--home", "--drain", "--log-format", "--log-level"}, arg) && !last:
			i++
			out = append(out, arg+"="+args[i])
		case eval:
			out = append(out, arg)
		case len(arg) > 1 && arg[0] == '-':
			exprs = exprs || strings.HasPrefix(arg, "-e") || strings.HasPrefix(arg, "--expr=")
			out = append(out, arg)
		case exprs:
			return slices.Concat([]string{"run"}, out, []string{"--"}, args[i:])
		case arg == "eval" || arg == "connect" || arg == "nrepl":
			eval = true // they have a -e too
			out = append(out, arg)
		case slices.Contains(commands(), arg):
			return append(out, args[i:]...)
		default:
			return slices.Concat([]string{"run"}, out, []string{"--"}, args[i:])
		}
	}
	return out
}
