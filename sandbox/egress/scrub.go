package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// encodings are the alphabets of base64. Padding does not matter: only inner characters are looked at.
var encodings = []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding}

// base64Core gives the characters that text has wherever it lies in a base64 text, if shift (0 to 2) bytes of its group of
// three stand before it. The characters at its ends, which also hold bits of its neighbours, are left out.
func base64Core(enc *base64.Encoding, text string, shift int) string {
	all := enc.EncodeToString(append(make([]byte, shift), text...))
	return all[(8*shift+5)/6 : 8*(shift+len(text))/6]
}

// scrubPatterns gives the forms in which secrets may come back, and the same form of the placeholder. In base64 that is of
// the same length, so that what surrounds it still decodes.
func scrubPatterns(secrets []bound) []pattern {
	var out []pattern
	for _, s := range secrets {
		out = append(out, pattern{s.value, s.placeholder})
		for _, form := range spellings() {
			if escaped := form(s.value); escaped != s.value {
				out = append(out, pattern{escaped, form(s.placeholder)})
			}
		}
		mask := strings.Repeat(s.placeholder, len(s.value)/len(s.placeholder)+1)[:len(s.value)]
		for _, enc := range encodings {
			for shift := range 3 {
				out = append(out, pattern{base64Core(enc, s.value, shift), base64Core(enc, mask, shift)})
			}
		}
	}
	return out
}

// spellings gives the ways in which servers write a text into URLs, HTML and JSON. They differ in what they escape.
func spellings() []func(string) string {
	templates := strings.NewReplacer(`"`, "&#34;", "'", "&#39;", "+", "&#43;", "&", "&amp;", "<", "&lt;", ">", "&gt;")
	handlebars := strings.NewReplacer(`"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;", "&", "&amp;", "<", "&lt;", ">", "&gt;")
	dotnet := strings.NewReplacer(`\`, `\\`, `"`, `\u0022`, "'", `\u0027`, "`", `\u0060`, "+", `\u002B`, "&", `\u0026`, "<", `\u003C`, ">", `\u003E`)
	return []func(string) string{
		url.QueryEscape, url.PathEscape, html.EscapeString, jsonEscape, templates.Replace, handlebars.Replace, dotnet.Replace,
		func(s string) string { return lowerHex(url.QueryEscape(s)) },
		func(s string) string { return lowerHex(url.PathEscape(s)) },
		func(s string) string { return strings.ReplaceAll(jsonEscape(s), "/", `\/`) }, // PHP
	}
}

// lowerHex writes what a URL escapes as "%2f" instead of "%2F".
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// jsonEscape is s as it stands within a JSON string.
func jsonEscape(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b[1 : len(b)-1])
}

// scrubHeader hides secrets in the values of h, in place.
func scrubHeader(m *matcher, h http.Header) {
	for _, values := range h {
		for i, v := range values {
			values[i] = m.text(v)
		}
	}
}

// rewriting is a body with patterns replaced.
type rewriting struct {
	src  io.ReadCloser
	w    rewriter
	in   []byte // where the reader's own buffer is small
	out  []byte // made and not yet read
	rest []byte // of out
	err  error  // of src
	// end, if not nil, is called once at the end of src, before the reader sees it.
	end func()
}

func newRewriting(m *matcher, src io.ReadCloser) *rewriting {
	return &rewriting{src: src, w: rewriter{m: m}}
}

// Read gives what is certain as soon as there is some. A long text in which nothing is found stays where it was read to.
func (r *rewriting) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		clean, err := r.more(p)
		if err != nil {
			r.stop(err)
		}
		if r.rest = r.out; clean > 0 {
			return clean, nil
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// more reads once, into p where that is not small. clean is how much of p is good as it is, before what is in out.
func (r *rewriting) more(p []byte) (clean int, err error) {
	if len(p) >= shortRead {
		n, err := r.src.Read(p)
		r.out, clean = r.w.take(r.out[:0], p[:n])
		return clean, err
	}
	if r.in == nil {
		r.in = make([]byte, shortRead)
	}
	n, err := r.src.Read(r.in)
	r.out = r.w.feed(r.out[:0], r.in[:n])
	return 0, err
}

func (r *rewriting) stop(err error) {
	r.err = err
	if err == io.EOF {
		r.out = r.w.finish(r.out)
	}
	if r.end != nil {
		r.end()
	}
}

func (r *rewriting) Close() error { return r.src.Close() }
