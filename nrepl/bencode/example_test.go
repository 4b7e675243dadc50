package bencode_test

import (
	"fmt"
	"strings"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

func ExampleDecoder() {
	m, err := bencode.NewDecoder(strings.NewReader("d4:code7:(+ 1 2)2:op4:evale"), bencode.Limits{}).Next()
	fmt.Println(m["op"], m["code"], err)
	// Output: eval (+ 1 2) <nil>
}

func ExampleAppend() {
	b, err := bencode.Append(nil, bencode.Dict{"op": "describe", "id": 1})
	fmt.Println(string(b), err)
	// Output: d2:idi1e2:op8:describee <nil>
}
