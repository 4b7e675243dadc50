package egress

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Usage is what the answer of a model says it used, in tokens. The four dialects count differently; here each token is
// counted once: Input is what was neither read from nor written to a cache.
type Usage struct {
	// Dialect is "anthropic", "chat", "responses" or "gemini".
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`

	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`

	// Known is false where the answer did not say, or said what cannot be: then the counts are not to be relied on.
	Known bool `json:"known"`
	// Partial says that the answer was broken off, so that more was used than is counted.
	Partial bool `json:"partial,omitempty"`
}

const (
	// maxElement bounds one event of a stream or one answer; of a longer one the usage is not known.
	maxElement = 8 << 20
	// maxTokens is more than any answer can have used.
	maxTokens = 1_000_000_000
)

// dialect tells from a request whose dialect its answer will be in; "" is no model.
func dialect(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	for _, d := range []struct{ suffix, name string }{
		{"/messages", "anthropic"}, {"/chat/completions", "chat"}, {"/responses", "responses"},
		{":generateContent", "gemini"}, {":streamGenerateContent", "gemini"},
	} {
		if strings.HasSuffix(r.URL.Path, d.suffix) {
			return d.name
		}
	}
	return ""
}

// meter reads usage out of an answer that passes by.
type meter struct {
	usage  Usage
	report func(Usage)
	events bool // a stream of server-sent events; otherwise JSON: one object or an array of them
	seen   bool
	bad    bool
	done   bool

	element []byte // what is being gathered: the data of an event, or an object
	line    []byte // of a stream of events
	over    bool   // the element is too long

	depth, top int // of JSON: how deep, and where elements lie: 0, or 1 in an array
	str, esc   bool
}

func newMeter(dialect, contentType string, report func(Usage)) *meter {
	return &meter{usage: Usage{Dialect: dialect}, report: report, events: strings.HasPrefix(contentType, "text/event-stream")}
}

func (m *meter) write(p []byte) {
	if m.events {
		m.writeEvents(p)
		return
	}
	for _, b := range p {
		m.json(b)
	}
}

// writeEvents splits lines; an empty line ends an event.
func (m *meter) writeEvents(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			m.line = m.gather(m.line, p)
			return
		}
		m.line = m.gather(m.line, p[:i])
		m.endLine()
		p = p[i+1:]
	}
}

func (m *meter) endLine() {
	line := bytes.TrimSuffix(m.line, []byte("\r"))
	if len(line) == 0 {
		m.endElement()
	} else if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		m.element = append(m.gather(m.element, data), '\n')
	}
	m.line = m.line[:0]
}

func (m *meter) gather(to, p []byte) []byte {
	if m.over || len(to)+len(p) > maxElement {
		m.over = true
		return to[:0]
	}
	return append(to, p...)
}

// json follows one byte of JSON far enough to know where an element ends.
func (m *meter) json(b byte) {
	switch {
	case m.esc:
		m.esc = false
	case m.str:
		m.esc, m.str = b == '\\', b != '"'
	case b == '"':
		m.str = true
	case b == '{' || b == '[':
		if m.depth == 0 && b == '[' {
			m.top = 1
		}
		m.depth++
	case b == '}' || b == ']':
		m.depth--
	}
	if m.depth > m.top || b == '}' {
		m.element = m.gather(m.element, []byte{b})
	}
	if b == '}' && !m.str && m.depth == m.top {
		m.endElement()
	}
}

// endElement takes over what one element says.
func (m *meter) endElement() {
	if m.over {
		m.bad, m.over = true, false
	} else if bytes.Contains(m.element, []byte(`"usage`)) {
		var r reply
		if json.Unmarshal(m.element, &r) == nil {
			m.take(&r)
		}
	}
	m.element = m.element[:0]
}

// end reports, once. whole is false where the answer was broken off.
func (m *meter) end(whole bool) {
	if m.done {
		return
	}
	m.done = true
	if m.events && whole {
		m.endLine()
		m.endElement()
	}
	m.usage.Known, m.usage.Partial = m.seen && !m.bad, !whole
	m.report(m.usage)
}

