package egress

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model replaces on the whole text, by the definition: the union of all occurrences.
func model(patterns []pattern, s string) string {
	type span struct{ from, to, with int }
	var all []span
	for i := range len(s) {
		best := -1
		for j, p := range patterns {
			if p.find != "" && strings.HasPrefix(s[i:], p.find) && (best < 0 || len(p.find) > len(patterns[best].find)) {
				best = j
			}
		}
		if best < 0 {
			continue
		}
		end := i + len(patterns[best].find)
		if n := len(all); n > 0 && i < all[n-1].to {
			all[n-1].to = max(end, all[n-1].to)
			continue
		}
		all = append(all, span{i, end, best})
	}
	var b strings.Builder
	done := 0
	for _, sp := range all {
		b.WriteString(s[done:sp.from])
		b.WriteString(patterns[sp.with].replace)
		done = sp.to
	}
	b.WriteString(s[done:])
	return b.String()
}

// stream gives text to a rewriter in the given pieces.
func stream(m *matcher, s string, cut func(rest int) int) string {
	w := &rewriter{m: m}
	var out []byte
	for len(s) > 0 {
		n := cut(len(s))
		out = w.feed(out, []byte(s[:n]))
		s = s[n:]
	}
	return string(w.finish(out))
}

func TestRewriterIsReplaceOnTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{1,6}|abcab|c`)
		finds := rapid.SliceOfNDistinct(word, 1, 6, rapid.ID).Draw(t, "finds")
		var ps []pattern
		for _, f := range finds {
			ps = append(ps, pattern{f, "<" + strings.ToUpper(f) + ">"})
		}
		text := rapid.StringMatching(`[abcx]{0,60}`).Draw(t, "text")
		m := newMatcher(ps)
		want := model(ps, text)
		got := stream(m, text, func(rest int) int { return rapid.IntRange(1, rest).Draw(t, "cut") })
		if got != want {
			t.Fatalf("%v in %q\n got %q\nwant %q", finds, text, got, want)
		}
		if got := m.text(text); got != want {
			t.Fatalf("text: %v in %q\n got %q\nwant %q", finds, text, got, want)
		}
	})
}

func FuzzRewriter(f *testing.F) {
	f.Add("secret", "cretse", "a secretsecret", uint8(3))
	f.Add("aaaaaaaa", "aa", strings.Repeat("a", 100), uint8(1))
	f.Add("abc", "bcd", "xabcdx", uint8(2))
	f.Add("abcdefg", "de", "abcdeabcdefg", uint8(4))
	f.Fuzz(func(t *testing.T, a, b, text string, step uint8) {
		ps := []pattern{{a, "<A>"}, {b, "<B>"}}
		if a == b {
			ps = ps[:1]
		}
		want := model(ps, text)
		if got := stream(newMatcher(ps), text, func(rest int) int { return min(rest, int(step)+1) }); got != want {
			t.Fatalf("%q %q in %q\n got %q\nwant %q", a, b, text, got, want)
		}
	})
}

// What is held back is only what may begin a pattern, and memory does not grow with the text.
func TestRewriterHoldsLittle(t *testing.T) {
	m := newMatcher([]pattern{{"secret-value", "S"}, {"aaaaaaaa", "A"}})
	w := &rewriter{m: m}
	for _, c := range []struct {
		in, out string
		held    int
	}{
		{"data: x\n\n", "data: x\n\n", 0},
		{"data: sec", "data: ", 3},
		{"ond", "second", 0},
		{"the secret-value", "the S", 0}, // nothing longer can begin with it
		{"s", "", 1},
		{"x", "sx", 0},
	} {
		if got := string(w.feed(nil, []byte(c.in))); got != c.out || len(w.held) != c.held {
			t.Errorf("%q: got %q with %d held, want %q with %d", c.in, got, len(w.held), c.out, c.held)
		}
	}
	for range 1000 {
		w.feed(nil, []byte(strings.Repeat("a", 1000)))
	}
	if len(w.held) > 8 || len(w.regions) > 1 {
		t.Errorf("got %d bytes and %d regions held in a run of a pattern that overlaps itself, want at most 8 and 1", len(w.held), len(w.regions))
	}
}

// A text that is to keep its length does, and holds no pattern either.
func TestRewriterKeepsTheLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		finds := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{1,6}|abcab|c`), 1, 4, rapid.ID).Draw(t, "finds")
		var ps []pattern
		for _, f := range finds {
			ps = append(ps, pattern{f, rapid.SampledFrom([]string{"", "<>", "<<<<<<<<>"}).Draw(t, "with")})
		}
		text := rapid.StringMatching(`[abcx]{0,60}`).Draw(t, "text")
		w := &rewriter{m: newMatcher(ps), keep: true}
		var out []byte
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			out = w.feed(out, []byte(rest[:n]))
			rest = rest[n:]
		}
		out = w.finish(out)
		if len(out) != len(text) {
			t.Fatalf("%v in %q: got %q, want %d bytes", finds, text, out, len(text))
		}
		for _, f := range finds {
			if strings.Contains(string(out), f) {
				t.Fatalf("%q in %q", f, out)
			}
		}
		for i := range out { // what is no part of an occurrence stays where it was
			if out[i] != text[i] && !strings.ContainsRune("<>*", rune(out[i])) {
				t.Fatalf("%v in %q: got %q", finds, text, out)
			}
		}
	})
}

func BenchmarkRewriter(b *testing.B) {
	s := bound{env: "TOKEN", placeholder: "$MSB_TOKEN", value: "ghp_0123456789abcdefghijABCDEFGHIJ"}
	m := newMatcher(scrubPatterns([]bound{s}))
	for name, text := range map[string]string{
		"zeros":  strings.Repeat("\x00", 1<<16),
		"json":   strings.Repeat(`{"type":"content_block_delta","index":0,"delta":{"text":"Hello there"}}`+"\n", 900),
		"base64": strings.Repeat("Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqQUJDREVGR0hJSg", 1400),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			w, out := &rewriter{m: m}, make([]byte, 0, 1<<18)
			for b.Loop() {
				out = w.feed(out[:0], []byte(text))
			}
		})
	}
}
