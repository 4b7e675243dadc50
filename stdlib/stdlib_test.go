package stdlib_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/internal/noleak"
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/stdlib"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// world is an environment with the host namespaces, in a directory of its own.
type world struct {
	*testing.T
	env *lisp.Env
	dir string
	out bytes.Buffer
	ctx context.Context
}

func newWorld(t *testing.T, c stdlib.Config) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &world{T: t, dir: dir, ctx: ctx}
	c.Dir = dir
	if c.Environ == nil {
		c.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/nobody", "TMPDIR=" + dir, "A=1"}
	}
	w.env = lisp.New().NewEnv(lisp.EnvConfig{Out: &w.out, In: strings.NewReader("one\ntwo\n"), Context: ctx})
	stdlib.Install(w.env.Raw(), c)
	return w
}

// eval gives the printed value of src, or the message of what it threw after "!".
func (w *world) eval(src string) string {
	w.Helper()
	v, err := w.env.Eval(w.ctx, src, "test.joke")
	if err != nil {
		return "!" + err.Error()
	}
	s, err := w.env.Print(w.ctx, v)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// row is an expression and what it prints, "!…" for a part of the message of what it throws.
type row struct{ src, want string }

func (w *world) run(rows []row) {
	w.Helper()
	for _, r := range rows {
		got := w.eval(r.src)
		if part, bad := strings.CutPrefix(r.want, "!"); bad && strings.HasPrefix(got, "!") && strings.Contains(got, part) {
			continue
		}
		if got != r.want {
			w.Errorf("%s\n got %s\nwant %s", r.src, got, r.want)
		}
	}
}

func TestTextFunctions(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`(joker.base64/encode-string "héllo")`, `"aMOpbGxv"`},
		{`(joker.base64/decode-string "aMOpbGxv")`, `"héllo"`},
		{`(joker.base64/decode-string "a")`, `!decode-string: got no valid base64`},
		{`(joker.hex/encode-string "az")`, `"617a"`},
		{`(joker.hex/decode-string "617a")`, `"az"`},
		{`(joker.hex/decode-string "6")`, `!hexadecimal`},
		{`(joker.html/escape "<a href='x'>")`, `"&lt;a href=&#39;x&#39;&gt;"`},
		{`(joker.html/unescape "&lt;&amp;")`, `"<&"`},
		{`(joker.url/path-escape "a b/c")`, `"a%20b%2Fc"`},
		{`(joker.url/query-escape "a b&c")`, `"a+b%26c"`},
		{`(joker.url/query-unescape "a+b%26c")`, `"a b&c"`},
		{`(joker.url/path-unescape "%zz")`, `!path-unescape: got`},
		{`(joker.url/parse-query "b=2&a=1&a=3")`, `{"a" ["1" "3"], "b" ["2"]}`},
		{`(count (joker.uuid/new))`, `36`},
		{`(= (joker.uuid/new) (joker.uuid/new))`, `false`},
		{`(joker.hex/encode-string (joker.crypto/sha256 "abc"))`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{`(joker.hex/encode-string (joker.crypto/md5 ""))`, `"d41d8cd98f00b204e9800998ecf8427e"`},
		{`(joker.hex/encode-string (joker.crypto/hmac :sha256 "what do ya want for nothing?" "Jefe"))`, `"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"`},
		{`(joker.crypto/hmac :rot13 "a" "b")`, `!got the algorithm :rot13`},
		{`(joker.runtime/joker-version)`, `"v1.9.0"`},
	})
}

func TestStrconv(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`(joker.strconv/atoi "42")`, `42`},
		{`(joker.strconv/atoi "x")`, `!atoi: got "x", want an integer`},
		{`(try (joker.strconv/atoi "x") (catch NumberFormatException e :nfe))`, `:nfe`},
		{`(joker.strconv/itoa -7)`, `"-7"`},
		{`(joker.strconv/parse-int "ff" 16 0)`, `255`},
		{`(joker.strconv/parse-int "300" 10 8)`, `!within its range`},
		{`(joker.strconv/parse-int "1" 1 8)`, `!base`},
		{`(joker.strconv/format-int 255 16)`, `"ff"`},
		{`(joker.strconv/format-int 255 99)`, `!base`},
		{`(joker.strconv/parse-bool "T")`, `true`},
		{`(joker.strconv/format-bool false)`, `"false"`},
		{`(joker.strconv/parse-double "1e3")`, `1000.0`},
		{`(joker.strconv/format-double 3.14159 \f 2 64)`, `"3.14"`},
		{`(joker.strconv/format-double 3.14159 \q 2 64)`, `!format-double`},
		{`(joker.strconv/quote "a\nb")`, `"\"a\\nb\""`},
		{`(joker.strconv/quote-to-ascii "é")`, `"\"\\u00e9\""`},
		{`(joker.strconv/unquote "\"a\"")`, `"a"`},
		{`(joker.strconv/unquote "a")`, `!unquote`},
		{`(joker.strconv/quote-char \a)`, `"'a'"`},
		{`(joker.strconv/quote-char "a")`, `!want a character`},
		{`(joker.strconv/printable? \a)`, `true`},
		{`(joker.strconv/can-backquote? "a")`, `true`},
	})
}

