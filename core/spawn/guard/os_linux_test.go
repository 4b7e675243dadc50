package guard

import "testing"

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		stat string
		want proc
		ok   bool
	}{
		{"7 (sh) S 3 7 7 0", proc{7, 3, false}, true},
		{"7 (a ) Z 9) S 3 7", proc{7, 3, false}, true},
		{"7 (sh) Z 3 7", proc{7, 3, true}, true},
		{"7 sh S 3", proc{}, false},
		{"7 (sh) S", proc{}, false},
		{"7 (sh) S x", proc{}, false},
	} {
		got, ok := parseStat(7, []byte(c.stat))
		if got != c.want || ok != c.ok {
			t.Errorf("parseStat(%q): got %v %v, want %v %v", c.stat, got, ok, c.want, c.ok)
		}
	}
}
