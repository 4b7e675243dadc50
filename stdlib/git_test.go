package stdlib_test

import (
	"testing"

	"github.com/go-git/go-git/v5"

	"github.com/reflection-dev/zeno/stdlib"
)

func TestGit(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	t.Setenv("HOME", w.dir)
	if _, err := git.PlainInitWithOptions(w.dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: "refs/heads/main"}}); err != nil {
		t.Fatal(err)
	}
	w.run([]row{
		{`(joker.git/open "/nonexistent")`, `!open: failed to open /nonexistent: repository does not exist`},
		{`(do (def repo (joker.git/open ".")) (joker.git/head repo))`, `!head: failed to find HEAD: reference not found`},
		{`(do (joker.os/mkdir "d" 0755) (spit "d/a.txt" "abc") (joker.git/add-path repo "d/a.txt"))`, `nil`},
		{`(joker.git/add-path repo "nope")`, `!add-path: failed to stage nope`},
		{`(joker.git/add-commit repo "first" {})`, `!:author {:name … :email …}`},
		{`(def me {:name "Ann" :email "ann@example.org" :when #inst "2026-01-31"})`, `#'user/me`},
		{`(do (def c1 (joker.git/add-commit repo "first" {:author me})) (count c1))`, `40`},
		{`(= c1 (:hash (joker.git/head repo)) (joker.git/resolve-revision repo "HEAD") (:hash (joker.git/ref repo "refs/heads/main" true)))`, `true`},
		{`(joker.git/ref repo "HEAD" false)`, `{:name "HEAD", :type :symbolic, :target "refs/heads/main"}`},
		{`(joker.git/resolve-revision repo "nope")`, `!resolve-revision: failed to find nope`},
		{`(select-keys (joker.git/commit repo c1) [:message :author :parents])`, `{:message "first", :author {:name "Ann", :email "ann@example.org", :when #inst "2026-01-31T00:00:00.000-00:00"}, :parents []}`},
		{`(joker.git/commit repo "main")`, `!want a hash of 40 hexadecimal digits`},
		{`(do (spit "d/a.txt" "abcd") (def c2 (joker.git/add-commit repo "second" {:all true :author me})) (map :message (joker.git/log repo {})))`, `("second" "first")`},
		{`(map :message (joker.git/log repo {:max 1}))`, `("second")`},
		{`(map :message (joker.git/log repo {:from c1 :path "d/a.txt"}))`, `("first")`},
		{`(joker.git/log repo {:order :random})`, `!log: got the order :random`},
		{`(= [c1] (:parents (joker.git/commit repo c2)))`, `true`},
		{`(let [tree (joker.git/object repo (:tree (joker.git/commit repo c1)))
		       d (joker.git/object repo (:hash (first (:entries tree))))
		       blob (joker.git/object repo (:hash (first (:entries d))))]
		    [(:type tree) (map :name (:entries d)) (:type blob) (:content blob) (:size blob)])`, `[:tree ("a.txt") :blob "abc" 3]`},
		{`(:type (joker.git/object repo c1))`, `:commit`},
		{`(select-keys (joker.git/config repo) [:bare? :remotes])`, `{:bare? false, :remotes {}}`},
		{`(joker.git/head 1)`, `!head: got 1 (integer), want a repository`},
	})
}
