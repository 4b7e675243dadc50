package observe

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Other stands for the values of a label that came after it had its fill.
const Other = "other"

const (
	maxLabel  = 64  // bytes of a label's value
	maxValues = 100 // values of one label: each is a time series of its own
)

// labels are the values that one label has had. The zero labels is ready.
type labels struct {
	mu   sync.Mutex
	seen map[string]bool
}

// of is v as a value of the label.
func (l *labels) of(v string) string {
	v = short(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[v] {
		return v
	}
	if len(l.seen) >= maxValues {
		return Other
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[v] = true
	return v
}

// short makes a value of any text: valid, and not long.
func short(v string) string {
	v = strings.ToValidUTF8(v, "?")
	if len(v) <= maxLabel {
		return v
	}
	cut := maxLabel
	for cut > 0 && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return v[:cut]
}
