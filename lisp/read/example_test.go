package read_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

func ExampleNew() {
	t := value.NewThread(value.NewRun(context.Background(), limit.Defaults()), nil)
	r := read.New(t, "{:a [1 2]} ; data\n'(b #_c d) (e", read.Options{File: "demo"})
	for {
		v, err := r.Read()
		if err == io.EOF {
			break
		}
		var e *read.Error
		if errors.As(err, &e) {
			fmt.Println(e, "- more may come:", e.Incomplete)
			break
		}
		fmt.Println(value.PrStr(t, v))
	}
	// Output:
	// {:a [1 2]}
	// (quote (b d))
	// demo:2:14: end of text: the ( opened at demo:2:12 wants ) - more may come: true
}
