package lisp

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/reflection-dev/zeno/lisp/value"
)

// What a builder pins it takes back, to the byte: one that takes back more raises the limit of live bytes at each call. str
// once did, by what the allocator rounds up.
func TestBuildersTakeBackWhatTheyPin(t *testing.T) {
	files, err := filepath.Glob("testdata/*.facts")
	if err != nil || len(files) < 5 {
		t.Fatalf("facts: got %d files, %v", len(files), err)
	}
	exprs := []string{`(str 1 "a long text, longer than a first piece of memory")`,
		`(format "%s and %5d" "a long text, longer than a first piece of memory" 1)`}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(\(.*)\n→ [^!]`).FindAllSubmatch(b, -1) {
			exprs = append(exprs, string(m[1]))
		}
	}
	if len(exprs) < 500 {
		t.Fatalf("got %d expressions, want at least 500: the files are not read right", len(exprs))
	}
	rt := New()
	env := rt.NewEnv(EnvConfig{})
	defer env.Close()
	for _, e := range exprs {
		_, _ = env.Do(context.Background(), func(th *value.Thread) value.Value {
			v := evalSource(th, rt, e, "fact", 1, 1)
			_ = value.PrStr(th, v)
			if n := th.Pinned(); n != 0 {
				t.Errorf("%s: got %d bytes pinned afterwards, want 0", e, n)
			}
			return value.Nil
		})
	}
}
