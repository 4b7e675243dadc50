package lisp

import (
	"context"
	"io"

	"github.com/reflection-dev/zeno/lisp/compile"
	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/read"
	"github.com/reflection-dev/zeno/lisp/value"
)

// Session is one conversation with a trusted environment: a REPL, or one client of several. The namespace it is in, *1
// *2 *3 *e and the printing options are its own and last from one evaluation to the next; everything else is shared with
// whoever else uses the environment. Sessions run in parallel; evaluations of one session run one at a time.
type Session struct {
	env   *Env
	binds *value.Bindings       // the cells are the session's; set! and in-ns write to them
	cells map[string]*value.Box // those of binds, by name; never written once made
	turn  chan struct{}         // taken by the evaluation that runs
	said  []text                // what was evaluated as REPL before, for errors in what it defined; of the turn
}

// Input is one text to evaluate in a session.
type Input struct {
	Src          string
	File         string                         // for positions and *file*; "" is REPL
	Line, Column int                            // of the first character of Src; 0 is 1
	Out, Err     io.Writer                      // where *out* and *err* go; nil: where the environment's go
	In           io.Reader                      // *in*; nil: the environment's
	NS           *value.Namespace               // where to evaluate, for this text only; nil: where the session is
	Each         func(t *value.Thread, v Value) // called with the value of every form, as soon as it is there; may be nil
	Last         func(t *value.Thread, v Value) // called with the value of the last form, once all have been evaluated; may be nil

	// Failed, if not nil, is called with the error of a form before the next is read; true goes on with that. After a
	// fault in the text, or once ctx has ended, nothing comes next whatever it says.
	Failed func(err *Error) bool
}

// sessionVars are the dynamic vars that a session holds of its own: those that code sets to last.
func sessionVars() []string {
	return []string{"*ns*", "*1", "*2", "*3", "*e", "*file*", "*print-length*", "*print-level*", "*print-meta*",
		"*print-namespace-maps*", "*data-readers*", "*default-data-reader-fn*", "*assert*", "*warn-on-reflection*",
		"*unchecked-math*", "*math-context*"}
}

// NewSession starts a conversation in the namespace user.
func NewSession(e *Env) *Session {
	s := &Session{env: e, turn: make(chan struct{}, 1)}
	s.bind(func(v *value.Var) Value {
		root, _ := v.Root()
		return root
	})
	s.Set("*ns*", value.Of(e.user))
	return s
}

// Fork starts another conversation where s is now: what set! does in one is not seen in the other.
func (s *Session) Fork() *Session {
	n := &Session{env: s.env, turn: make(chan struct{}, 1)}
	n.bind(func(v *value.Var) Value { return s.value(v) })
	return n
}

func (s *Session) bind(initial func(*value.Var) Value) {
	t := s.env.Thread(context.Background())
	var vars []*value.Var
	var vals []Value
	for _, name := range sessionVars() {
		if v := s.env.env.Core.Var(name); v != nil {
			vars, vals = append(vars, v), append(vals, initial(v))
		}
	}
	t.Bind(vars, vals)
	s.binds, s.cells = t.Binds, make(map[string]*value.Box, len(vars))
	for _, v := range vars {
		s.cells[v.Name] = t.Box(v)
	}
}

func (s *Session) value(v *value.Var) Value {
	if b := s.cells[v.Name]; b != nil {
		return b.Get()
	}
	root, _ := v.Root()
	return root
}

// Value gives what a core var, such as *1 or *print-length*, is in the session; nil where there is no such var.
func (s *Session) Value(name string) Value {
	if b := s.cells[name]; b != nil {
		return b.Get()
	}
	if v := s.env.env.Core.Var(name); v != nil {
		return s.value(v)
	}
	return value.Nil
}

// Set gives one of the session's own vars a value. A name that is none is ignored.
func (s *Session) Set(name string, x Value) {
	if b := s.cells[name]; b != nil {
		b.Set(x)
	}
}

// Namespace is where the session is.
func (s *Session) Namespace() *value.Namespace {
	if v := s.Value("*ns*"); v.Kind() == value.KindNamespace {
		return value.As[value.Namespace](v)
	}
	return s.env.user
}

// Env is the environment that the session talks to.
func (s *Session) Env() *Env { return s.env }

// Eval evaluates every form of in, in order, and gives the value of the last. It stops at the first error that in.Failed
// does not let pass, and soon after ctx ends; *e holds the last error. It waits for its turn while another evaluation of
// the session runs.
func (s *Session) Eval(ctx context.Context, in Input) (Value, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return value.Nil, &Error{Kind: "cancelled", Message: "evaluation: cancelled while another one of the session ran", err: ctx.Err()}
	}
	if in.File == "" {
		in.File = "REPL"
	}
	t := s.thread(ctx, in)
	defer t.Flush()
	return s.forms(t, in)
}

