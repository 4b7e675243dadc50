// Package firstgc puts a process's first garbage collection off until its heap has 8 MiB, twice what it is by default.
//
// What zeno makes before its first line of work fits into that, nearly all of it is kept, and two collections that free
// nothing took a quarter of the processor time of `zeno -e 1`. From the first collection on everything is as ever. Who
// sets GOGC is obeyed.
//
// The package does its work as it is initialized, since the tables of other packages are a part of what is made: Go
// initializes packages in the order of their paths, where their imports allow it, and this one imports next to nothing.
package firstgc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Percent is GOGC until the first collection.
const Percent = 200

var _ = putOff()

func putOff() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	before := debug.SetGCPercent(Percent)
	runtime.AddCleanup(new([2]int64), func(percent int) { debug.SetGCPercent(percent) }, before)
	return true
}
