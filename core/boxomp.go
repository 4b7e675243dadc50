package core

import (
	"strings"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/lisp/value"
)

// ompArgv is what zeno.sandbox/omp runs where it is given no :argv; the prompt is :in.
func ompArgv() []string { return []string{"omp", "-p", "--mode", "json"} }

// omp is zeno.sandbox/omp: run for a program that prints the stream of omp, with the answer taken out of it. It is a program
// in a box and no spawn: it has no endpoint and no role.
func (b *boxes) omp(t *value.Thread, f boxForm) (value.Value, error) {
	if len(f.Argv) == 0 && f.Image == "" {
		f.Argv = ompArgv()
	}
	res, err := b.execute(t, f)
	if err != nil {
		return value.Nil, err
	}
	r := backend.NewReader(backend.Table()[backend.Default].Stream)
	for line := range strings.Lines(res.Out) {
		r.Line([]byte(line))
	}
	text := func(s string, there bool) value.Value {
		if !there {
			return value.Nil
		}
		return value.Str(s)
	}
	u := r.Usage()
	usage := value.NewMap(t, value.Kw("tokens-in"), value.Int(u.TokensIn), value.Kw("tokens-out"), value.Int(u.TokensOut), value.Kw("usd"), value.Float(u.USD))
	v := boxResult(t, res)
	for _, kv := range [][2]value.Value{{value.Kw("answer"), text(r.Answer, r.Answered)}, {value.Kw("session"), text(r.Session, r.Session != "")},
		{value.Kw("error"), text(r.Err, r.Err != "")}, {value.Kw("usage"), usage}} {
		v = value.Assoc(t, v, kv[0], kv[1])
	}
	return v, nil
}
