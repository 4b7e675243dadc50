package backend

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Usage is what a run cost so far.
type Usage struct {
	TokensIn, TokensOut int64
	// CacheRead and CacheWrite are parts of TokensIn.
	CacheRead, CacheWrite int64
	USD                   float64
}

func (u Usage) plus(v Usage) Usage {
	return Usage{TokensIn: add(u.TokensIn, v.TokensIn), TokensOut: add(u.TokensOut, v.TokensOut),
		CacheRead: add(u.CacheRead, v.CacheRead), CacheWrite: add(u.CacheWrite, v.CacheWrite), USD: min(u.USD+v.USD, maxUSD)}
}

func (u Usage) minus(v Usage) Usage {
	return Usage{TokensIn: max(u.TokensIn-v.TokensIn, 0), TokensOut: max(u.TokensOut-v.TokensOut, 0),
		CacheRead: max(u.CacheRead-v.CacheRead, 0), CacheWrite: max(u.CacheWrite-v.CacheWrite, 0), USD: max(u.USD-v.USD, 0)}
}

// maxTokens and maxUSD bound what is added up.
const (
	maxTokens = 1 << 60
	maxUSD    = 1e18
)

func add(a, b int64) int64 { return min(a+b, maxTokens) } // neither is more than maxTokens

// Call is one tool call the stream shows.
type Call struct {
	Tool, Code string
}

// Update is what one line added.
type Update struct {
	// JSON tells whether the line was a JSON object; Type is its "type", for a summary.
	JSON bool
	Type string
	// Tools is the CLI's own report of what it offers; Reported tells an empty report from none.
	Tools    []string
	Reported bool
	MCP      string
	Session  string
	Texts    []string
	Calls    []Call
	Done     []string
	Advice   []string
	// Usage tells that the reader's Usage changed.
	Usage bool
}

// Reader applies stream rules to lines. It is for one goroutine.
type Reader struct {
	rules []Rule
	// Session, Answer and Err are the last ones seen; Answered tells an empty answer from none.
	Session, Answer, Err string
	Answered             bool
	// Advice is what an advisor of the CLI's own said, at most maxAdvice of it.
	Advice []string
	// Before is what earlier runs of the session used, where the stream is Cumulative.
	Before Usage

	joining bool              // the answer is made of pieces, and more may come
	calls   map[string]string // call-id -> tool

	sum   Usage
	per   map[string]Usage
	total *Usage
}

// maxKeys bounds how many Per keys a stream may use; beyond, usage of new keys goes into the sum. It bounds the calls that
// wait for their end, too.
const maxKeys = 10000

// maxAdvice bounds the pieces of advice that are kept of a run.
const maxAdvice = 100

// NewReader reads by the rules of s, which Validate has accepted.
func NewReader(s Stream) *Reader {
	return &Reader{rules: s.Rules, per: map[string]Usage{}, calls: map[string]string{}}
}

// Usage is the cost of this run so far.
func (r *Reader) Usage() Usage { return r.Total().minus(r.Before) }

// Total is the cost so far: the total the stream gave, else what was counted.
func (r *Reader) Total() Usage {
	counted := r.sum
	for _, u := range r.per {
		counted = counted.plus(u)
	}
	if r.total == nil {
		return counted
	}
	total := *r.total
	// A CLI whose total leaves something out must not lower what its own messages added up to.
	total.TokensIn = max(total.TokensIn, counted.TokensIn)
	total.TokensOut = max(total.TokensOut, counted.TokensOut)
	total.CacheRead = max(total.CacheRead, counted.CacheRead)
	total.CacheWrite = max(total.CacheWrite, counted.CacheWrite)
	total.USD = max(total.USD, counted.USD)
	return total
}

// Line reads one line. Anything that is not a JSON object is no error: CLIs print notices among their events.
func (r *Reader) Line(line []byte) Update {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return Update{}
	}
	var object map[string]any
	if err := json.Unmarshal(line, &object); err != nil {
		return Update{}
	}
	u := Update{JSON: true}
	u.Type, _ = object["type"].(string)
	answered := false
	for _, rule := range r.rules {
		if !matches(object, rule.When) {
			continue
		}
		if rule.Each == "" {
			r.take(&u, rule, object, object, &answered)
			continue
		}
		for _, item := range lookup(object, rule.Each+".*") {
			if matches(item, rule.If) {
				r.take(&u, rule, object, item, &answered)
			}
		}
	}
	return u
}

