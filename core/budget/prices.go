package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Price is what a million tokens of a model cost. Input includes neither cache reads nor cache writes.
type Price struct {
	In, Out               Money
	CacheRead, CacheWrite Money // 0: as In
}

// PricesAsOf is when the built-in prices were last compared with what the makers publish.
const PricesAsOf = "2026-11"

// Prices maps model names to prices. A name may end in "*", which stands for any rest; the longest that fits counts.
type Prices map[string]Price

// DefaultPrices are list prices as of PricesAsOf, from the price lists of Anthropic, OpenAI and Google; where a model has
// several (by the length of the prompt, or of the time it is cached), the highest. What was on offer for a time only is
// not here. An instance replaces what has changed: zeno asks nobody.
func DefaultPrices() Prices {
	p := func(in, out, read, write float64) Price {
		return Price{In: Dollars(in), Out: Dollars(out), CacheRead: Dollars(read), CacheWrite: Dollars(write)}
	}
	return Prices{
		"claude-fable-5-1*":     p(10, 50, 0.25, 20),
		"claude-fable-5*":       p(10, 50, 1, 20),
		"claude-mythos-5-1*":    p(10, 50, 0.25, 20),
		"claude-mythos-5*":      p(10, 50, 1, 20),
		"claude-opus-5-5*":      p(4, 20, 0.2, 8),
		"claude-opus-5*":        p(5, 25, 0.5, 10),
		"claude-opus-4-8*":      p(5, 25, 0.5, 10),
		"claude-opus-4-7*":      p(5, 25, 0.5, 10),
		"claude-opus-4-6*":      p(5, 25, 0.5, 10),
		"claude-opus-4-5*":      p(5, 25, 0.5, 10),
		"claude-opus-4-1*":      p(15, 75, 1.5, 30),
		"claude-opus-4-2025*":   p(15, 75, 1.5, 30),
		"claude-sonnet-5-5*":    p(2, 10, 0.2, 4),
		"claude-sonnet-5*":      p(2, 10, 0.2, 4),
		"claude-sonnet-4-6*":    p(3, 15, 0.3, 6),
		"claude-sonnet-4-5*":    p(6, 22.5, 0.6, 12),
		"claude-sonnet-4-2025*": p(6, 22.5, 0.6, 12),
		"claude-haiku-5-5*":     p(0.5, 2.5, 0.05, 1),
		"claude-haiku-4-5*":     p(1, 5, 0.1, 2),
		"gpt-5.6-sol":           p(10, 45, 1, 12.5),
		"gpt-5.6-terra":         p(4, 18, 0.4, 5),
		"gpt-5.6-luna":          p(0.4, 1.8, 0.04, 0.5),
		"gpt-5.5":               p(10, 45, 1, 0),
		"gpt-5.4":               p(5, 22.5, 0.5, 0),
		"gpt-5.4-mini":          p(0.75, 4.5, 0.075, 0),
		"gpt-5.4-nano":          p(0.2, 1.25, 0.02, 0),
		"gpt-5.3-codex":         p(1.75, 14, 0.175, 0),
		"gpt-5.2":               p(1.75, 14, 0.175, 0),
		"gpt-5.2-codex":         p(1.75, 14, 0.175, 0),
		"gpt-5":                 p(1.25, 10, 0.125, 0),
		"gpt-5-mini":            p(0.25, 2, 0.025, 0),
		"gpt-5-nano":            p(0.05, 0.4, 0.005, 0),
		"gpt-4.1":               p(2, 8, 0.5, 0),
		"gpt-4.1-mini":          p(0.4, 1.6, 0.1, 0),
		"gemini-3.1-pro*":       p(4, 18, 0.4, 0),
		"gemini-3.5-flash*":     p(1.5, 9, 0.15, 0),
		"gemini-3-flash*":       p(0.5, 3, 0.05, 0),
		"gemini-2.5-pro":        p(2.5, 15, 0.625, 0),
		"gemini-2.5-flash":      p(0.3, 2.5, 0.075, 0),
	}
}

// Find gives the price of a model. A provider in front, as in "anthropic/claude-…", may be left out of the table.
func (p Prices) Find(model string) (Price, bool) {
	for model != "" {
		if price, ok := p.find(model); ok {
			return price, true
		}
		_, rest, ok := strings.Cut(model, "/")
		if !ok {
			break
		}
		model = rest
	}
	return Price{}, false
}

func (p Prices) find(model string) (Price, bool) {
	if price, ok := p[model]; ok {
		return price, true
	}
	best := ""
	for name := range p {
		if stem, ok := strings.CutSuffix(name, "*"); ok && strings.HasPrefix(model, stem) && len(name) > len(best) {
			best = name
		}
	}
	price, ok := p[best]
	return price, ok
}

// Check reports the first price that is none.
func (p Prices) Check() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if strings.TrimSuffix(name, "*") == "" || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			return fmt.Errorf("prices: got the name %q, want a model's, perhaps with a * at its end", name)
		}
		if x := p[name]; x.In < 0 || x.Out < 0 || x.CacheRead < 0 || x.CacheWrite < 0 {
			return fmt.Errorf("prices: %s: got a negative price, want US dollars for a million tokens", name)
		}
	}
	return nil
}

// Usage is what a CLI has reported so far: tokens in include cache reads and writes.
type Usage struct {
	TokensIn, TokensOut   int64
	CacheRead, CacheWrite int64
	USD                   float64 // 0 where it reports none
}

// Cost is what u costs at price p.
func (p Price) Cost(u Usage) Money {
	in := min(max(u.TokensIn, 0), most)
	read := min(max(u.CacheRead, 0), in)
	write := min(max(u.CacheWrite, 0), in-read)
	or := func(m Money) Money {
		if m == 0 {
			return p.In
		}
		return m
	}
	total := add(int64(cost(in-read-write, p.In)), int64(cost(min(u.TokensOut, most), p.Out)))
	total = add(total, int64(cost(read, or(p.CacheRead))))
	return Money(add(total, int64(cost(write, or(p.CacheWrite)))))
}
