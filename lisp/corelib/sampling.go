package corelib

import (
	"math/rand/v2"

	"github.com/reflection-dev/zeno/lisp/value"
)

// chosen tells whether an element is part of a random sample.
func chosen(t *Thread, prob Value) bool { return rand.Float64() < value.ToFloat(t, prob) }
