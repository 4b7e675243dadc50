package value

import "strings"

// Keywords gives up to most names, "name" or "ns/name", of the keywords of trusted code that start with prefix, in no order.
// Those that agents made up are not among them: they must not turn up at an operator's prompt.
func (in *Interner) Keywords(prefix string, most int) []string {
	in.mu.RLock()
	defer in.mu.RUnlock()
	var out []string
	for full := range in.keywords.trusted {
		if len(out) == most {
			break
		}
		if strings.HasPrefix(full, prefix) {
			out = append(out, full)
		}
	}
	return out
}
