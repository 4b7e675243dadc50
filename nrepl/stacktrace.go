package nrepl

import (
	"strings"

	"github.com/reflection-dev/zeno/lisp/corelib"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// errorOps are the ops that tell of the last error.
func (s *Server) errorOps() []op {
	run := func(r *request) { s.stacktrace(r, r.ses.lisp().Value("*e")) }
	return []op{
		{name: "stacktrace", doc: "Sends each cause of the last error with its stack.", returns: "class message data stacktrace", run: run},
		{name: "analyze-last-stacktrace", doc: "Sends each cause of the last error with its stack.", returns: "class message data location stacktrace", run: run},
	}
}

// maxCauses bounds the chain of causes that is sent.
const maxCauses = 20

// stacktrace sends the exception e and what caused it, a message each.
func (s *Server) stacktrace(r *request, e value.Value) {
	if e.Kind() != value.KindException {
		r.finish(nil, "no-error", "done")
		return
	}
	err := s.tool(r, func(t *value.Thread, _ *value.Namespace) {
		for n := 0; e.Kind() == value.KindException && n < maxCauses; n++ {
			ex := value.As[value.Exception](e)
			r.reply(s.cause(t, ex))
			e = ex.Cause
		}
	})
	if err != nil {
		r.finish(bencode.Dict{"message": err.Error()}, "error", r.op+"-error", "done")
		return
	}
	r.answer(nil)
}

func (s *Server) cause(t *value.Thread, ex *value.Exception) bencode.Dict {
	frames := []bencode.Dict{}
	for _, f := range ex.Trace {
		frames = append(frames, s.frame(f))
	}
	d := bencode.Dict{"class": ex.Class, "message": ex.Error(), "stacktrace": frames}
	if !ex.Data.IsNil() {
		d["data"], _ = corelib.Pretty(t, ex.Data, corelib.Layout{Length: 100, Level: 20, MaxBytes: 64 << 10})
	}
	if p := ex.Pos; p != nil && (ex.Class == "CompilerException" || ex.Class == "UnresolvedSymbolException" || ex.Class == "ParseError") {
		d["location"] = bencode.Dict{"clojure.error/source": p.File, "clojure.error/line": int(p.Line), "clojure.error/column": int(p.Column)}
	}
	return d
}

// frame is a line of a stack: a function, and where it was when it made the next call.
func (s *Server) frame(f value.Frame) bencode.Dict {
	name := "user/eval"
	flags := []string{"clj", "project"}
	if f.Code != nil {
		name = f.Code.Name
		if f.Code.Builtin != nil {
			flags = []string{"clj", "tooling"}
		}
	}
	ns, fn := value.SplitName(name)
	d := bencode.Dict{"name": name, "ns": ns, "fn": fn, "var": name, "class": ns, "method": fn, "type": "clj", "flags": flags, "file": evalFile, "line": 0}
	if p := f.Pos; p != nil {
		d["file"], d["line"], d["column"] = base(p.File), int(p.Line), int(p.Column)
		d["file-url"] = s.files.uri(ns, p.File)
	}
	return d
}

func base(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }
