package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stream says how to read a CLI's standard output, one JSON object a line. Every rule that matches a line is applied, in
// order; a line no rule matches means nothing.
type Stream struct {
	Rules []Rule
	// Cumulative says that the totals are those of the whole session, the runs before a resume included.
	Cumulative bool
}

// Rule takes facts out of the lines it matches.
//
// A path is keys joined by dots; a number indexes a list, `*` stands for every item of a list or map.
type Rule struct {
	// When maps paths to the scalar, or the list of scalars, that the line must hold there.
	When map[string]any
	// Each, where given, is the path of a list; If is then checked, and Take read, on each of its items.
	Each string
	If   map[string]any
	// Take maps facts (see Facts) to the paths they are read from. Texts take the first path that holds something;
	// numbers are summed over all.
	Take map[string][]string
	// Per is a path on the line: usage of lines that agree there is counted once, the last line's.
	Per string
	// Piece says that an answer read by this rule is a piece of one: it is joined to those before it, back to the last call.
	Piece bool
	// Total says that usage read by this rule is that of the whole run and replaces what was counted.
	Total bool
}

// Facts are what a rule may take.
//
//	session    id to resume by
//	tools      the tool names the CLI offers to the model
//	mcp        state of zeno's MCP server as the CLI sees it
//	text       something the model said
//	call, code the tool the model calls, and the code it gives to eval
//	call-id    what tells this call from others
//	done       a tool that ran to its end without an error
//	done-id    the same, said by the call's call-id
//	answer     the final answer; within one line the parts are joined, a later line replaces
//	advice     what an advisor of the CLI's own told the model
//	error      why the run fails; a later answer or call takes it back
//	tokens-in, tokens-out, usd
//	cache-read, cache-write  how much of tokens-in came from a cache, or went into one
func Facts() []string {
	return []string{"session", "tools", "mcp", "text", "call", "code", "call-id", "done", "done-id", "answer", "advice", "error", "tokens-in", "tokens-out", "usd", "cache-read", "cache-write"}
}

// ReportsUsage tells whether the stream says what tokens a run uses, in and out; live, whether it does so while the run
// lasts, not only at its end.
func (b Backend) ReportsUsage() (reports, live bool) {
	has := func(fact string, live bool) bool {
		return slices.ContainsFunc(b.Stream.Rules, func(r Rule) bool { return len(r.Take[fact]) > 0 && !(live && r.Total) })
	}
	return has("tokens-in", false) && has("tokens-out", false), has("tokens-in", true) && has("tokens-out", true)
}

func (b Backend) checkStream() error {
	if len(b.Stream.Rules) == 0 {
		return b.wrong("stream.rules", "got none, want at least a rule that takes the answer")
	}
	answers := false
	for i, rule := range b.Stream.Rules {
		field := fmt.Sprintf("stream.rules[%d]", i)
		if err := b.checkMatch(field+".when", rule.When); err != nil {
			return err
		}
		if err := b.checkMatch(field+".if", rule.If); err != nil {
			return err
		}
		if len(rule.If) > 0 && rule.Each == "" {
			return b.wrong(field+".if", "got a condition without each, want when")
		}
		if len(rule.Take) == 0 {
			return b.wrong(field+".take", "got none, want facts to take: %s", strings.Join(Facts(), " "))
		}
		for _, fact := range slices.Sorted(maps.Keys(rule.Take)) {
			if !slices.Contains(Facts(), fact) {
				return b.wrong(field+".take."+fact, "got an unknown fact, want one of %s", strings.Join(Facts(), " "))
			}
			if len(rule.Take[fact]) == 0 {
				return b.wrong(field+".take."+fact, "got no path, want one or more")
			}
			answers = answers || fact == "answer"
		}
	}
	if !answers {
		return b.wrong("stream.rules", "got no rule that takes the answer, want one")
	}
	return nil
}

func (b Backend) checkMatch(field string, match map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(match)) {
		values, list := match[path].([]any)
		if !list {
			values = []any{match[path]}
		}
		for _, value := range values {
			switch value.(type) {
			case string, bool, float64, int, int64:
			default:
				return b.wrong(field+"."+path, "got a %T, want text, a number, a boolean, or a list of them", value)
			}
		}
	}
	return nil
}
