package backend

import "testing"

// A budget for tokens or money needs a stream that tells of both directions.
func TestReportsUsage(t *testing.T) {
	for name, b := range Table() {
		late := name == "codex" || name == "gemini" // they tell at their end
		if reports, live := b.ReportsUsage(); !reports || live == late {
			t.Errorf("%s: got %v, live %v; its CLI reports usage", name, reports, live)
		}
	}
	if reports, _ := (Backend{Stream: Stream{Rules: []Rule{{Take: map[string][]string{"tokens-in": {"a"}, "answer": {"b"}}}}}}).ReportsUsage(); reports {
		t.Error("a stream that tells of tokens in alone: got true")
	}
}

// No sum of a stream's numbers overflows, however often it claims the most.
func TestUsageDoesNotOverflow(t *testing.T) {
	r := NewReader(Stream{Rules: []Rule{{Take: map[string][]string{"tokens-in": {"i"}, "tokens-out": {"o"}, "usd": {"u"}, "answer": {"a"}}}}})
	r.sum = Usage{TokensIn: maxTokens - 5, TokensOut: maxTokens, USD: maxUSD / 2}
	last := r.sum
	for range 20 {
		r.takeUsage(&Update{}, r.rules[0], nil, map[string]any{"i": 1e300, "o": 1e12, "u": 1e308})
		now := r.sum
		if now.TokensIn < last.TokensIn || now.TokensOut < last.TokensOut || now.USD < last.USD {
			t.Fatalf("got %+v after %+v, want no less", now, last)
		}
		last = now
	}
	if last.TokensIn != maxTokens || last.TokensOut != maxTokens {
		t.Errorf("got %+v, want the most that is counted", last)
	}
}
