package lisp

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/reflection-dev/zeno/lisp/limit"
)

// Config is what a Runtime is made from. The zero value is good.
type Config struct {
	// Memory bounds what the evaluations of isolates may hold at once, in bytes, together. 0: half of the process's memory
	// limit (GOMEMLIMIT), or 4 GiB where none is set. The other half is the collector's headroom.
	Memory int64
}

// defaultMemory is the pool of a process without a memory limit.
const defaultMemory = 4 << 30

// What one evaluation may really need beyond its limit of live bytes: goroutine stacks, the piece by which it passes the
// limit before a measurement sees it, and what a charge is short of the size that the allocator rounds up to. Measured for
// a limit of 64 MiB: 80 for vectors and maps, 160 while a string doubles, 186 for a lazy seq of small vectors.
const (
	stackReserve  = 8 << 20
	reserveFactor = 3
)

// pool admits evaluations of isolates as far as the memory that they may hold lasts.
type pool struct {
	size int64
	sem  *semaphore.Weighted
}

func newPool(c Config) *pool {
	size := c.Memory
	if size <= 0 {
		size = defaultMemory
		if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
			size = limit / 2
		}
	}
	return &pool{size: size, sem: semaphore.NewWeighted(size)}
}

// admit reserves what an evaluation under l may hold, waiting as long as ctx lasts. One that may hold more than the whole
// pool gets the whole pool. What is reserved goes back with release.
func (p *pool) admit(ctx context.Context, l Limits) (reserved int64, waited time.Duration, ok bool) {
	n := p.size
	if l.Bytes < limit.Unlimited/2 {
		n = min(reserveFactor*l.Bytes+stackReserve, p.size)
	}
	if ctx.Err() == nil && p.sem.TryAcquire(n) {
		return n, 0, true
	}
	from := time.Now()
	err := p.sem.Acquire(ctx, n)
	return n, time.Since(from), err == nil
}

func (p *pool) release(reserved int64) { p.sem.Release(reserved) }