// thread makes the thread of one evaluation: the session's cells, and in's streams over them.
func (s *Session) thread(ctx context.Context, in Input) *value.Thread {
	run := s.env.run(ctx)
	if in.Out != nil {
		run.Out = in.Out
	}
	t := value.NewThread(run, s.env.env)
	t.Binds = s.binds
	s.Set("*file*", value.Str(in.File))
	var vars []*value.Var
	var vals []Value
	bind := func(name string, given bool, make func() Value) {
		if v := s.env.env.Core.Var(name); given && v != nil {
			vars, vals = append(vars, v), append(vals, make())
		}
	}
	bind("*out*", in.Out != nil, func() Value { return corelib.NewWriter(in.Out) })
	bind("*err*", in.Err != nil, func() Value { return corelib.NewWriter(in.Err) })
	bind("*in*", in.In != nil, func() Value { return corelib.NewReader(in.In) })
	bind("*ns*", in.NS != nil, func() Value { return value.Of(in.NS) })
	if len(vars) > 0 {
		t.Bind(vars, vals)
	}
	return t
}

func (s *Session) forms(t *value.Thread, in Input) (Value, error) {
	texts := texts{in.File: s.says(in)} // positions count from Line
	r := read.New(t, in.Src, readOptions(t, s.env.rt, in.File, in.Line, in.Column))
	last := value.Nil
	for {
		more, from := true, r.Offset()
		form, err := boundary(t, texts, func() Value {
			form, err := r.Read()
			if err != nil && err != io.EOF {
				panic(readException(err))
			}
			more = err == nil
			noteForm(t, in.Src, from, r.Offset())
			return form
		})
		if err != nil {
			s.failed(err, in)
			return value.Nil, err
		}
		if !more {
			return s.last(t, texts, last, in)
		}
		v, err := boundary(t, texts, func() Value { return s.form(t, form, in) })
		switch {
		case err == nil:
			last = v
		case !s.failed(err, in) || t.Unwinding():
			return value.Nil, err
		}
		r.InNS(t.NS().Name)
	}
}

// What a session keeps of the texts before.
const (
	saidTexts = 500
	saidBytes = 1 << 20
)

// says notes the text of in and gives it with those before, whose lines come before its own: the typed lines of a REPL.
func (s *Session) says(in Input) text {
	now := text{src: in.Src, line: max(in.Line, 1)}
	if in.File != "REPL" {
		return now
	}
	if n := len(s.said); n > 0 && s.said[n-1].line >= now.line {
		s.said = nil // who evaluates does not count lines
	}
	size := len(in.Src)
	for i := len(s.said) - 1; i >= 0; i-- {
		if size += len(s.said[i].src); size > saidBytes || len(s.said)-i >= saidTexts {
			s.said = append([]text(nil), s.said[i+1:]...)
			break
		}
	}
	all := text{src: now.src, line: now.line, earlier: s.said}
	s.said = append(s.said, now)
	return all
}

// last ends an evaluation with the value v.
func (s *Session) last(t *value.Thread, texts texts, v Value, in Input) (Value, error) {
	if in.Last == nil {
		return v, nil
	}
	v, err := boundary(t, texts, func() Value {
		in.Last(t, v)
		return v
	})
	if err != nil {
		s.failed(err, in)
	}
	return v, err
}

func (s *Session) form(t *value.Thread, form Value, in Input) Value {
	v := compile.Eval(t, form)
	t.Safepoint() // what was cancelled while it waited has no value
	s.shift(v)
	if in.Each != nil {
		in.Each(t, v)
	}
	return v
}

// shift makes v the last value.
func (s *Session) shift(v Value) {
	s.Set("*3", s.Value("*2"))
	s.Set("*2", s.Value("*1"))
	s.Set("*1", v)
}

// failed notes an error and tells whether to go on with the next form.
func (s *Session) failed(err error, in Input) bool {
	le, ok := err.(*Error)
	ex := value.Nil
	if ok {
		ex = le.Value
	}
	if ex.IsNil() {
		ex = value.Of(value.WrapError(err))
	}
	s.Set("*e", ex)
	return ok && in.Failed != nil && in.Failed(le)
}

// Incomplete tells whether src ends inside a form, so that more text may complete it. Nothing is evaluated.
func (s *Session) Incomplete(src string) bool {
	t := s.env.Thread(context.Background())
	t.Binds = s.binds
	incomplete := false
	_, _ = boundary(t, nil, func() Value {
		r := read.New(t, src, readOptions(t, s.env.rt, "", 1, 1))
		for {
			_, err := r.Read()
			if err != nil {
				re, ok := err.(*read.Error)
				incomplete = ok && re.Incomplete
				return value.Nil
			}
		}
	})
	return incomplete
}

// Explore makes what one looks things up with (doc, source, apropos, dir, find-doc and pst) known in the namespace user,
// where the session's talk is with a person.
func (s *Session) Explore() error {
	_, err := s.env.Do(context.Background(), func(t *value.Thread) Value {
		t.Bind([]*value.Var{s.env.env.NSVar}, []Value{value.Of(s.env.user)})
		return evalSource(t, s.env.rt, "(require '[clojure.repl :refer [doc source apropos dir find-doc pst]])", "session", 1, 1)
	})
	return err
}
