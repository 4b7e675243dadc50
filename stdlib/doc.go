// Package stdlib is how a trusted program reaches outside the language: files, processes, the clock, HTTP, and the formats
// that come with them. It is the joker.* host namespaces and the part of clojure.core that reads and writes.
//
// The one invariant: nothing here is global. What a namespace needs of its surroundings (streams, arguments, environment
// variables, the working directory, the right to end the process) comes in by Config and lives in one host per Install.
// (chdir …) and (set-env …) change that host: what its own files and commands see, not the process. So two environments in
// one process do not disturb each other.
//
// The rules that every function keeps:
//
//   - It ends with the evaluation that called it. Whatever may block (a command, a request, a read from a pipe) runs under
//     the thread's context beside the thread, which waits in Thread.Await; a cancelled evaluation kills a command with all
//     of its process group, and closes a request. A library that knows no context (Markdown, Git, bolt, a read that
//     nobody answers) is left to end by itself.
//   - What comes from outside is bounded: the output of a command, the body of a response, the length of a line. The bounds
//     are in Config, finite by default, and where one is met the message names the way around it.
//   - An error says who failed to do what to which file, and why: `slurp: failed to read x.txt: no such file or directory`. A
//     missing file is a FileNotFoundException, every other failure of the outside an IOException, and bad data an
//     IllegalArgumentException.
//
// Times are insts, in a zone and to the nanosecond; durations are integers, in nanoseconds; open files, servers and
// databases are host objects. None of this is ever in an isolate: an agent reaches the outside by capabilities alone.
//
// Start at stdlib.go, which lists the namespaces; each is a file or a few of its name.
package stdlib
