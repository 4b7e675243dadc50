// Package native is the backend that runs boxes on this machine with what Linux has: no daemon, no image service, and
// no right that the caller lacks.
//
// Its one invariant: a box starts with every constraint of its Spec in force, or not at all; and nothing of it (process,
// mount, cgroup, network, file) is left once Run returned or, after a crash, once the next Reap did. Everything of a box
// hangs on its first process: the namespaces end with it, and it ends with zeno, since they share a socket.
//
// Where to start: Backend.Run (run.go), launch_linux.go for how the first process is made, plan.go for what it is told;
// package stage2 is what it does with that. DESIGN.md has the reasons.
package native
