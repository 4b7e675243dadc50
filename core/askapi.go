package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Inbox lists the questions that wait for a person, oldest first: those that are open, and those whose outcome nobody knows,
// for which see ResumeAsk.
func (c *Core) Inbox(ctx context.Context) ([]ask.Ask, error) {
	d, err := c.asks.existing()
	if err != nil || d == nil {
		return []ask.Ask{}, err
	}
	return d.Inbox(ctx)
}

// AskOf gives one question.
func (c *Core) AskOf(ctx context.Context, id string) (ask.Ask, error) {
	d, err := c.asks.desk(id)
	if err != nil {
		return ask.Ask{}, err
	}
	return d.Get(ctx, id)
}

// Answer takes a person's answer to a question: it is durable, and recorded as given by by, when this returns. The errors
// wrap those of package ask.
func (c *Core) Answer(ctx context.Context, id, text, by string) (ask.Ask, error) {
	d, err := c.asks.desk(id)
	if err != nil {
		return ask.Ask{}, err
	}
	if c.secrets.Text(text) != text {
		return ask.Ask{}, fmt.Errorf("question %s: %w: got an answer that holds a secret, want one without: the agent reads it", id, ask.ErrInvalid)
	}
	q, err := d.Answer(ctx, id, text, by)
	if err == nil {
		c.asks.forward(d)
	}
	return q, err
}

// ResumeAsk is the operator's decision about a question in the state unknown. For a call that may or may not have been made
// note says what became of it, for the agent to read; else the answer is sent once more.
func (c *Core) ResumeAsk(ctx context.Context, id, note, by string) (ask.Ask, error) {
	d, err := c.asks.desk(id)
	if err != nil {
		return ask.Ask{}, err
	}
	q, err := d.Decide(ctx, id, c.secrets.Text(note), by)
	if err == nil {
		c.asks.forward(d)
	}
	return q, err
}

// WithdrawAsk takes a question back. Its spawn, if it has one, ends as cancelled.
func (c *Core) WithdrawAsk(ctx context.Context, id, why, by string) (ask.Ask, error) {
	d, err := c.asks.desk(id)
	if err != nil {
		return ask.Ask{}, err
	}
	q, err := d.Withdraw(ctx, id, c.secrets.Text(why), by)
	if err == nil {
		c.asks.forward(d)
	}
	return q, err
}

// desk is the desk where there is one; with none there is no such question.
func (a *asks) desk(id string) (*ask.Desk, error) {
	d, err := a.existing()
	if err == nil && d == nil {
		err = ask.NotFound(id)
	}
	return d, err
}

// AskHandler serves questions over HTTP, for whoever mounts it behind an authentication of his own: GET gives the inbox,
// GET /ID one question, POST /ID with {"answer": …} answers it. by names who asks.
func (c *Core) AskHandler(by func(*http.Request) string) http.Handler {
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, v any, err error) {
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			status := http.StatusInternalServerError
			for kind, code := range map[error]int{ask.ErrNotFound: http.StatusNotFound, ask.ErrClosed: http.StatusConflict, ask.ErrInvalid: http.StatusUnprocessableEntity} {
				if errors.Is(err, kind) {
					status = code
				}
			}
			w.WriteHeader(status)
			v = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(v) // who asked may have gone
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		list, err := c.Inbox(r.Context())
		reply(w, list, err)
	})
	mux.HandleFunc("GET /{id}", func(w http.ResponseWriter, r *http.Request) {
		q, err := c.AskOf(r.Context(), r.PathValue("id"))
		reply(w, q, err)
	})
	mux.HandleFunc("POST /{id}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Answer string `json:"answer"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*ask.MaxText)).Decode(&in); err != nil {
			reply(w, nil, fmt.Errorf(`body: %w: want JSON such as {"answer": "yes"}: %w`, ask.ErrInvalid, err))
			return
		}
		q, err := c.Answer(r.Context(), r.PathValue("id"), in.Answer, by(r))
		reply(w, q, err)
	})
	return mux
}

// askForm is a question as the program sees it.
type askForm struct {
	ID       string       `lisp:"id"`
	Kind     bind.Keyword `lisp:"kind"`
	State    bind.Keyword `lisp:"state"`
	Role     bind.Keyword `lisp:"role,omitempty"`
	Spawn    string       `lisp:"spawn,omitempty"`
	Question string       `lisp:"question"`
	Choices  []string     `lisp:"choices,omitempty"`
	Default  string       `lisp:"default,omitempty"`
	Call     string       `lisp:"call,omitempty"`
	Asked    time.Time    `lisp:"asked"`
	Deadline time.Time    `lisp:"deadline"`
	Answer   string       `lisp:"answer,omitempty"`
	By       string       `lisp:"by,omitempty"`
	Outcome  string       `lisp:"outcome,omitempty"`
	Note     string       `lisp:"note,omitempty"`
	Attempt  int          `lisp:"attempt,omitempty"`
}

func askFormOf(q ask.Ask) askForm {
	f := askForm{ID: q.ID, Kind: bind.Keyword(q.Kind), State: bind.Keyword(q.State), Role: bind.Keyword(q.Role), Spawn: q.Spawn,
		Question: q.Text, Choices: q.Choices, Asked: q.Asked, Deadline: q.Deadline, Answer: q.Answer, By: q.By, Outcome: q.Outcome,
		Note: q.Note, Attempt: q.Attempt}
	if q.Default != nil {
		f.Default = *q.Default
	}
	if q.Call != nil {
		f.Call = q.Call.Form()
	}
	return f
}

