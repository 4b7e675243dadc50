package journal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// hidden stands in place of a secret.
const hidden = "[secret]"

// minSecret is the shortest value that can be hidden without making nonsense of every text.
const minSecret = 4

// Secrets are values that must not be recorded. The zero Secrets hides nothing. It is safe for concurrent use.
type Secrets struct {
	mu     sync.Mutex
	counts map[string]int
	forms  atomic.Pointer[forms]
}

// forms are the secrets in all spellings.
type forms struct {
	replacer *strings.Replacer
	texts    []string // longest first
}

// Hide adds values, until forget is called. Those shorter than 4 bytes are left out: they would make nonsense of every
// text.
func (s *Secrets) Hide(values ...string) (forget func()) {
	s.change(values, 1)
	return sync.OnceFunc(func() { s.change(values, -1) })
}

func (s *Secrets) change(values []string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	for _, v := range values {
		if len(v) < minSecret {
			continue
		}
		if s.counts[v] += by; s.counts[v] <= 0 {
			delete(s.counts, v)
		}
	}
	var texts []string
	for v := range s.counts {
		texts = append(texts, spellings(v)...)
	}
	slices.SortFunc(texts, func(a, b string) int { // where one holds another, the whole of it must go
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	texts = slices.Compact(texts)
	pairs := make([]string, 0, 2*len(texts))
	for _, t := range texts {
		pairs = append(pairs, t, hidden)
	}
	s.forms.Store(&forms{strings.NewReplacer(pairs...), texts})
}

// spellings are the ways a secret is written in other texts.
func spellings(v string) []string {
	out := []string{v, url.QueryEscape(v), url.PathEscape(v), base64.StdEncoding.EncodeToString([]byte(v)),
		base64.RawURLEncoding.EncodeToString([]byte(v))}
	if quoted, err := json.Marshal(v); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	return append(out, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v))
}

// cut is how the end of a text that was shortened is marked.
const cut = "…"

// Text gives s without secrets. Where s was cut inside a secret, what is left of it goes too.
func (s *Secrets) Text(text string) string {
	f := s.forms.Load()
	if f == nil || len(f.texts) == 0 || text == "" {
		return text
	}
	text = f.replacer.Replace(text)
	head, short := strings.CutSuffix(text, cut)
	if !short {
		return text
	}
	for _, secret := range f.texts {
		for n := min(len(secret)-1, len(head)); n >= minSecret; n-- {
			if strings.HasSuffix(head, secret[:n]) {
				return head[:len(head)-n] + hidden + cut
			}
		}
	}
	return text
}

// Event gives e without secrets; it shares no data with e where something had to go.
func (s *Secrets) Event(e Event) Event {
	if f := s.forms.Load(); f == nil || len(f.texts) == 0 {
		return e
	}
	for _, t := range []*string{&e.Kind, &e.Role, &e.Spawn, &e.Outcome} {
		*t = s.Text(*t)
	}
	if e.Data != nil {
		e.Data, _ = s.value(e.Data).(map[string]any)
	}
	return e
}

func (s *Secrets) value(v any) any {
	switch v := v.(type) {
	case nil, bool, int, int64, uint64, float64:
		return v
	case string:
		return s.Text(v)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = s.value(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[s.Text(k)] = s.value(x)
		}
		return out
	}
	return s.other(v)
}

// other is value for what is none of JSON's own types: it becomes what it is recorded as.
func (s *Secrets) other(v any) any {
	if k := reflect.ValueOf(v).Kind(); k >= reflect.Bool && k <= reflect.Complex128 {
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v // it is refused where it is encoded
	}
	data, err := parsePayload([]byte(`{"v":` + string(text) + `}`))
	if err != nil {
		return v
	}
	return s.value(data["v"])
}

// Redacting is a Store that takes secrets out of events before it hands them on.
type Redacting struct {
	store   Store
	secrets *Secrets
}

// NewRedacting wraps s.
func NewRedacting(s Store, secrets *Secrets) *Redacting { return &Redacting{s, secrets} }

// Append implements Store.
func (r *Redacting) Append(ctx context.Context, e Event) (Event, error) {
	return r.store.Append(ctx, r.secrets.Event(e))
}

// Since implements Store.
func (r *Redacting) Since(ctx context.Context, after uint64, max int) ([]Event, error) {
	return r.store.Since(ctx, after, max)
}

// Unwrap gives the store behind r: see As.
func (r *Redacting) Unwrap() Store { return r.store }
