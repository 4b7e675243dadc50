package stdlib_test

import (
	"testing"

	"github.com/reflection-dev/zeno/stdlib"
)

func TestBolt(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`(do (def db (joker.bolt/open "x.db" 0600)) (joker.bolt/create-bucket db "b"))`, `nil`},
		{`(joker.bolt/create-bucket db "b")`, `!create-bucket: failed to change the bucket b: bucket already exists`},
		{`(joker.bolt/create-bucket-if-not-exists db "b")`, `nil`},
		{`(joker.bolt/get db "b" "k")`, `nil`},
		{`(do (joker.bolt/put db "b" "k" "v") (joker.bolt/get db "b" "k"))`, `"v"`},
		{`(joker.bolt/put db "b" "" "v")`, `!put: failed to write to the bucket b: key required`},
		{`(do (joker.bolt/put db "b" "k2" "w") (joker.bolt/put db "b" "l" "x") (joker.bolt/by-prefix db "b" "k"))`, `[["k" "v"] ["k2" "w"]]`},
		{`[(joker.bolt/next-sequence db "b") (joker.bolt/next-sequence db "b")]`, `[1 2]`},
		{`(do (joker.bolt/delete db "b" "k") (joker.bolt/get db "b" "k"))`, `nil`},
		{`(joker.bolt/get db "nope" "k")`, `!get: failed to read the bucket nope: there is no such bucket; create-bucket makes one`},
		{`(do (joker.bolt/close db) (joker.bolt/get db "b" "k"))`, `!database not open`},
		{`(with-open [d (joker.bolt/open "x.db" 0600)] (joker.bolt/by-prefix d "b" ""))`, `[["k2" "w"] ["l" "x"]]`},
		{`(with-open [d (joker.bolt/open "x.db" 0600)] (joker.bolt/delete-bucket d "b"))`, `nil`},
		{`(joker.bolt/get 1 "b" "k")`, `!get: got 1 (integer), want a database`},
	})
}
