package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScreenLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":             nil,
		"abc\n":        {"abc\n"},
		"abcde\nf\n":   {"abcd", "e\n", "f\n"},
		"abcd\n":       {"abcd\n"},
		"日本語\n":        {"日本", "語\n"}, // two columns each
		"a\u0301bcd\n": {"a\u0301bcd\n"},
		"\n\n":         {"\n", "\n"},
		"a\tb\n":       {"a", "\t", "b\n"},
		"ab":           {"ab"},
	} {
		if diff := cmp.Diff(want, screenLines(text, 4)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if fits(strings.Repeat("x\n", 24), 23, 80) || !fits(strings.Repeat("x\n", 23), 23, 80) {
		t.Error("fits: want 23 rows and no more")
	}
}

const manyLines = `(do (require '[clojure.string :as str]) (set! *print-length* nil) (mapv #(str "item-" % "-" (apply str (repeat 180 "x"))) (range 100)))`

func TestREPLPages(t *testing.T) {
	s := open(t, nil)
	s.say(manyLines)
	got := s.want(`-- more[^\n]* --`)
	if strings.Contains(got, "item-40") || !strings.Contains(got, "item-20") {
		t.Errorf("the first screen: got %d bytes, want 23 lines", len(got))
	}
	s.send("\r")
	if got := s.want(`-- more[^\n]* --`); strings.Count(got, "item-") > 1 {
		t.Errorf("enter: got %q, want a line", got)
	}
	s.send(" ")
	if got := s.want(`-- more[^\n]* --`); !strings.Contains(got, "item-40") || strings.Contains(got, "item-60") {
		t.Errorf("space: got %q, want a screen", got)
	}
	s.send("\x1b[B")
	s.want(`-- more[^\n]* --`)
	s.send("q(+ 40 2)\r") // what is typed on is for the prompt
	s.want(`; \d+ of \d+ lines\r\n`)
	s.want(`\n42\r\n`)
	s.say(`(count *2)`)
	s.want(`\n100\r\n`)

	for _, c := range []string{ctrlC, ctrlD, "\x1b"} { // none of them leaves zeno, or stops what comes after
		s.say(manyLines + ` :after`)
		s.want(`-- more[^\n]* --`)
		s.send(c)
		s.want(`; \d+ of \d+ lines\r\n:after\r\n`)
	}
	s.say(manyLines)
	s.want(`-- more[^\n]* --`)
	s.send("a")
	s.want(`item-99-x+"\]\r\n`)
	s.say(`(do (println (str "na" "me?")) (read-line))`) // the terminal is as it was
	s.want(`\nname\?\r\n`)
	s.send("typed\n")
	s.want(`"typed"\r\n`)
	s.say(`:quit`)
	s.end(ExitOK)
}

// A signal ends zeno while it waits for a key, or for the user's pager.
func TestREPLPagerEndsWithZeno(t *testing.T) {
	for _, pager := range []string{"", "sleep 1000"} {
		s := open(t, []string{"PAGER=" + pager})
		s.say(`(do (print "pag" "ing") ` + manyLines + `)`)
		s.want(`pag ing`)
		if pager == "" {
			s.want(`-- more`)
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.end(ExitTerminated)
	}
}

// What fits is not paged, nor anything where no line can be edited.
func TestREPLPagesOnlyWhatIsLong(t *testing.T) {
	s := open(t, nil)
	s.say(`(vec (range 500))`)
	s.want(`498 499\]\r\n`)
	s.say(`:quit`)
	s.end(ExitOK)
	s = open(t, []string{"TERM=dumb", "PAGER=sed s/^/paged/"})
	s.say(manyLines)
	if got := s.want(`item-99-x+"\]\r\n`); strings.Contains(got, "-- more") || strings.Contains(got, "paged") {
		t.Errorf("a dumb terminal: got a pager")
	}
}

func TestREPLPagerOfTheUser(t *testing.T) {
	s := open(t, []string{"PAGER=sed -e 's/item-99/THE-LAST/'"})
	s.say(manyLines)
	s.want(`THE-LAST`)
	s.say(`:quit`)
	s.end(ExitOK)
	for _, pager := range []string{"/no/such/pager", "cat; exit 3", "head -c 10 >/dev/null; echo seen"} {
		s := open(t, []string{"PAGER=" + pager})
		s.say(manyLines)
		switch {
		case pager[0] == '/':
			s.want(`-- more`) // its own
			s.send("q")
		case strings.HasPrefix(pager, "cat"):
			s.want(`item-99-x+"\]\r\n`)
		default:
			s.want(`seen`)
		}
		s.say(`(+ 40 2)`)
		s.want(`\n42\r\n`)
		s.say(`:quit`)
		s.end(ExitOK)
	}
}

// A value that an agent wrote cannot steer the terminal. print can: that is what it is for.
func TestREPLShowsWhatSteersTheTerminal(t *testing.T) {
	s := open(t, nil)
	s.say(`(print (str "A" (char 27) "[31mB"))`)
	s.want("A\x1b\\[31mB") // the harm
	s.say(`[(str "A" (char 27) "[31mB" (char 0x202e))]`)
	if got := s.want(`\n\["A.*\]\r\n`); strings.Contains(got, "A\x1b") || !strings.Contains(got, `A\u001b[31mB\u202e`) {
		t.Errorf("got %q, want the escape shown", got)
	}
}