// askFunctions are zeno.ask.
func (c *Core) askFunctions() []value.Builtin {
	return []value.Builtin{
		bind.Func("ask", "([question] [question {:keys [choices timeout default key]}])", "Asks a person and waits for the answer, a string. :choices, a vector of texts to pick from; :timeout (7 days) such as \"24h\"; :default, the answer when that time is up, without which ask throws {:zeno/ask :expired} then. With a :key (plain data) the question is asked once, ever: a call with the key of one that was answered gives its answer, and after a restart a call with the key goes on waiting.", c.askPerson),
		bind.Func("inbox", "([])", "Lists the questions that wait for a person, oldest first: [{:id … :question … :choices … :call … :role … :spawn … :state … :deadline …}]. One in the state :unknown waits for resume!.", c.inbox),
		bind.Func("show", "([id])", "Gives a question, also one that is answered: {:id … :state … :answer … :by … :note …}.", c.showAsk),
		bind.Func("answer!", "([id text] [id text by])", "Answers a question. An approval takes \"yes\", \"no\" or \"no: the reason\". by, who answers, is recorded.", c.answerAsk),
		bind.Func("resume!", "([id] [id note])", "Decides about a question in the state :unknown: its answer is sent to the agent once more, or, for an approved call that may or may not have been made, note tells the agent what became of it.", c.resumeAsk),
		bind.Func("withdraw!", "([id] [id why])", "Takes a question back. The spawn that waits for it ends as :cancelled.", c.withdrawAsk),
		bind.Func("channel!", "([channel])", "Says how questions reach a person: :repl (a line where the operator sees it; the default), :http (only the inbox), {:send f}, a function of the question, {:exec [\"command\" …]}, a command that gets it as JSON on its standard input, or a vector of those.", c.setChannel),
		bind.Func("wait", "([id])", "Waits until the spawn that asked has ended, for good, and gives what spawn would. id is that of a question or of a spawn.", c.waitAsk),
	}
}

// askPerson is zeno.ask/ask.
func (c *Core) askPerson(ctx context.Context, t *value.Thread, text string, o *askOptions) (string, error) {
	if o == nil {
		o = &askOptions{}
	}
	q := c.question(t, text, *o)
	q.Kind, q.Owner, q.Waited = ask.Program, c.asks.owner, true
	if !o.Key.IsNil() {
		q.Key = c.keyText(t, o.Key)
	}
	d, err := c.asks.open()
	if err != nil {
		return "", err
	}
	q, err = d.Ask(ctx, q, time.Duration(o.Timeout), nil)
	if err != nil {
		return "", err
	}
	if q.State == ask.Asked && !q.Sent {
		c.asks.forward(d)
		c.asks.send(d, q)
	}
	asked := q
	q, err = d.Wait(ctx, q.ID, func(q ask.Ask) bool { return q.State.Final(q.Kind) })
	if err != nil {
		if asked.Key == "" {
			c.asks.leave(d, asked)
		}
		return "", err
	}
	if q.State != ask.Answered {
		ex := value.Errorf("ExceptionInfo", "question %s: %s", q.ID, q.Note)
		ex.Data = value.NewMap(t, value.Kw("zeno/ask"), value.Kw(string(q.State)), value.Kw("id"), value.Str(q.ID))
		panic(ex)
	}
	return q.Answer, nil
}

// leave takes back a question that nobody waits for any more.
func (a *asks) leave(d *ask.Desk, q ask.Ask) {
	_, _, err := d.Move(a.ctx(), q.ID, func(q *ask.Ask) bool {
		q.State, q.Note = ask.Withdrawn, "the evaluation that asked has ended"
		return true
	}, ask.Asked)
	if !errors.Is(err, ask.ErrShut) { // then the next start takes it back
		a.warned(err)
	}
}

func (c *Core) inbox(ctx context.Context) ([]askForm, error) {
	list, err := c.Inbox(ctx)
	out := make([]askForm, len(list))
	for i, q := range list {
		out[i] = askFormOf(q)
	}
	return out, err
}

func (c *Core) showAsk(ctx context.Context, id string) (askForm, error) {
	q, err := c.AskOf(ctx, id)
	return askFormOf(q), err
}

// operator is who answers where nobody is named.
const operator = "operator"

func (c *Core) answerAsk(ctx context.Context, id, text string, by *string) (askForm, error) {
	who := operator
	if by != nil && *by != "" {
		who = *by
	}
	q, err := c.Answer(ctx, id, text, who)
	return askFormOf(q), err
}

func (c *Core) resumeAsk(ctx context.Context, id string, note *string) (askForm, error) {
	q, err := c.ResumeAsk(ctx, id, orEmpty(note), operator)
	return askFormOf(q), err
}

func (c *Core) withdrawAsk(ctx context.Context, id string, why *string) (askForm, error) {
	q, err := c.WithdrawAsk(ctx, id, orEmpty(why), operator)
	return askFormOf(q), err
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// waitAsk is zeno.ask/wait.
func (c *Core) waitAsk(ctx context.Context, id string) (any, error) {
	spawn := id
	if q, err := c.AskOf(ctx, id); err == nil {
		if spawn = q.Spawn; spawn == "" {
			return nil, fmt.Errorf("question %s: got one of the program, want one of a spawn", q.ID)
		}
	}
	res, err := c.AskedResult(ctx, spawn)
	if err != nil {
		return nil, err
	}
	return c.result(res, nil), nil
}

// AskedResult waits until a spawn that asked a person has ended, for good, and gives how.
func (c *Core) AskedResult(ctx context.Context, id string) (spawn.Result, error) {
	d, err := c.asks.desk(id)
	if err != nil {
		return spawn.Result{}, err
	}
	sp, err := d.WaitSpawn(ctx, id)
	if err != nil {
		return spawn.Result{}, err
	}
	if sp.ID == "" {
		return spawn.Result{}, fmt.Errorf("spawn %s: it has asked nothing", id)
	}
	return lastResult(sp), nil
}
