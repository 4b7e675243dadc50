package read_test

import (
	"io"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/read"
)

// BenchmarkRead reads ordinary code.
func BenchmarkRead(b *testing.B) {
	src := strings.Repeat(`
(defn group-lines
  "Groups the lines of a text by their first word, keeping the order of each group."
  [text {:keys [sep limit] :or {sep " " limit 10}}]
  (let [lines (str/split-lines text) ; one a line
        word  (fn [line] (first (str/split line #"\s+")))]
    (->> lines
         (remove str/blank?)
         (map #(vector (word %) %))
         (take limit)
         (reduce (fn [acc [k v]] (update acc k (fnil conj []) v)) {}))))
`, 500)
	o := program()
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		r := read.New(trusted(), src, o)
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
