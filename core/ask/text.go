package ask

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Yes and No are the answers that an approval knows; a reason may follow No after a colon.
const (
	Yes = "yes"
	No  = "no"
)

// check reports what is wrong with a question before it is kept.
func (a Ask) check() error {
	switch {
	case strings.TrimSpace(a.Text) == "" && a.Call == nil:
		return wrong(ErrInvalid, "question: got an empty text, want what a person is to decide")
	case len(a.Text) > MaxText:
		return wrong(ErrInvalid, "question: got %d bytes, want at most %d; put the question in short and keep the rest where the person can look it up", len(a.Text), MaxText)
	case !plainText(a.Text):
		return wrong(ErrInvalid, "question: got bytes that are no text, want UTF-8 without NUL")
	case len(a.Choices) > MaxChoices:
		return wrong(ErrInvalid, ":choices: got %d, want at most %d", len(a.Choices), MaxChoices)
	case len(a.Key) > MaxKey:
		return wrong(ErrInvalid, ":key: got %d bytes, want at most %d", len(a.Key), MaxKey)
	case a.Call != nil && len(a.Call.Args) > MaxText:
		return wrong(ErrInvalid, "%s: got arguments of %d bytes, want at most %d: a person must be able to read what is approved", a.Call.Name, len(a.Call.Args), MaxText)
	}
	for i, c := range a.Choices {
		switch {
		case strings.TrimSpace(c) != c || c == "" || len(c) > MaxChoice || !plainText(c):
			return wrong(ErrInvalid, ":choices: got %s, want texts of 1 to %d bytes without space around them", quoted(c), MaxChoice)
		case slices.ContainsFunc(a.Choices[:i], func(b string) bool { return strings.EqualFold(b, c) }):
			return wrong(ErrInvalid, ":choices: got %s twice, want each once", quoted(c))
		}
	}
	if a.Default != nil {
		if _, err := a.accept(*a.Default); err != nil {
			return fmt.Errorf(":default: %w", err)
		}
	}
	return nil
}

func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// accept gives an answer in the form it is kept in, or says why it is none.
func (a Ask) accept(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", wrong(ErrInvalid, "answer: got an empty text, want %s", a.wanted())
	case len(text) > MaxText:
		return "", wrong(ErrInvalid, "answer: got %d bytes, want at most %d", len(text), MaxText)
	case !plainText(text):
		return "", wrong(ErrInvalid, "answer: got bytes that are no text, want UTF-8 without NUL")
	case a.Kind == Approval:
		return acceptVerdict(text)
	case len(a.Choices) == 0:
		return text, nil
	}
	for _, c := range a.Choices {
		if strings.EqualFold(c, text) {
			return c, nil
		}
	}
	return "", wrong(ErrInvalid, "answer: got %s, want %s", quoted(text), a.wanted())
}

func (a Ask) wanted() string {
	switch {
	case a.Kind == Approval:
		return `yes, no, or "no: the reason"`
	case len(a.Choices) > 0:
		list := make([]string, len(a.Choices))
		for i, c := range a.Choices {
			list[i] = quoted(c)
		}
		return "one of " + strings.Join(list, ", ")
	}
	return "text"
}

func acceptVerdict(text string) (string, error) {
	head, reason, _ := strings.Cut(text, ":")
	reason = strings.TrimSpace(reason)
	switch strings.ToLower(strings.TrimSpace(head)) {
	case "yes", "y", "approve", "approved":
		if reason == "" {
			return Yes, nil
		}
		return "", wrong(ErrInvalid, "answer: got yes with %s, want yes alone: the call is made just as it was shown", quoted(reason))
	case "no", "n", "deny", "denied":
		if reason == "" {
			return No, nil
		}
		return No + ": " + reason, nil
	}
	return "", wrong(ErrInvalid, `answer: got %s, want yes, no, or "no: the reason"`, quoted(text))
}

// Approved tells whether the answer lets the held call run.
func (a Ask) Approved() bool { return a.Kind == Approval && a.Answer == Yes }

// Mark stands in the result that an agent's evaluation gives when it was interrupted, so that its arrival shows in the
// CLI's stream.
func (a Ask) Mark() string { return "[zeno " + a.ID + "]" }

// Marker stands in the prompt that resumes the agent, so that its arrival shows in the session's files.
func (a Ask) Marker() string { return fmt.Sprintf("[zeno %s/%d]", a.ID, a.Attempt) }

// maxHappened bounds how many calls are named to the agent.
const maxHappened = 50

// Notice is what the agent reads in place of a value. happened lists the capability calls of the evaluation that were made
// before it ended; more tells how many are left out of the list.
func (a Ask) Notice(happened []string, more int) string {
	var b strings.Builder
	what := "Your question was handed to a human"
	if a.Kind == Approval {
		what = fmt.Sprintf("A human must approve %s first: it was handed to one and has not run", a.Call.Name)
	}
	fmt.Fprintf(&b, "%s %s. This evaluation ended there: nothing after it ran.\n", a.Mark(), what)
	if len(happened) == 0 {
		b.WriteString("It had made no other capability calls.\n")
	} else {
		b.WriteString("These capability calls had already happened, do not repeat them:\n")
		for _, c := range happened[:min(len(happened), maxHappened)] {
			b.WriteString("  " + c + "\n")
		}
		if more += max(0, len(happened)-maxHappened); more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	b.WriteString("End your turn now, without further calls. When there is an answer, which may take days, this conversation goes on with it.")
	return b.String()
}

// Prompt is what resumes the agent.
func (a Ask) Prompt() string {
	var b strings.Builder
	b.WriteString(a.Marker() + " ")
	switch {
	case a.Kind != Approval:
		by := "A human answered"
		if a.By == ByDefault {
			by = "Nobody answered in time, so the default you gave counts as the answer to"
		}
		fmt.Fprintf(&b, "%s your question %s.\nQuestion: %s\nAnswer: %s\n", by, a.ID, a.Text, a.Answer)
	case strings.HasPrefix(a.Outcome, NotMade):
		fmt.Fprintf(&b, "A human approved your call, but it was not made: %s\nReason: %s\n", a.Call.Form(), strings.TrimPrefix(a.Outcome, NotMade))
	case a.Approved() || a.Outcome != "":
		fmt.Fprintf(&b, "A human approved your call, and it was made, once: %s\nOutcome: %s\n", a.Call.Form(), a.Outcome)
	default:
		why := "A human did not approve your call"
		if a.By == ByDefault {
			why = "Nobody approved your call in time"
		}
		fmt.Fprintf(&b, "%s, and it was not made: %s\n", why, a.Call.Form())
		if _, reason, ok := strings.Cut(a.Answer, ": "); ok {
			fmt.Fprintf(&b, "Reason: %s\n", reason)
		}
	}
	b.WriteString("Go on with your work. Evaluations run in a new environment: what you had defined is gone, define again what you need.")
	return b.String()
}

// NotMade begins the outcome of an approved call that was not made after all.
const NotMade = "not made: "

// ByDefault is who answered where time did.
const ByDefault = "(default)"

// Line is the question in one line, for an inbox.
func (a Ask) Line() string {
	text := a.Text
	if a.Call != nil {
		text = "approve " + a.Call.Form()
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 160 {
		text = string(r[:160]) + "…"
	}
	if len(a.Choices) > 0 {
		text += " [" + strings.Join(a.Choices, " | ") + "]"
	}
	return text
}