// take reads a rule's facts from node, which is the line itself or an item of it.
func (r *Reader) take(u *Update, rule Rule, line, node any, answered *bool) {
	text := func(fact string) string { return firstText(node, rule.Take[fact]) }
	if s := text("session"); s != "" {
		r.Session, u.Session = s, s
	}
	if s := text("mcp"); s != "" {
		u.MCP = s
	}
	if s := text("text"); s != "" {
		u.Texts = append(u.Texts, s)
	}
	if s := text("advice"); s != "" {
		u.Advice = append(u.Advice, s)
		if len(r.Advice) < maxAdvice {
			r.Advice = append(r.Advice, s)
		}
	}
	if s := text("call"); s != "" {
		u.Calls = append(u.Calls, Call{Tool: s, Code: text("code")})
		r.Err, r.joining = "", false
		if id := text("call-id"); id != "" && len(r.calls) < maxKeys {
			r.calls[id] = s
		}
	}
	if s := text("done"); s != "" {
		u.Done = append(u.Done, s)
	}
	if id := text("done-id"); r.calls[id] != "" {
		u.Done = append(u.Done, r.calls[id])
		delete(r.calls, id)
	}
	r.takeTools(u, rule, node)
	r.takeAnswer(rule, node, answered)
	if s := text("error"); s != "" {
		r.Err = s
	}
	r.takeUsage(u, rule, line, node)
}

func (r *Reader) takeTools(u *Update, rule Rule, node any) {
	for _, path := range rule.Take["tools"] {
		for _, found := range lookup(node, path) {
			list, ok := found.([]any)
			if !ok {
				continue
			}
			u.Reported = true
			for _, item := range list {
				if name, ok := item.(string); ok {
					u.Tools = append(u.Tools, name)
				}
			}
		}
	}
}

func (r *Reader) takeAnswer(rule Rule, node any, answered *bool) {
	for _, path := range rule.Take["answer"] {
		for _, found := range lookup(node, path) {
			s, ok := found.(string)
			if !ok {
				continue
			}
			if !*answered && !(rule.Piece && r.joining) {
				r.Answer = ""
			}
			r.joining = rule.Piece
			r.Answer += s
			*answered, r.Answered, r.Err = true, true, ""
			return
		}
	}
}

func (r *Reader) takeUsage(u *Update, rule Rule, line, node any) {
	in, out, usd := rule.Take["tokens-in"], rule.Take["tokens-out"], rule.Take["usd"]
	if in == nil && out == nil && usd == nil {
		return
	}
	use := Usage{TokensIn: int64(sum(node, in)), TokensOut: int64(sum(node, out)), USD: sum(node, usd),
		CacheRead: int64(sum(node, rule.Take["cache-read"])), CacheWrite: int64(sum(node, rule.Take["cache-write"]))}
	u.Usage = true
	key := ""
	if rule.Per != "" {
		key = firstText(line, []string{rule.Per})
	}
	_, known := r.per[key]
	switch {
	case rule.Total:
		r.total = &use
	case key != "" && (known || len(r.per) < maxKeys):
		r.per[key] = use
	default:
		r.sum = r.sum.plus(use)
	}
}

// lookup returns every value at path below node.
func lookup(node any, path string) []any {
	nodes := []any{node}
	for key := range strings.SplitSeq(path, ".") {
		var next []any
		for _, n := range nodes {
			next = append(next, step(n, key)...)
		}
		nodes = next
	}
	return nodes
}

func step(node any, key string) []any {
	switch v := node.(type) {
	case map[string]any:
		if key != "*" {
			if item, ok := v[key]; ok {
				return []any{item}
			}
			return nil
		}
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, item)
		}
		return items
	case []any:
		if key == "*" {
			return v
		}
		if i, ok := index(key, len(v)); ok {
			return v[i : i+1]
		}
	}
	return nil
}

// index parses a list index below n.
func index(key string, n int) (int, bool) {
	i := 0
	for _, c := range key {
		if c < '0' || c > '9' || i > n {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, key != "" && i < n
}

// matches tells whether node holds, at each path, one of the wanted scalars. A path that holds nothing matches false.
func matches(node any, want map[string]any) bool {
	for path, value := range want {
		values, list := value.([]any)
		if !list {
			values = []any{value}
		}
		if !anyEqual(lookup(node, path), values) {
			return false
		}
	}
	return true
}

func anyEqual(found, wanted []any) bool {
	if len(found) == 0 {
		found = []any{false}
	}
	for _, f := range found {
		for _, w := range wanted {
			if scalarEqual(f, w) {
				return true
			}
		}
	}
	return false
}

func scalarEqual(found, wanted any) bool {
	switch w := wanted.(type) {
	case int:
		return found == float64(w)
	case int64:
		return found == float64(w)
	case string, bool, float64:
		return found == w
	}
	return false
}

func firstText(node any, paths []string) string {
	for _, path := range paths {
		for _, found := range lookup(node, path) {
			if s, ok := found.(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// maxCount bounds one number of a stream, so that no line can overflow a counter.
const maxCount = 1e12

// sum adds the numbers at paths. What is negative counts as nothing, what is absurd as maxCount: a CLI must not come under
// a budget by claiming too much.
func sum(node any, paths []string) float64 {
	total := 0.0
	for _, path := range paths {
		for _, found := range lookup(node, path) {
			if f, ok := found.(float64); ok && f > 0 {
				total += min(f, maxCount)
			}
		}
	}
	return min(total, maxCount)
}
