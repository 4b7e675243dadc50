package stdlib

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// smtpTimeout is how long sending one message may take that names no :timeout.
const smtpTimeout = time.Minute

// smtpNS is joker.smtp.
func smtpNS() []value.Builtin {
	return []value.Builtin{
		def("send", "([request])", "Sends a message by SMTP. The request, a map, has :host, :from and :to (a string or a vector of them) and may have :port (587 by default), :cc, :bcc, :subject, :body (text), :html (the same in HTML), :headers (a map), :user and :password, :tls (:starttls, the default: refused where the server has none; :implicit, as on port 465; :none) and :timeout (such as \"30s\"; a minute by default). A password is only sent encrypted, or to this machine.", sendMail),
	}
}

type message struct {
	Host     string `lisp:"host,required"`
	Port     int
	From     string `lisp:"from,required"`
	To       Value  `lisp:"to,required"`
	Cc       Value
	Bcc      Value
	Subject  string
	Body     string
	HTML     string `lisp:"html"`
	Headers  map[string]string
	User     string
	Password string
	TLS      string `lisp:"tls"`
	Timeout  bind.Duration
}

func sendMail(t *Thread, m message) {
	if m.Port == 0 {
		m.Port = 587
	}
	if m.TLS == "" {
		m.TLS = "starttls"
	}
	if !slices.Contains([]string{"starttls", "implicit", "none"}, m.TLS) {
		panic(value.ArgError("send: got :tls :%s, want :starttls, :implicit or :none", m.TLS))
	}
	to, cc, bcc := recipients(t, "to", m.To), recipients(t, "cc", m.Cc), recipients(t, "bcc", m.Bcc)
	from := recipients(t, "from", value.Str(m.From))
	if len(from) != 1 || len(to)+len(cc)+len(bcc) == 0 {
		panic(value.ArgError("send: got %d senders and %d recipients, want one sender and a recipient", len(from), len(to)+len(cc)+len(bcc)))
	}
	text := m.text(from[0], to, cc)
	timeout := time.Duration(m.Timeout)
	if timeout <= 0 {
		timeout = smtpTimeout
	}
	_, err := beside(t, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := m.deliver(ctx, from[0], slices.Concat(to, cc, bcc), text)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return struct{}{}, err
	})
	check("send", "send a message by", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)), err)
}

// recipients reads a string of addresses or a collection of such strings.
func recipients(t *Thread, key string, v Value) []*mail.Address {
	var out []*mail.Address
	add := func(v Value) {
		if v.Kind() != value.KindString {
			panic(value.TypeError(t, "send: :"+key, v, "an address, such as Ann <ann@example.org>, or a vector of them"))
		}
		as, err := mail.ParseAddressList(v.Text())
		checkMail("send: :"+key, v.Text(), err, "an address such as Ann <ann@example.org>")
		out = append(out, as...)
	}
	switch {
	case v.IsNil():
	case !v.Kind().IsColl():
		add(v)
	default:
		for _, x := range value.ToSlice(t, v) {
			add(x)
		}
	}
	return out
}

// text is the message as it goes over the wire. Nothing that a caller gives can end a header early.
func (m message) text(from *mail.Address, to, cc []*mail.Address) []byte {
	var b bytes.Buffer
	head := map[string]string{"From": from.String(), "Date": dateHeader(time.Now()), "Message-ID": messageID(from), "MIME-Version": "1.0"}
	if m.Subject != "" {
		head["Subject"] = mime.QEncoding.Encode("utf-8", m.Subject)
	}
	for k, as := range map[string][]*mail.Address{"To": to, "Cc": cc} {
		if len(as) > 0 {
			head[k] = joined(as)
		}
	}
	for k, v := range m.Headers {
		if k == "" || strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }) || strings.ContainsAny(v, "\r\n") {
			panic(value.ArgError("send: got the header %q with %q, want a name of letters and a value of one line", clipped(k), clipped(v)))
		}
		head[textproto.CanonicalMIMEHeaderKey(k)] = mime.QEncoding.Encode("utf-8", v)
	}
	for _, k := range slices.Sorted(maps.Keys(head)) {
		fmt.Fprintf(&b, "%s: %s\r\n", k, strings.NewReplacer("\r", "", "\n", "").Replace(head[k]))
	}
	m.content(&b)
	return b.Bytes()
}

// content writes the body: text, HTML, or both for the reader to choose.
func (m message) content(b *bytes.Buffer) {
	switch {
	case m.HTML == "":
		part(b, "plain", m.Body)
	case m.Body == "":
		part(b, "html", m.HTML)
	default:
		edge := random()
		fmt.Fprintf(b, "Content-Type: multipart/alternative; boundary=%q\r\n\r\n--%s\r\n", edge, edge)
		part(b, "plain", m.Body)
		fmt.Fprintf(b, "\r\n--%s\r\n", edge)
		part(b, "html", m.HTML)
		fmt.Fprintf(b, "\r\n--%s--\r\n", edge)
	}
}

func part(b *bytes.Buffer, kind, text string) {
	fmt.Fprintf(b, "Content-Type: text/%s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", kind)
	w := quotedprintable.NewWriter(b)
	_, _ = w.Write([]byte(strings.ReplaceAll(text, "\r\n", "\n"))) // a buffer takes everything
	_ = w.Close()
}

func joined(as []*mail.Address) string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.String()
	}
	return strings.Join(out, ", ")
}

func random() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func messageID(from *mail.Address) string {
	_, domain, _ := strings.Cut(from.Address, "@")
	return "<" + random() + "@" + domain + ">"
}

// deliver talks to the server until ctx ends.
func (m message) deliver(ctx context.Context, from *mail.Address, to []*mail.Address, text []byte) error {
	addr := net.JoinHostPort(m.Host, strconv.Itoa(m.Port))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conf := &tls.Config{ServerName: m.Host, MinVersion: tls.VersionTLS12}
	if m.TLS == "implicit" {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, m.Host)
	if err != nil {
		return err
	}
	if m.TLS == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return errors.New("the server has no STARTTLS; :tls :implicit encrypts from the start, :none does not")
		}
		if err := c.StartTLS(conf); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := c.Auth(smtp.PlainAuth("", m.User, m.Password, m.Host)); err != nil {
			return err
		}
	}
	return transfer(c, from, to, text)
}

func transfer(c *smtp.Client, from *mail.Address, to []*mail.Address, text []byte) error {
	if err := c.Mail(from.Address); err != nil {
		return err
	}
	for _, a := range to {
		if err := c.Rcpt(a.Address); err != nil {
			return fmt.Errorf("%s: %w", a.Address, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}
