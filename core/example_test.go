package core_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/spawn"
)

// Another Go program embeds zeno: a role, and an agent written in Go that reaches it over the real endpoint.
func ExampleNew() {
	ctx := context.Background()
	c, err := core.New(core.Config{Out: os.Stdout, Err: os.Stderr})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	_, err = c.Eval(ctx, `
		(defn grant [] {:vocab {"greet" (fn [who] (str "hello, " who))}})
		(zeno.gateway/start! {:roles {:greeter #'grant}})`)
	if err != nil {
		fmt.Println(err)
		return
	}
	res := c.Spawn(ctx, spawn.Request{Role: "greeter", Backend: spawn.Scripted, Agent: func(ctx context.Context, agent spawn.Client) (string, error) {
		text, _, err := agent.Eval(ctx, `(greet "world")`)
		return text, err
	}})
	fmt.Println(res.Status, res.Answer)
	// Output: ok => "hello, world"
}
