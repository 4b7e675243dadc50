package gateway

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	tests := []struct {
		name  string
		reply Reply
		want  string
	}{
		{"scalar", Reply{Value: "3"}, "=> 3"},
		{"nothing", Reply{}, "=> nil"},
		{"printed", Reply{Value: "nil", Out: "a\nb\n"}, "=> nil\n\n--- printed ---\na\nb"},
		{"unicode", Reply{Value: `"héllo 世界 🙂"`}, `=> "héllo 世界 🙂"`},
		{"invalid UTF-8", Reply{Value: "a\xffb", Out: "\xc3("}, "=> a\ufffdb\n\n--- printed ---\n\ufffd("},
		{"bare error", Reply{Err: &EvalError{Kind: "user", Message: "no"}}, "error (user): no"},
		{"whole error",
			Reply{Out: "so far", Stats: Stats{Left: "steps 10 of 20"}, Err: &EvalError{Kind: "unresolved",
				Message: "cannot resolve dif", Line: 2, Column: 4, Caret: "(a (dif 1))\n    ^\n",
				Hint: "did you mean `diff`?", Data: "{:sym dif}", Stack: []string{"(f …) 1:1", "(g …) 2:1"}}},
			"error (unresolved) at 2:4: cannot resolve dif\n(a (dif 1))\n    ^\nhint: did you mean `diff`?\n" +
				"data: {:sym dif}\nstack:\n  (f …) 1:1\n  (g …) 2:1\nbudget left: steps 10 of 20\n\n--- printed ---\nso far"},
		{"no kind", Reply{Err: &EvalError{}}, "error (internal): no message"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, render(tt.reply, 0)); diff != "" {
				t.Errorf("render (-want +got):\n%s", diff)
			}
		})
	}
}

// A long value is cut between runes, at the stated size, with the exact count.
func TestRenderCutsLongValues(t *testing.T) {
	value := strings.Repeat("世", 10_000) // 30000 bytes
	if whole := render(Reply{Value: value}, 1<<20); whole != "=> "+value {
		t.Fatalf("with room for it: got %d bytes, want all of them", len(whole))
	}
	got := render(Reply{Value: value}, 4096)
	if len(got) > 4096 || !utf8.ValidString(got) {
		t.Fatalf("got %d bytes, valid %v, want at most 4096 valid ones", len(got), utf8.ValidString(got))
	}
	kept := strings.Count(got, "世") * 3
	if want := fmt.Sprintf("\n… %d of 30000 bytes left out; ", len(value)-kept); !strings.Contains(got, want) {
		t.Errorf("got %q, want it to hold %q", got[kept:], want)
	}
	for _, want := range []string{"(take 20", "(subs ", "(def v"} {
		if !strings.Contains(got, want) {
			t.Errorf("the note: got %q, want it to name %s", got[kept:], want)
		}
	}
}

// Whatever a Host answers, the text stays within the limit and valid, and each
// of two long parts keeps room.
func TestRenderIsBounded(t *testing.T) {
	long := strings.Repeat("x\xff世", 40_000)
	var stack []string
	for range 100 {
		stack = append(stack, long)
	}
	replies := map[string]Reply{
		"value":         {Value: long},
		"out":           {Value: "nil", Out: long},
		"value and out": {Value: long, Out: long},
		"error": {Out: long, Stats: Stats{Left: long}, Err: &EvalError{Kind: long, Message: long, Line: 1, Column: 1,
			Caret: long, Hint: long, Data: long, Stack: stack}},
		"error alone": {Stats: Stats{Left: long}, Err: &EvalError{Kind: long, Message: long, Line: 1, Column: 1,
			Caret: long, Hint: long, Data: long, Stack: stack}},
	}
	for name, r := range replies {
		for _, limit := range []int{1, MinResult, 5000, DefaultMaxResult} {
			got := render(r, limit)
			if n := max(limit, MinResult); len(got) > n || !utf8.ValidString(got) {
				t.Errorf("%s at %d: got %d bytes, valid %v, want at most %d valid ones", name, limit, len(got), utf8.ValidString(got), n)
			}
			if r.Out != "" && !strings.Contains(got, "--- printed ---\nx") {
				t.Errorf("%s at %d: the printed output got no room", name, limit)
			}
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		in   string
		room int
		want string
		left int
	}{
		{"abc", 3, "abc", 0},
		{"abc", 2, "ab", 1},
		{"abc", -1, "", 3},
		{"世界", 5, "世", 3},
		{"世界", 2, "", 6},
		{"a\xff", 4, "a\ufffd", 0},
		{"a\xffb", 3, "a", 2},
		{"\xff\xff\xff\xff", 6, "\ufffd\ufffd", 2},
		{"", 0, "", 0},
	}
	for _, tt := range tests {
		if got, left := cut(tt.in, tt.room); got != tt.want || left != tt.left {
			t.Errorf("cut(%q, %d): got %q, %d, want %q, %d", tt.in, tt.room, got, left, tt.want, tt.left)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("世界\xff", 4)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, s string, room int) {
		got, left := cut(s, room)
		if len(got) > max(room, 0) || !utf8.ValidString(got) || left < 0 || left > len(s) {
			t.Errorf("cut(%q, %d): got %q, %d", s, room, got, left)
		}
		if utf8.ValidString(s) && got+s[len(s)-left:] != s {
			t.Errorf("cut(%q, %d): got %q and %d left, which do not add up", s, room, got, left)
		}
	})
}

func TestDescribe(t *testing.T) {
	got := describe(Surface{Notes: "Repo acme/site.", Capabilities: []Capability{
		{Name: "diff", Arglists: []string{"[pr]", "[pr path]"}, Doc: "Unified diff\nof a pull request.\n\nMore.", Effect: "read"},
		{Name: "merge!", Arglists: []string{"[]"}, Approve: true},
		{Name: "bare"},
	}})
	for _, want := range []string{"\nRepo acme/site.\n",
		"  (diff pr) (diff pr path) [read] Unified diff of a pull request.\n",
		"  (merge!) [a person approves each call]\n", "  bare\n", "(tools)"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to hold %q", got, want)
		}
	}
	if i := strings.Index(got, "(tools)"); i > 1024 {
		t.Errorf("(tools) stands at byte %d, want it where a client that cuts at 2 KiB keeps it", i)
	}
	many := make([]Capability, 5000)
	for i := range many {
		many[i] = Capability{Name: fmt.Sprint("cap", i), Doc: strings.Repeat("word ", 500)}
	}
	if got := describe(Surface{Capabilities: many, Notes: strings.Repeat("n", 1<<20)}); len(got) > maxDescription+200 ||
		!strings.Contains(got, "more: call (tools)") {
		t.Errorf("5000 capabilities: got %d bytes ending in %q", len(got), got[len(got)-60:])
	}
}