func TestFilepath(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.run([]row{
		{`(joker.filepath/join "a" "b" ".." "c.txt")`, `"a/c.txt"`},
		{`(joker.filepath/base "/a/b.txt")`, `"b.txt"`},
		{`(joker.filepath/dir "/a/b.txt")`, `"/a"`},
		{`(joker.filepath/ext "/a/b.txt")`, `".txt"`},
		{`(joker.filepath/abs? "/a")`, `true`},
		{`(= (joker.filepath/abs "x") (str (joker.os/cwd) "/x"))`, `true`},
		{`(joker.filepath/split "/a/b")`, `["/a/" "b"]`},
		{`(joker.filepath/split-list "/a:/b")`, `["/a" "/b"]`},
		{`(joker.filepath/rel "/a/b" "/a/c")`, `"../c"`},
		{`(joker.filepath/rel "/a" "b")`, `!rel: got`},
		{`(joker.filepath/matches? "*.go" "x.go")`, `true`},
		{`(joker.filepath/matches? "[" "x")`, `!matches?: got the pattern`},
		{`joker.filepath/separator`, `"/"`},
		{`joker.filepath/list-separator`, `":"`},
		{`(do (joker.os/mkdir-all "d/e" 0755) (spit "d/b.txt" "b") (spit "d/e/a.txt" "a")
		      (joker.filepath/glob "d/*.txt"))`, `["d/b.txt"]`},
		{`(file-seq "d")`, `("d" "d/b.txt" "d/e" "d/e/a.txt")`},
		{`(map (juxt :name :dir? :size) (remove :dir? (joker.filepath/file-seq "d")))`, `(["d/b.txt" false 1] ["d/e/a.txt" false 1])`},
		{`(file-seq "nowhere")`, `!file-seq: failed to list nowhere: no such file or directory`},
		{`(do (joker.os/symlink "b.txt" "d/l") (= (joker.filepath/eval-symlinks "d/l") (joker.filepath/abs "d/b.txt")))`, `true`},
	})
}

func TestTime(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`joker.time/second`, `1000000000`},
		{`(joker.time/format #inst "2026-01-31T12:00:00Z" joker.time/rfc3339)`, `"2026-01-31T12:00:00Z"`},
		{`(joker.time/parse joker.time/rfc3339 "2026-01-31T12:00:00+02:00")`, `#inst "2026-01-31T10:00:00.000-00:00"`},
		{`(joker.time/parse "2006" "x")`, `!parse: got "x", want a time that looks like "2006"`},
		{`(joker.time/unix #inst "1970-01-01T00:01:00Z")`, `60`},
		{`(= (joker.time/from-unix 60 0) #inst "1970-01-01T00:01:00Z")`, `true`},
		{`(joker.time/from-unix 60 5)`, `#inst "1970-01-01T00:01:00.000000005-00:00"`},
		{`(joker.time/sub #inst "1970-01-01T00:01:00Z" #inst "1970-01-01T00:00:00Z")`, `60000000000`},
		{`(joker.time/add #inst "1970-01-01" joker.time/hour)`, `#inst "1970-01-01T01:00:00.000-00:00"`},
		{`(joker.time/add-date #inst "2026-01-31" 0 1 0)`, `#inst "2026-03-03T00:00:00.000-00:00"`},
		{`(joker.time/day-of-year #inst "2026-02-01")`, `32`},
		{`(joker.time/format (joker.time/in-timezone #inst "2026-07-01T12:00:00Z" "Europe/Vienna") "15:04 MST")`, `"14:00 CEST"`},
		{`(joker.time/in-timezone #inst "2026-07-01" "Mars/Olympus")`, `!got the zone "Mars/Olympus"`},
		{`(joker.time/parse-in-timezone "2006-01-02 15:04" "2026-07-01 12:00" "Europe/Vienna")`, `#inst "2026-07-01T10:00:00.000-00:00"`},
		{`(joker.time/parse-duration "1h30m")`, `5400000000000`},
		{`(joker.time/parse-duration "soon")`, `!parse-duration: got "soon"`},
		{`(joker.time/string 5400000000000)`, `"1h30m0s"`},
		{`(joker.time/hours 5400000000000)`, `1.5`},
		{`(joker.time/minutes 90000000000)`, `1.5`},
		{`(joker.time/seconds 1500000000)`, `1.5`},
		{`(joker.time/round 1700000000 joker.time/second)`, `2000000000`},
		{`(joker.time/truncate 1700000000 joker.time/second)`, `1000000000`},
		{`(let [a (joker.time/now)] (joker.time/sleep 2000000) (<= 2000000 (joker.time/since a) joker.time/minute))`, `true`},
		{`(neg? (joker.time/until #inst "2000-01-01"))`, `true`},
		{`(joker.time/unix "x")`, `!unix: got "x" (string), want a time`},
		{`(compare (joker.time/from-unix 1 2) (joker.time/from-unix 1 1))`, `1`},
	})
}

