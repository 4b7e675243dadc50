// Package msb runs programs in microVMs by driving the msb command line of microsandbox (0.6.x). A box has a kernel of its
// own, so that an error in the host's is no way out of it.
//
// Its one invariant is that of package sandbox: what a spec declares is in the command line that is given to msb, or the
// run is refused. Two things of a box are held here and not by msb: its clock, since msb's own does not end every
// program, and the bound of its volume. Values of secrets travel in the environment of the launcher and nowhere else.
//
// A run is three commands, create, exec and remove, and not `msb run`, which holds output back until the end and whose
// exit code 1 is that of the program and also that of a box that did not start.
//
// Start at Backend.Run, then createArgs.
package msb
