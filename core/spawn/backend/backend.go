// Package backend holds the agent CLIs as data: one table in which an entry says how to start a CLI, which files and
// environment it needs, and how to read what it prints.
//
// The invariant: an entry is pure data (strings, numbers, booleans, lists, maps), so an instance can add its own from a
// Lisp map through Decode, and no code elsewhere asks for a CLI by name. Planning a run is a pure function too: Plan
// turns an entry and the values of one spawn into argv, environment, files and links, and touches nothing.
//
// Texts are templates. `${name}` is replaced by a variable of the spawn (see Variables), `$$` stands for one dollar. An
// empty variable is an error that names the place, unless the place is a group, which is then left out. `${token}` and
// `${api-key}` are secrets and may stand in env values only: argv is readable by every process of the machine, files
// outlive the run.
//
// Start reading at Backend, then Table for the built-in entries and Reader for the stream rules.
package backend

// Backend describes one agent CLI. The zero value of a field means "none".
type Backend struct {
	// Name is the key in the table, for messages.
	Name string
	// Argv is the command line; Argv[0] must be a plain program name or path.
	Argv []Arg
	// Needs names further programs that must be on PATH, such as an interpreter.
	Needs []string
	// Stdin is the template of the standard input. A prompt belongs here: one argument holds at most 128 KiB on Linux.
	Stdin string
	// Dir is the directory to start in; empty means "${work}". A CLI that runs code from its current directory starts in
	// a directory of zeno's own instead.
	Dir string
	// Env maps names to value templates; an entry whose template holds an empty variable is left out. NAME?variable makes it
	// depend on that variable as well.
	Env map[string]string
	// Files maps paths, relative to the private home, to what to write there before the start.
	Files map[string]File
	// Links maps paths, relative to the private home, to the template of the absolute directory they point to.
	Links map[string]string
	// Rehome is a pattern (path.Match) for the names of session files that begin with where the CLI ran. A resume
	// takes place in another home, so the copy made for it says the new one.
	Rehome string
	// SessionFirst says that the CLI writes a prompt to its session files before it sends it to the model: what is not in
	// there was never sent.
	SessionFirst bool
	// Vars holds defaults of further variables, which a spawn may override.
	Vars map[string]string
	// Requires lists variables that must not be empty.
	Requires []string
	// Escapes rewrites prompts, so that the CLI does not take text for one of its own commands.
	Escapes []Escape
	// ToolName is zeno's eval tool as the model sees it.
	ToolName string
	// Builtins lists further tool names the CLI always offers and that are harmless.
	Builtins []string
	// OwnAdvisor says that the CLI itself lets a second model review each turn: the entry uses ${advisor}, which is empty
	// where no such review is asked for.
	OwnAdvisor bool
	// Hosts are the model servers that the CLI talks to where a spawn has no base URL: what a box lets through then.
	Hosts []string
	// Offers lists the built-in tools a spawn may ask for; empty means that the CLI takes any name.
	Offers []string
	// Stream says how to read standard output.
	Stream Stream
	// Install is the hint for a user without the CLI; Tried is the version the entry was tried with.
	Install, Tried string
}

// Arg is one element of a command line: words that stand or fall together.
type Arg struct {
	Words []string
	// Optional leaves the words out when a variable in them is empty.
	Optional bool
	// If and Unless hold variable names, separated by spaces: the words stand when all of If and none of Unless are set.
	If, Unless string
}

// File is a file to write: a text template, or data, the strings and keys in it templates too. The key "name?" of a map in
// Data means name, left out with its value when a variable in them is empty; "name?variable" depends on that one as well.
type File struct {
	Text string
	Data any
	// Format is how Data is written: "" or "json" (which is YAML as well), or "toml".
	Format string
	// If and Unless are conditions as in Arg.
	If, Unless string
}

// Escape replaces what the RE2 pattern Match finds in a prompt by With, which may refer to groups as ${1}.
type Escape struct {
	Match, With string
}

// word is an argument that always stands.
func word(w string) Arg { return Arg{Words: []string{w}} }

// words are arguments that always stand.
func words(w ...string) []Arg {
	args := make([]Arg, len(w))
	for i := range w {
		args[i] = word(w[i])
	}
	return args
}

// group is left out when a variable in it is empty.
func group(w ...string) Arg { return Arg{Words: w, Optional: true} }
