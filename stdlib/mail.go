package stdlib

import (
	"io"
	"maps"
	"mime"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// mailNS is joker.mail: addresses and messages of electronic mail (RFC 5322), taken apart.
func (h *Host) mailNS() []value.Builtin {
	return []value.Builtin{
		def("parse-address", "([s])", "An address such as \"Ann <ann@example.org>\" as a map of :name and :address.", func(t *Thread, s string) Value {
			a, err := mail.ParseAddress(s)
			checkMail("parse-address", s, err, "one such as Ann <ann@example.org>")
			return address(t, a)
		}),
		def("parse-address-list", "([s])", "Addresses with commas between them as a vector of maps of :name and :address.", func(t *Thread, s string) Value {
			as, err := mail.ParseAddressList(s)
			checkMail("parse-address-list", s, err, "addresses such as a@example.org, Ann <ann@example.org>")
			return addresses(t, as)
		}),
		def("parse-date", "([s])", "The date of a message, such as \"Mon, 2 Jan 2006 15:04:05 -0700\", as an inst.", func(t *Thread, s string) Value {
			d, err := mail.ParseDate(s)
			checkMail("parse-date", s, err, "one such as Mon, 2 Jan 2006 15:04:05 -0700")
			return value.InstOf(d)
		}),
		def("read-message", "([source])", "A message, a string or a reader, as a map of :headers (a map of names to vectors of values), :body (a string) and, where the headers have them, :date, :from, :to, :cc and :subject.", h.readMessage),
	}
}

func checkMail(who, s string, err error, want string) {
	if err != nil {
		panic(value.ArgError("%s: got %q (%s), want %s", who, clipped(s), strings.TrimPrefix(err.Error(), "mail: "), want))
	}
}

// clipped is s short enough for a message.
func clipped(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

func address(t *Thread, a *mail.Address) Value {
	return value.NewMap(t, value.Kw("name"), str(t, a.Name), value.Kw("address"), str(t, a.Address))
}

func addresses(t *Thread, as []*mail.Address) Value {
	xs := make([]Value, len(as))
	for i, a := range as {
		t.Step()
		xs[i] = address(t, a)
	}
	return value.NewVector(t, xs)
}

func (h *Host) readMessage(t *Thread, source Value) Value {
	text := ""
	if source.Kind() == value.KindString {
		text = source.Text()
	} else {
		s, err := slurpReader(t, readerOf(t, "read-message", source), h.MaxRead, "save it to a file first")
		check("read-message", "read", name(t, source), err)
		text = s
	}
	t.Charge(2 * len(text))
	m, err := mail.ReadMessage(strings.NewReader(text))
	checkMail("read-message", text, err, "headers, an empty line and a body")
	body, err := io.ReadAll(m.Body)
	check("read-message", "read", "the body", err)
	kvs := []Value{value.Kw("headers"), headers(t, m.Header), value.Kw("body"), str(t, string(body))}
	if d, err := m.Header.Date(); err == nil {
		kvs = append(kvs, value.Kw("date"), value.InstOf(d))
	}
	for _, k := range []string{"from", "to", "cc"} {
		if as, err := m.Header.AddressList(k); err == nil {
			kvs = append(kvs, value.Kw(k), addresses(t, as))
		}
	}
	if s := m.Header.Get("Subject"); s != "" {
		kvs = append(kvs, value.Kw("subject"), str(t, decodedWords(s)))
	}
	return value.NewMap(t, kvs...)
}

func headers(t *Thread, h mail.Header) Value {
	var kvs []Value
	for _, k := range slices.Sorted(maps.Keys(h)) {
		t.Step()
		kvs = append(kvs, str(t, k), strs(t, h[k]))
	}
	return value.NewMap(t, kvs...)
}

// decodedWords is a header with its encoded words (=?utf-8?q?…?=) in plain text, or as it is where they are broken.
func decodedWords(s string) string {
	if d, err := (&mime.WordDecoder{}).DecodeHeader(s); err == nil {
		return d
	}
	return s
}

// dateHeader words a time as a message has it.
func dateHeader(d time.Time) string { return d.Format("Mon, 2 Jan 2006 15:04:05 -0700") }