// reply has the fields of all dialects that matter here.
type reply struct {
	Model        string  `json:"model"`
	ModelVersion string  `json:"modelVersion"`
	Usage        *tokens `json:"usage"`
	Metadata     *gemini `json:"usageMetadata"`
	Message      *inner  `json:"message"`
	Response     *inner  `json:"response"`
}

type inner struct {
	Model string  `json:"model"`
	Usage *tokens `json:"usage"`
}

type tokens struct {
	Input      *json.Number `json:"input_tokens"`
	Output     *json.Number `json:"output_tokens"`
	CacheRead  *json.Number `json:"cache_read_input_tokens"`
	CacheWrite *json.Number `json:"cache_creation_input_tokens"`
	Prompt     *json.Number `json:"prompt_tokens"`
	Completion *json.Number `json:"completion_tokens"`

	InputDetails  *details `json:"input_tokens_details"`
	PromptDetails *details `json:"prompt_tokens_details"`
}

type details struct {
	Cached *json.Number `json:"cached_tokens"`
}

type gemini struct {
	Prompt     *json.Number `json:"promptTokenCount"`
	Tools      *json.Number `json:"toolUsePromptTokenCount"`
	Candidates *json.Number `json:"candidatesTokenCount"`
	Thoughts   *json.Number `json:"thoughtsTokenCount"`
	Cached     *json.Number `json:"cachedContentTokenCount"`
}

// take takes over what r says; later counts of a stream replace earlier ones.
func (m *meter) take(r *reply) {
	for _, in := range []*inner{{r.Model, r.Usage}, r.Message, r.Response} {
		if in == nil {
			continue
		}
		m.model(in.Model)
		if in.Usage != nil {
			m.tokens(in.Usage)
		}
	}
	m.model(r.ModelVersion)
	if g := r.Metadata; g != nil {
		cached := m.count(g.Cached, 0)
		m.seen, m.usage.CacheRead = true, cached
		m.usage.Input = m.less(m.count(g.Prompt, 0)+m.count(g.Tools, 0), cached)
		m.usage.Output = m.count(g.Candidates, 0) + m.count(g.Thoughts, 0)
	}
}

func (m *meter) model(name string) {
	if name != "" && len(name) <= 200 {
		m.usage.Model = strings.ToValidUTF8(name, "�")
	}
}

func (m *meter) tokens(t *tokens) {
	m.seen = true
	u := &m.usage
	switch m.usage.Dialect {
	case "anthropic":
		u.Input, u.Output = m.count(t.Input, u.Input), m.count(t.Output, u.Output)
		u.CacheRead, u.CacheWrite = m.count(t.CacheRead, u.CacheRead), m.count(t.CacheWrite, u.CacheWrite)
	case "chat":
		m.inclusive(t.Prompt, t.Completion, t.PromptDetails)
	default:
		m.inclusive(t.Input, t.Output, t.InputDetails)
	}
}

// inclusive takes over counts where the input includes what was read from a cache.
func (m *meter) inclusive(in, out *json.Number, d *details) {
	if in == nil || out == nil {
		m.bad = true
	}
	cached := int64(0)
	if d != nil {
		cached = m.count(d.Cached, 0)
	}
	m.usage.CacheRead, m.usage.Output = cached, m.count(out, 0)
	m.usage.Input = m.less(m.count(in, 0), cached)
}

// count reads a number of tokens; one that cannot be makes the usage unknown.
func (m *meter) count(n *json.Number, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	i, err := n.Int64()
	if err != nil || i < 0 || i > maxTokens {
		m.bad = true
		return 0
	}
	return i
}

func (m *meter) less(all, part int64) int64 {
	if part > all {
		m.bad = true
		return all
	}
	return all - part
}

// metered is a body that a meter reads along with.
type metered struct {
	io.ReadCloser
	m *meter
}

func (b *metered) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.m.write(p[:n])
	if err != nil {
		b.m.end(err == io.EOF)
	}
	return n, err
}

func (b *metered) Close() error {
	b.m.end(false) // no effect after the end
	return b.ReadCloser.Close()
}
