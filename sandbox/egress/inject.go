package egress

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// mark begins every placeholder.
const mark = "$MSB_"

// marks are the mark as it may stand in base64.
func base64Marks() []string {
	var out []string
	for _, enc := range encodings {
		for shift := range 3 {
			out = append(out, base64Core(enc, mark, shift))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// injector puts secrets into requests to one host. own are bound to it and travel over verified TLS; others are not.
type injector struct {
	own, others []bound
	marks       []string
	used        map[string]bool // names of own that were put in
	kept        map[string]bool // names of others, or of own in places they are not for, whose placeholder went as it was
}

// header puts secrets into the values of h, in place.
func (j *injector) header(h http.Header) {
	for name, values := range h {
		for i, v := range values {
			if strings.Contains(v, mark) {
				v = j.replace(v)
			}
			if name == "Authorization" {
				v = j.basic(v)
			}
			if j.mayHoldBase64(v) {
				v = j.base64Runs(v)
			}
			values[i] = v
		}
	}
}

func (j *injector) mayHoldBase64(s string) bool {
	return slices.ContainsFunc(j.marks, func(m string) bool { return strings.Contains(s, m) })
}

// replace puts values in the place of placeholders. A value that no header can hold stays out.
func (j *injector) replace(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, mark)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		own, other := longest(j.own, s), longest(j.others, s)
		switch {
		case own != nil && (other == nil || len(own.placeholder) >= len(other.placeholder)) && !strings.ContainsAny(own.value, "\r\n\x00"):
			j.used[own.env] = true
			b.WriteString(own.value)
			s = s[len(own.placeholder):]
			continue
		case other != nil:
			j.kept[other.env] = true
		}
		b.WriteString(mark)
		s = s[len(mark):]
	}
}

// longest gives the secret with the longest placeholder that s begins with.
func longest(secrets []bound, s string) *bound {
	var found *bound
	for i := range secrets {
		if b := &secrets[i]; strings.HasPrefix(s, b.placeholder) && (found == nil || len(b.placeholder) > len(found.placeholder)) {
			found = b
		}
	}
	return found
}

// basic puts secrets into Basic credentials.
func (j *injector) basic(v string) string {
	scheme, rest, ok := strings.Cut(v, " ")
	if !ok || !strings.EqualFold(scheme, "basic") {
		return v
	}
	rest = strings.TrimSpace(rest)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		b, err := enc.DecodeString(rest)
		if err != nil {
			continue
		}
		if !bytes.Contains(b, []byte(mark)) {
			return v
		}
		return scheme + " " + enc.EncodeToString([]byte(j.replace(string(b))))
	}
	return v
}

// base64Runs looks into every run of base64 characters of s. A run may begin in the middle of what was encoded only if
// something else is glued to it, so each of the four ways to group its characters is tried.
func (j *injector) base64Runs(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := 0
		for n < len(s) && base64Char(s[n]) {
			n++
		}
		run := s[:n]
		s = s[n:]
		pad := len(s) - len(strings.TrimLeft(s, "="))
		run, pad = j.base64Run(run, pad)
		b.WriteString(run)
		for ; pad > 0; pad-- {
			b.WriteByte('=')
		}
		s = strings.TrimLeft(s, "=")
		for n = 0; n < len(s) && !base64Char(s[n]); n++ {
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

func base64Char(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// base64Run rewrites one run and gives it with its padding.
func (j *injector) base64Run(run string, pad int) (string, int) {
	if !j.mayHoldBase64(run) {
		return run, pad
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(run, "-_") {
		enc = base64.RawURLEncoding
	}
	for skip := range min(4, len(run)) {
		b, err := enc.DecodeString(run[skip:])
		if err != nil || !bytes.Contains(b, []byte(mark)) {
			continue
		}
		text := j.replace(string(b))
		if text == string(b) {
			return run, pad
		}
		out := run[:skip] + enc.EncodeToString([]byte(text))
		if pad > 0 {
			pad = (3 - len(text)%3) % 3
		}
		return out, pad
	}
	return run, pad
}

// query puts the secrets that ask for it into a query, and notes the others.
func (j *injector) query(raw string) string {
	if !strings.Contains(raw, mark) && !strings.Contains(raw, "%24MSB_") {
		return raw
	}
	var ps []pattern
	for i := range j.own {
		s := &j.own[i]
		escaped := "%24" + s.placeholder[1:]
		if !strings.Contains(raw, s.placeholder) && !strings.Contains(raw, escaped) {
			continue
		}
		if !s.query {
			j.kept[s.env] = true
			continue
		}
		j.used[s.env] = true
		ps = append(ps, pattern{s.placeholder, url.QueryEscape(s.value)}, pattern{escaped, url.QueryEscape(s.value)})
	}
	return newMatcher(ps).text(raw)
}

// bodyPatterns gives what is replaced in a body of a type, for the secrets that ask for it.
func bodyPatterns(own []bound, contentType string) []pattern {
	var ps []pattern
	for _, s := range own {
		if !s.body {
			continue
		}
		value := s.value
		switch {
		case strings.Contains(contentType, "json"):
			value = jsonEscape(value)
		case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
			value = url.QueryEscape(value)
		}
		ps = append(ps, pattern{s.placeholder, value}, pattern{"%24" + s.placeholder[1:], url.QueryEscape(s.value)})
	}
	return ps
}

// names lists a set in order.
func sorted(set map[string]bool) []string {
	if len(set) == 0 {
		return nil
	}
	out := make([]string, 0, len(set))
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