func TestFormats(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.run([]row{
		{`(joker.csv/csv-seq "a,b\n\"c\nd\",e\n")`, `(["a" "b"] ["c\nd" "e"])`},
		{`(joker.csv/csv-seq "")`, `nil`},
		{`(joker.csv/csv-seq "a;b" {:comma \;})`, `(["a" "b"])`},
		{`(doall (joker.csv/csv-seq "a,b\nc" {:fields-per-record 0}))`, `!csv-seq: line 2`},
		{`(joker.csv/csv-seq "a" {:coma \;})`, `!the key :coma`},
		{`(joker.csv/write-string [["a" 1] ["b,c" nil]])`, `"a,1\n\"b,c\",\n"`},
		{`(do (spit "t.csv" "x,y\n1,2\n") (with-open [f (joker.os/open "t.csv")] (doall (joker.csv/csv-seq f))))`, `(["x" "y"] ["1" "2"])`},
		{`(with-open [f (joker.os/create "o.csv")] (joker.csv/write f [[1 2]] {:use-crlf true}))`, `nil`},
		{`(slurp "o.csv")`, `"1,2\r\n"`},
		{`(joker.yaml/read-string "a: 1\nb: [x, 2.5, true, null]\nc:\n  d: 2026-01-31")`, `{"a" 1, "b" ["x" 2.5 true nil], "c" {"d" #inst "2026-01-31T00:00:00.000-00:00"}}`},
		{`(joker.yaml/read-string "a: {b: 1}" {:keywords? true})`, `{:a {:b 1}}`},
		{`(joker.yaml/read-string "")`, `nil`},
		{`(joker.yaml/read-string "a: [")`, `!read-string: line 1`},
		{`(joker.yaml/read-string "a: &x {k: 1}\nb: {<<: *x, l: 2}")`, `{"a" {"k" 1}, "b" {"k" 1, "l" 2}}`},
		{`(joker.yaml/read-string "a: &x [*x]")`, `!read-string`},
		{`(joker.yaml/read-string "a: 1\nb: {c: 1, d: 2}\na: 3")`, `!line 3: got the key "a" again`},
		{`(joker.yaml/read-string "b: {c: 1, c: 2}" {:keywords? true})`, `!line 1: got the key :c again`},
		{`(joker.yaml/read-string "x: &x {k: 1}\nb: {<<: *x, k: 2}")`, `{"x" {"k" 1}, "b" {"k" 2}}`},
		{`(joker.yaml/write-string {:a 1 :b ["x" nil 1.0 "true"] :c {"d" 'e}})`, `"a: 1\nb:\n  - x\n  - null\n  - 1.0\n  - \"true\"\nc:\n  d: e\n"`},
		{`(let [m {"a" [1 2.5 nil true "x\ny" {"k" []}]}] (= m (joker.yaml/read-string (joker.yaml/write-string m))))`, `true`},
		{`(joker.yaml/write-string inc)`, `!want data`},
		{`(joker.markdown/convert-string "# Hi\n*a*")`, `"<h1 id=\"hi\">Hi</h1>\n<p><em>a</em></p>\n"`},
		{`(joker.markdown/convert-string "<b>x</b>" {:with-unsafe? false})`, `"<p><!-- raw HTML omitted -->x<!-- raw HTML omitted --></p>\n"`},
	})
}

func TestYAMLAliasesAreBuiltOnce(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 40; i++ {
		p, n := string(rune('a'+i/10))+string(rune('0'+i%10)), ""
		_ = n
		prev := string(rune('a'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		b.WriteString(p + ": &" + p + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+", ", 10), ", ") + "]\n")
	}
	w := newWorld(t, stdlib.Config{})
	if err := os.WriteFile(filepath.Join(w.dir, "bomb.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run([]row{{`(count (joker.yaml/read-string (slurp "bomb.yaml")))`, `40`}})
}

// Every function says what it does and how it is called, and no name is defined twice.
func TestEveryFunctionIsDocumented(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	for ns, fns := range stdlib.Namespaces(stdlib.Config{}) {
		seen := map[string]bool{}
		for _, f := range fns {
			if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") || !f.Host || seen[f.Name] {
				t.Errorf("%s/%s: got the doc %q, host %v, twice %v", ns, f.Name, f.Doc, f.Host, seen[f.Name])
			}
			seen[f.Name] = true
			if got := w.eval("(every? vector? '" + f.Arglists + ")"); got != "true" || f.Arglists == "" {
				t.Errorf("%s/%s: got the arglists %s", ns, f.Name, f.Arglists)
			}
		}
	}
}
