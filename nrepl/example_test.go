package nrepl_test

import (
	"context"
	"fmt"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/nrepl"
)

func Example() {
	ctx := context.Background()
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	defer env.Close()
	s, err := nrepl.New(nrepl.Config{Env: env})
	if err != nil {
		panic(err)
	}
	if err := s.Start(ctx); err != nil {
		panic(err)
	}
	defer func() { _ = s.Stop(ctx) }()

	c, err := nrepl.Dial(ctx, s.Addr(), "")
	if err != nil {
		panic(err)
	}
	defer c.Close()
	session, err := c.Clone(ctx)
	if err != nil {
		panic(err)
	}
	for _, code := range []string{"(def price 20)", "(println price) (* 2 price)", "(nope)"} {
		m, err := c.Do(ctx, nrepl.Message{"op": "eval", "session": session, "code": code}, func(m nrepl.Message) {
			if out, ok := m["out"]; ok {
				fmt.Print(out)
			}
		})
		fmt.Println(m["value"], m["ex"], err)
	}
	// Output:
	// #'user/price <nil> <nil>
	// 20
	// nil
	// 40 <nil> <nil>
	// <nil> UnresolvedSymbolException <nil>
}
