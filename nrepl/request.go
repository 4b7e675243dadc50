package nrepl

import (
	"strconv"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// maxEcho bounds, in bytes, what of a request goes back with every reply.
const maxEcho = 4 << 10

// request is one message of a client, and the way to answer it.
type request struct {
	c      *conn
	msg    bencode.Dict
	op     string
	id     any    // echoed as it came; nil: none
	sid    string // the session's, for replies
	ses    *session
	held   int64
	queued bool // it is released when its job has run

	answered bool // the last message has been sent
}

// open reads what every request has. What is too long to be echoed, or of no use, is refused.
func (r *request) open() bool {
	r.sid = r.c.own.id
	if id, ok := r.msg["id"]; ok && echoes(id) {
		r.id = id
	} else if ok {
		r.finish(bencode.Dict{"message": "id: got one of more than 4096 bytes, want a short one"}, "error", "bad-argument", "done")
		return false
	}
	op, ok := r.msg["op"].(string)
	if !ok || len(op) > maxEcho {
		r.finish(bencode.Dict{"message": "op: got none or no short string, want the name of an op; see describe"}, "error", "unknown-op", "done")
		return false
	}
	r.op = op
	return true
}

func echoes(v any) bool {
	b, err := bencode.Append(nil, v)
	return err == nil && len(b) <= maxEcho
}

// enter finds the session of the request; false where there is none of that name.
func (r *request) enter() bool {
	v, given := r.msg["session"]
	name, isText := v.(string)
	if isText && len(name) <= maxEcho && name != "" {
		r.sid = name
	}
	switch {
	case !given, isText && name == "", isEmpty(v):
		r.ses = r.c.own
		return true
	case !isText:
		return false
	case name == r.c.own.id:
		r.ses = r.c.own
		return true
	}
	r.ses = r.c.s.session(name)
	if r.ses == nil {
		return false
	}
	r.c.uses(r.ses)
	r.ses.touch()
	return true
}

// isEmpty tells whether v is how clients write nil.
func isEmpty(v any) bool {
	l, ok := v.([]any)
	return ok && len(l) == 0
}

// dress adds the id and the session to a reply.
func (r *request) dress(m bencode.Dict) bencode.Dict {
	if m == nil {
		m = bencode.Dict{}
	}
	if r.id != nil {
		m["id"] = r.id
	}
	m["session"] = r.sid
	return m
}

// reply sends a message that is not the last. A client that has gone is nobody's error.
func (r *request) reply(m bencode.Dict) { _ = r.c.out.send(r.c.ctx, r.dress(m)) }

// finish sends the last message: m with the status.
func (r *request) finish(m bencode.Dict, status ...string) {
	m = r.dress(m)
	m["status"] = status
	r.answered = true
	_ = r.c.out.send(r.c.ctx, m) // as in reply
}

// answer sends m as the last message of a request that succeeded.
func (r *request) answer(m bencode.Dict) { r.finish(m, "done") }

// bad says that a key holds what the op cannot use.
func (r *request) bad(key, want string) {
	r.finish(bencode.Dict{"message": r.op + ": got no usable " + key + ", want " + want}, "error", "bad-argument", "done")
}

func (r *request) release() {
	r.c.s.held.Add(-r.held)
	r.held = 0
}

// text gives the first of the keys that holds a string which is not empty.
func (r *request) text(keys ...string) string {
	for _, k := range keys {
		if s, ok := r.msg[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// wrong tells whether key holds something else than a string or what clients write for nil.
func (r *request) wrong(key string) bool {
	v, ok := r.msg[key]
	if _, isText := v.(string); !ok || isText || isEmpty(v) {
		return false
	}
	return true
}

// number gives the number under a key, as an integer or as text; fallback where there is none above zero. It is at most
// a billion.
func (r *request) number(key string, fallback int) int { return number(r.msg[key], fallback) }

func number(v any, fallback int) int {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case string:
		n, _ = strconv.ParseInt(v, 10, 64) // what is no number is 0
	}
	if n <= 0 {
		return fallback
	}
	return int(min(n, 1_000_000_000))
}

// flag tells whether a key is set: clients write false as nothing, an empty list, "" or 0.
func flag(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != "" && v != "false" && v != "nil"
	case int64:
		return v != 0
	case []any:
		return len(v) > 0
	}
	return true
}

// texts gives the strings of a list.
func texts(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
