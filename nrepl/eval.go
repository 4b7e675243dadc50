package nrepl

import (
	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// evalFile is the name that positions have where the client gives none.
const evalFile = "REPL"

// opEval evaluates the forms of a text. A form that fails is reported and the next one runs, as at a prompt.
func (s *Server) opEval(r *request) {
	code, ok := r.msg["code"].(string)
	if !ok {
		r.finish(bencode.Dict{"message": "eval: got no code, want a string"}, "error", "no-code", "done")
		return
	}
	if r.wrong("ns") {
		r.bad("ns", "the name of a namespace as a string")
		return
	}
	r.submit(func(j *job) {
		ns, ok := j.namespace(r.text("ns"))
		if !ok {
			return
		}
		p := newPrinting(r.msg, s.conf.MaxValue)
		state := j.begin()
		in := j.input(code, r.text("file"))
		in.Line, in.Column, in.NS = r.number("line", 1), r.number("column", 1), ns
		fails := &failures{j: j, file: in.File, line: in.Line}
		in.Each = func(t *value.Thread, v value.Value) {
			fails.printing = true
			j.value(t, p, v, t.NS().Name)
			fails.printing = false
		}
		if flag(r.msg["inspect"]) {
			in.Each = nil
			in.Last = func(t *value.Thread, v value.Value) {
				fails.printing = true
				j.send(bencode.Dict{"value": j.shown(t, j.x.inspected().sized(r).start(v)), "ns": t.NS().Name})
			}
		}
		in.Failed = func(err *lisp.Error) bool {
			fails.report(err)
			return true
		}
		_, _ = state.Eval(j.ctx, in) // fails has reported what went wrong
	})
}

// opLoadFile evaluates a file as a whole: it stops at the first error, sends the value of the last form only, and leaves
// the session where it is.
func (s *Server) opLoadFile(r *request) {
	code, ok := r.msg["file"].(string)
	if !ok {
		r.finish(bencode.Dict{"message": "load-file: got no file, want its text as a string"}, "error", "no-file", "done")
		return
	}
	r.submit(func(j *job) {
		p := newPrinting(r.msg, s.conf.MaxValue)
		state := j.begin()
		in := j.input(code, r.text("file-path", "file-name", "filePath", "fileName"))
		in.NS = state.Namespace()
		fails := &failures{j: j, file: in.File, line: 1}
		in.Last = func(t *value.Thread, v value.Value) {
			fails.printing = true
			j.value(t, p, v, "")
		}
		in.Failed = func(err *lisp.Error) bool {
			fails.report(err)
			return false
		}
		_, _ = state.Eval(j.ctx, in) // fails has reported what went wrong
	})
}

// begin gives the state that the job evaluates in.
func (j *job) begin() *lisp.Session {
	if j.x.conn != nil {
		j.x.renew(lisp.NewSession(j.x.s.conf.Env))
	}
	return j.x.lisp()
}

// input is what both ops evaluate.
func (j *job) input(code, file string) lisp.Input {
	if file == "" {
		file = evalFile
	}
	return lisp.Input{Src: code, File: file, In: reader{j}, Out: stream{j.out, "out"}, Err: stream{j.out, "err"}}
}

// namespace finds the namespace that a request names: nil where it names none. It answers where there is none of that
// name. A request may name one that an evaluation before it makes, so this is asked when its turn has come.
func (j *job) namespace(name string) (ns *value.Namespace, ok bool) {
	if name == "" {
		return nil, true
	}
	ns = j.x.s.conf.Env.Raw().Namespace(name)
	if ns == nil {
		j.finish(bencode.Dict{"ns": name}, "error", "namespace-not-found", "done")
		return nil, false
	}
	return ns, true
}
