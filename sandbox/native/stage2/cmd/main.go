// Command stage2 is the part of zeno that runs inside a box, as a program of its own: it starts in about a millisecond.
package main

import "github.com/reflection-dev/zeno/sandbox/native/stage2"

func main() { stage2.MainAlone() }
