package nrepl

import (
	"strings"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// op is something that a client may ask for.
type op struct {
	name     string
	doc      string
	requires string // keys, separated by spaces
	optional string
	returns  string
	run      func(r *request)
	plain    bool // nREPL's own: it has no name with cider/ before it
}

// table makes the ops by name. Those that came with cider-nrepl are known by both of their names.
func (s *Server) table() map[string]*op {
	out := map[string]*op{}
	for _, list := range [][]op{s.coreOps(), s.lookOps(), s.namespaceOps(), s.errorOps(), s.codeOps(), s.testOps(), s.inspectOps()} {
		for _, o := range list {
			out[o.name] = &o
			if !o.plain {
				out["cider/"+o.name] = &o
			}
		}
	}
	return out
}

func (s *Server) coreOps() []op {
	const printKeys = " nrepl.middleware.print/print nrepl.middleware.print/options nrepl.middleware.print/stream? nrepl.middleware.print/buffer-size nrepl.middleware.print/quota"
	ops := []op{
		{name: "auth", doc: "Shows the token of a server that wants one; any first request may carry it.", requires: "token", run: func(r *request) { r.answer(nil) }},
		{name: "clone", doc: "Makes a session, in the namespace user, with the *1 *2 *3 *e of the one that is named.", optional: "session client-name client-version", returns: "new-session", run: s.opClone},
		{name: "close", doc: "Ends a session; what it runs is interrupted.", requires: "session", run: s.opClose},
		{name: "describe", doc: "Says what the server is and can do.", optional: "verbose?", returns: "ops versions aux", run: s.opDescribe},
		{name: "eval", doc: "Evaluates the forms of code in order; each gives a value or an error.", requires: "code", optional: "session id ns file line column inspect" + printKeys, returns: "value ns out err ex root-ex", run: s.opEval},
		{name: "load-file", doc: "Evaluates the text of a file as a whole and gives the value of its last form.", requires: "file", optional: "session id file-path file-name" + printKeys, returns: "value out err ex root-ex", run: s.opLoadFile},
		{name: "interrupt", doc: "Stops the evaluation with the id, or the one that runs.", requires: "session", optional: "interrupt-id", run: s.opInterrupt},
		{name: "stdin", doc: "Gives text to those who read *in*; \"\" is its end.", requires: "stdin", optional: "session", run: s.opStdin},
		{name: "ls-sessions", doc: "Lists the sessions.", returns: "sessions", run: s.opLsSessions},
	}
	for i := range ops {
		ops[i].plain = true
	}
	return ops
}

func (s *Server) opDescribe(r *request) {
	verbose := flag(r.msg["verbose?"]) || flag(r.msg["verbose"])
	ops := bencode.Dict{}
	for name, o := range s.ops {
		ops[name] = bencode.Dict{}
		if verbose {
			ops[name] = bencode.Dict{"doc": o.doc, "requires": keys(o.requires), "optional": keys(o.optional), "returns": keys(o.returns)}
		}
	}
	r.answer(bencode.Dict{
		"ops": ops,
		"versions": bencode.Dict{"zeno": bencode.Dict{"version-string": s.conf.Version},
			"nrepl": bencode.Dict{"major": "1", "minor": "7", "incremental": "0", "version-string": "1.7.0"}},
		"aux": bencode.Dict{"current-ns": r.ses.lisp().Namespace().Name},
	})
}

func keys(list string) bencode.Dict {
	d := bencode.Dict{}
	for _, k := range strings.Fields(list) {
		d[k] = ""
	}
	return d
}
