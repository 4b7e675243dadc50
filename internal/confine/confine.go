// Package confine replaces this process by another one that can write below given directories only, it and all that it
// starts. The kernel holds it to that (landlock), whatever the program does.
//
// What the kernel does not hold back: reading, the network, changing the mode, owner or times of a file, and sockets that
// are open or can be connected to. Start with Exec.
package confine

// Least is the oldest version of landlock that will do: from it on a file can be moved between directories.
const Least = 2
