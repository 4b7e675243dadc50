package cli

import (
	"regexp"
	"strings"
	"testing"
)

func TestColoured(t *testing.T) {
	for in, want := range map[string]string{
		`{:a 1}`:              `{<36>:a<0> <33>1<0>}`,
		`"a \" :b 1"`:         `<32>"a \" :b 1"<0>`,
		`[a1 -2.5 1/3 2N \x]`: `[a1 <33>-2.5<0> <33>1/3<0> <33>2N<0> <32>\x<0>]`,
		`(nil true nilly)`:    `(<35>nil<0> <35>true<0> nilly)`,
		`#'user/x - +`:        `#'user/x - +`,
		`#{::u/é "né"}`:       `#{<36>::u/é<0> <32>"né"<0>}`,
		"[1]\n; cut":          "[<33>1<0>]\n<2>; cut<0>",
		`"open`:               `"open`,
	} {
		got := regexp.MustCompile("\x1b\\[([0-9]+)m").ReplaceAllString(coloured(in), "<$1>")
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		if plain := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured(in), ""); plain != in {
			t.Errorf("%s: without its colours it is %s", in, plain)
		}
	}
	if long := strings.Repeat("1 ", maxColoured); coloured(long) != long {
		t.Error("a long text: got colours, want none")
	}
}
