// Package sandbox is the vocabulary of constraints on a program that is run in a box, and the interface of the backends
// that enforce it.
//
// Its one invariant: a constraint that is declared is enforced or the run is refused. No backend drops one in silence;
// what a host lacks is an Unenforceable error that says how to get it. Start at Spec, then Backend.
package sandbox
