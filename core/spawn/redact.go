package spawn

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// hidden stands in place of a secret.
const hidden = "[secret]"

// redactor removes secrets from texts, in the spellings they take in JSON and URLs too.
type redactor struct {
	replacer *strings.Replacer
	longest  int
}

func newRedactor(secrets ...string) *redactor {
	var forms []string
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		forms = append(forms, secret, url.QueryEscape(secret), url.PathEscape(secret))
		if quoted, err := json.Marshal(secret); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.Sort(forms)
	forms = slices.Compact(forms)
	// Longest first: where one secret holds another, the whole of it must go.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	r := &redactor{}
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
		r.longest = max(r.longest, len(form))
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// text returns s without secrets.
func (r *redactor) text(s string) string { return r.replacer.Replace(s) }

// short returns the beginning of s without secrets: redacted first, since a cut could hide half a secret.
func (r *redactor) short(s string, limit int) string {
	s = r.text(s)
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// result redacts every text of res.
func (r *redactor) result(res *Result) {
	for _, field := range []*string{&res.Answer, &res.Session, &res.Error, &res.Stderr} {
		*field = strings.ToValidUTF8(r.text(*field), "�")
	}
	for i := range res.Advice {
		res.Advice[i].Text = strings.ToValidUTF8(r.text(res.Advice[i].Text), "�")
	}
}

// tail keeps the end of a stream.
type tail struct {
	limit, spare int
	data         []byte
	dropped      bool
}

// newTail keeps limit bytes, and enough in front of them to recognise a secret that the cut would split.
func newTail(limit int, r *redactor) *tail { return &tail{limit: limit, spare: r.longest} }

func (t *tail) write(p []byte) {
	t.data = append(t.data, p...)
	if keep := t.limit + t.spare; len(t.data) > 2*keep {
		t.data = append(t.data[:0], t.data[len(t.data)-keep:]...)
		t.dropped = true
	}
}

// text returns the end without secrets: the spare, which may begin inside one, is cut away after redacting.
func (t *tail) text(r *redactor) string {
	data := t.data
	cut := t.dropped
	if keep := t.limit + t.spare; len(data) > keep {
		data, cut = data[len(data)-keep:], true
	}
	s := r.text(string(data))
	if cut && len(s) > t.spare {
		s = s[t.spare:]
	} else if cut {
		s = ""
	}
	if len(s) > t.limit {
		s = s[len(s)-t.limit:]
	}
	return strings.ToValidUTF8(s, "")
}
