package spawn

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzLines holds that cutting a stream into lines does not depend on how it arrives, and that no line is over the limit.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\n", "a\nb", "a\n\nb\n", "0123456789abcdef\nx\n", "\x00\xff\n"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		const limit = 10
		var want []string
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			switch {
			case len(line) > limit:
				want = append(want, "too long")
			case len(line) > 0:
				want = append(want, string(line))
			}
		}
		var got []string
		l := newLines(limit, func(line []byte, skipped bool) {
			if skipped {
				line = []byte("too long")
			}
			got = append(got, string(line))
		})
		for chunk := range slices.Chunk(data, int(step)+1) {
			l.write(chunk)
		}
		l.end()
		if !slices.Equal(got, want) {
			t.Errorf("%q in steps of %d: got %q, want %q", data, step+1, got, want)
		}
	})
}
