package loop_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/loop"
)

// A night of a process in no time.
func ExampleLoop() {
	clock := loop.NewVirtual(time.Date(2024, 1, 1, 18, 0, 0, 0, time.UTC))
	l := loop.New(loop.Config{Clock: clock})
	s, err := loop.Parse("0 */4 * * *", time.UTC)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = l.Every(loop.Process{Name: "sweep", Schedule: s, Do: func(context.Context) error {
		fmt.Println("sweep at", clock.Now().Format(time.Kitchen))
		return nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := l.Start(); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := clock.Advance(ctx, 12*time.Hour); err != nil {
		fmt.Println(err)
	}
	if err := l.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sweep at 8:00PM
	// sweep at 12:00AM
	// sweep at 4:00AM
}
