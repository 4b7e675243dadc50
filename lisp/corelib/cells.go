package corelib

import (
	"sync/atomic"

	"github.com/reflection-dev/zeno/lisp/value"
)

// cell is a place for one value that Go closures share. It is a volatile, so that what it holds is counted as alive for as
// long as the function or seq that names it among what it holds.
type cell struct{ v Value }

func newCell(t *Thread, v Value) cell { return cell{value.NewVolatile(t, v)} }

func (c cell) get() Value             { return value.As[value.Volatile](c.v).Get() }
func (c cell) set(t *Thread, x Value) { value.As[value.Volatile](c.v).Set(t, x) }
func (c cell) held() Value            { return c.v }

// counter counts from 0.
type counter struct{ n atomic.Int64 }

func (c *counter) next() int64 { return c.n.Add(1) - 1 }
