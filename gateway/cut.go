package gateway

import (
	"strings"
	"unicode/utf8"
)

// cut returns the beginning of s as valid UTF-8 of at most room bytes, cut
// between two runes, and how many bytes of s it left out. A byte that is no
// UTF-8 becomes U+FFFD and counts as one byte of s. Its work is bounded by
// room, however long s is.
func cut(s string, room int) (text string, left int) {
	room = max(room, 0)
	if len(s) <= room {
		if utf8.ValidString(s) {
			return s, 0
		}
	} else if head := s[:boundary(s, room)]; utf8.ValidString(head) {
		return head, len(s) - len(head)
	}
	var b strings.Builder
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if b.Len()+utf8.RuneLen(r) > room {
			break
		}
		b.WriteRune(r)
		i += n
	}
	return b.String(), len(s) - i
}

// boundary returns the last place in s, at or before max, where a rune begins.
func boundary(s string, max int) int {
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return max
}
