package stdlib_test

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/stdlib"
)

func TestMail(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`(joker.mail/parse-address "Ann Lee <ann@example.org>")`, `{:name "Ann Lee", :address "ann@example.org"}`},
		{`(map :address (joker.mail/parse-address-list "a@x.org, B <b@x.org>"))`, `("a@x.org" "b@x.org")`},
		{`(joker.mail/parse-address "nobody")`, `!parse-address: got "nobody"`},
		{`(joker.time/unix (joker.mail/parse-date "Mon, 02 Jan 2006 15:04:05 -0700"))`, `1136239445`},
		{`(joker.mail/parse-date "today")`, `!parse-date: got "today"`},
		{`(select-keys (joker.mail/read-message "From: a@x.org\r\nSubject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\nX-A: 1\r\nX-A: 2\r\n\r\nhello\n") [:body :subject :from])`,
			`{:body "hello\n", :subject "grüße", :from [{:name "", :address "a@x.org"}]}`},
		{`(get-in (joker.mail/read-message "X-A: 1\nX-A: 2\n\n") [:headers "X-A"])`, `["1" "2"]`},
		{`(joker.mail/read-message "no colon\n\n")`, `!read-message: got`},
		{`(joker.mail/read-message 5)`, `!read-message: got 5`},
	})
}

// post is an SMTP server for one conversation: it takes what comes and tells it.
type post struct {
	port int
	got  chan string
}

func newPost(t *testing.T, greeting string) *post {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{port: l.Addr().(*net.TCPAddr).Port, got: make(chan string, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		p.got <- converse(conn, greeting)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return p
}

// converse answers every command and gives all that was said.
func converse(conn net.Conn, greeting string) string {
	var said strings.Builder
	fmt.Fprint(conn, greeting)
	lines, data := bufio.NewScanner(conn), false
	for lines.Scan() {
		line := lines.Text()
		said.WriteString(line + "\n")
		switch {
		case data && line == ".":
			data = false
			fmt.Fprint(conn, "250 taken\r\n")
		case data:
		case strings.HasPrefix(line, "EHLO"):
			fmt.Fprint(conn, "250-here\r\n250 AUTH PLAIN\r\n")
		case strings.HasPrefix(line, "RCPT TO:<refused"):
			fmt.Fprint(conn, "550 no such box\r\n")
		case strings.HasPrefix(line, "AUTH"):
			fmt.Fprint(conn, "235 welcome\r\n")
		case line == "DATA":
			data = true
			fmt.Fprint(conn, "354 go on\r\n")
		case line == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return said.String()
		default:
			fmt.Fprint(conn, "250 fine\r\n")
		}
	}
	return said.String()
}

func TestSMTP(t *testing.T) {
	p := newPost(t, "220 here\r\n")
	w := newWorld(t, stdlib.Config{})
	w.run([]row{{fmt.Sprintf(`(joker.smtp/send {:host "127.0.0.1" :port %d :tls :none :from "Ann <a@x.org>" :to ["b@x.org" "c@x.org"]
		:bcc "d@x.org" :subject "grüße" :body "hé\n.\nend" :html "<p>hé" :headers {"x-mine" "1"} :user "u" :password "p"})`, p.port), `nil`}})
	said := <-p.got
	for _, want := range []string{"MAIL FROM:<a@x.org>", "RCPT TO:<b@x.org>", "RCPT TO:<c@x.org>", "RCPT TO:<d@x.org>", "AUTH PLAIN AHUAcA==",
		"X-Mine: 1", "Subject: =?utf-8?q?gr=C3=BC=C3=9Fe?=", `From: "Ann" <a@x.org>`, "To: <b@x.org>, <c@x.org>", "h=C3=A9", "\n..\nend", "<p>h=C3=A9"} {
		if !strings.Contains(said, want) {
			t.Errorf("got %s, want %s in it", said, want)
		}
	}
	_, text, _ := strings.Cut(said, "DATA\n")
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil || !strings.HasPrefix(m.Header.Get("Content-Type"), "multipart/alternative") || strings.Contains(text, "d@x.org") {
		t.Errorf("the message: got %v, %v, want two alternatives and no word of :bcc", m, err)
	}
}

func TestSMTPRefuses(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	send := func(more string, port int) string {
		return fmt.Sprintf(`(joker.smtp/send (merge {:host "127.0.0.1" :port %d :from "a@x.org" :to "b@x.org" :body "x"} %s))`, port, more)
	}
	w.run([]row{
		{send(`{}`, newPost(t, "220 here\r\n").port), `!the server has no STARTTLS`},
		{send(`{:tls :none :to "refused@x.org"}`, newPost(t, "220 here\r\n").port), `!refused@x.org: 550 "no such box"`},
		{send(`{:tls :none}`, newPost(t, "554 go away\r\n").port), `!554 "go away"`},
		{send(`{:tls :none :timeout "50ms"}`, newPost(t, "").port), `!failed to send a message by 127.0.0.1:`},
		{send(`{:tls :sometimes}`, 1), `!:starttls, :implicit or :none`},
		{send(`{:to []}`, 1), `!want one sender and a recipient`},
		{send(`{:to 5}`, 1), `!send: :to: got 5`},
		{send(`{:to "b@x.org\r\nX: y"}`, 1), `!send: :to: got`},
		{send(`{:headers {"X" "a\r\nBcc: z@x.org"}}`, 1), `!want a name of letters and a value of one line`},
		{send(`{:headers {"X: y\r\nZ" "a"}}`, 1), `!want a name of letters and a value of one line`},
		{`(joker.smtp/send {:from "a@x.org" :to "b@x.org"})`, `!:host`},
	})
}
