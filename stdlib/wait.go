package stdlib

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// beside runs f next to the thread, which waits for it, and ends f's context when the thread may wait no longer. f must
// not touch the thread.
func beside[T any](t *Thread, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := scope(t)
	defer cancel()
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer crashed(&err)
		v, err = f(ctx)
	}()
	t.Await(done, -1)
	return v, err
}

// crashed makes an error of a panic: on a goroutine of ours nobody else would catch it.
func crashed(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("internal error: %v", r)
	}
}

// scope is a context that ends with the evaluation of t.
func scope(t *Thread) (context.Context, context.CancelFunc) {
	if t.Deadline.IsZero() {
		return context.WithCancel(t.Context)
	}
	return context.WithDeadline(t.Context, t.Deadline)
}

// lifetime is the context of what outlives the evaluation that starts it.
func lifetime(t *Thread) context.Context {
	if t.Env != nil && t.Env.Life != nil {
		return t.Env.Life.Context
	}
	return context.Background()
}

// within is ctx with a timeout, where there is one.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// str makes a string of text from outside and charges for it.
func str(t *Thread, s string) Value {
	t.Charge(64 + len(s))
	return value.Str(s)
}

// strs makes a vector of strings.
func strs(t *Thread, ss []string) Value {
	t.Charge(16 * len(ss))
	xs := make([]Value, len(ss))
	for i, s := range ss {
		t.Step()
		xs[i] = str(t, s)
	}
	return value.NewVectorOwned(t, xs)
}

// readAll reads r to its end on the thread, in pieces that are charged before they are there.
func readAll(t *Thread, r io.Reader) (string, error) {
	const piece = 32 << 10
	t.Charge(piece)
	buf := make([]byte, 0, piece)
	pinned := 0
	defer func() { t.Unpin(pinned) }()
	for {
		t.Safepoint()
		if len(buf) == cap(buf) {
			grow := cap(buf)
			t.Charge(2 * grow)
			t.Pin(grow)
			pinned += grow
			buf = append(make([]byte, 0, 2*grow), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		t.Steps(n >> 10)
		if err == io.EOF {
			t.Charge(len(buf))
			return string(buf), nil
		}
		if err != nil {
			return "", err
		}
	}
}
