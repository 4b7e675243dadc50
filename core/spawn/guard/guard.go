// Package guard keeps a promise that no parent can keep for itself: when zeno dies, by whatever means, so does every
// process it started.
//
// A local agent CLI does not run as a child of zeno but as a child of a small guard process, which is the zeno binary
// re-executed with a hidden first argument (Word). The guard inherits the read end of a pipe whose write end only zeno
// holds. When zeno wants the tree gone it writes a byte; when zeno is killed, the kernel closes the pipe. Both look the
// same to the guard: TERM to the whole tree, then KILL after the grace period. A parent-death signal alone would not do,
// since it follows a thread rather than a process and reaches no grandchild.
//
// On Linux the guard is also a child subreaper: a grandchild that called setsid and lost its parent is adopted by the
// guard instead of by init, so a walk over the process table from the guard finds the whole tree, always. On darwin
// there is no subreaper; there the walk and the process group together are a best effort.
//
// The invariant: the guard exits only when it has no descendant left (or when the kernel refuses to kill one).
//
// Start reading at Main (the guard's side) and Start (zeno's side).
package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Word is the hidden first argument that turns a run of the zeno binary into a guard.
const Word = "__guard"

// ExitInternal is the guard's exit code when it could not start the command at all.
const ExitInternal = 125

// controlFD is where the guard finds the read end of zeno's pipe: the first of exec.Cmd.ExtraFiles.
const controlFD = 3

// DefaultGrace is the time between TERM and KILL where the caller gives none.
const DefaultGrace = 2 * time.Second

// Self is the argv prefix that re-executes the running binary as a guard; its main (or TestMain) must hand os.Args[2:]
// to Main when os.Args[1] is Word.
func Self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find the path of this binary for the guard: %w", err)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("failed to resolve the path of this binary for the guard: %w", err)
	}
	return []string{path, Word}, nil
}

// Wrap turns cmd, prepared for the bare CLI, into one that runs it under the guard named by prefix. It sets Path, Args,
// ExtraFiles and SysProcAttr and leaves the rest alone. The returned Handle must be told Started or Abandon.
func Wrap(prefix []string, cmd *exec.Cmd, grace time.Duration) (*Handle, error) {
	if len(prefix) == 0 {
		return nil, fmt.Errorf("guard: got an empty argv prefix, want the zeno binary and %q", Word)
	}
	if len(cmd.ExtraFiles) != 0 {
		return nil, fmt.Errorf("guard: got %d extra files, want none: descriptor %d is the guard's own", len(cmd.ExtraFiles), controlFD)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("failed to open the guard's pipe: %w", err)
	}
	args := append([]string{}, prefix...)
	args = append(args, strconv.FormatInt(grace.Milliseconds(), 10), cmd.Path)
	cmd.Args = append(args, cmd.Args...)
	cmd.Path = prefix[0]
	cmd.ExtraFiles = []*os.File{read}
	cmd.SysProcAttr = detached()
	return &Handle{read: read, write: write}, nil
}

// Handle is zeno's end of one guard. Its methods may be called more than once; they are not safe for concurrent use.
type Handle struct {
	read, write *os.File
}

// Started gives up the guard's end of the pipe after cmd.Start succeeded, so that closing ours is seen as its end.
func (h *Handle) Started() {
	_ = h.read.Close()
}

// Kill asks the guard to end its tree: TERM now, KILL after the grace period. It does not wait.
func (h *Handle) Kill() {
	_ = h.write.Close()
}

// Abandon releases both ends; for a command that did not start, and after the guard was waited for.
func (h *Handle) Abandon() {
	_ = h.read.Close()
	_ = h.write.Close()
}
