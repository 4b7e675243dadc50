package stdlib_test

import (
	"context"
	"fmt"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/stdlib"
)

// A program gives its environment the outside by one call.
func ExampleInstall() {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	stdlib.Install(env.Raw(), stdlib.Config{Args: []string{"prog", "--fast"}, Environ: []string{"PATH=/usr/bin:/bin"}})
	for _, src := range []string{
		`(second (joker.os/args))`,
		`(:out (joker.os/sh "echo" "hello"))`,
		`(slurp "no-such-file")`,
	} {
		v, err := env.Eval(context.Background(), src, "example.joke")
		if err != nil {
			fmt.Println(err)
			continue
		}
		s, _ := env.Print(context.Background(), v)
		fmt.Println(s)
	}
	// Output:
	// "--fast"
	// "hello\n"
	// example.joke:1:1: slurp: failed to read no-such-file: no such file or directory
}

// Namespaces gives the tables themselves, for documentation or for an environment made by hand.
func ExampleNamespaces() {
	for _, f := range stdlib.Namespaces(stdlib.Config{})["joker.uuid"] {
		fmt.Println(f.Name, f.Arglists, f.Doc)
	}
	// Output: new ([]) A new random UUID (version 4), as a string.
}
