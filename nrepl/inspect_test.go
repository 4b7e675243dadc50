package nrepl

import (
	"strings"
	"testing"
)

// CIDER's inspector: it evaluates with the key inspect, and then asks for items by their numbers.
func TestInspector(t *testing.T) {
	p := open(t, start(t, Config{}))
	show := func(m Message, want ...string) string {
		t.Helper()
		ms := p.ask(m)
		text := text(ms, "value")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%v: got %q, want %s in it", m, text, w)
			}
		}
		if !strings.HasPrefix(text, "(") || !strings.HasSuffix(text, ")") || status(ms) != "done" {
			t.Errorf("%v: got %v, want a list, and done", m, ms)
		}
		return text
	}
	show(Message{"op": "inspect-refresh"}, `"nothing is inspected"`)
	show(Message{"op": "eval", "code": `1 {:a [1 "two\\" (range)] :b 2}`, "inspect": "true"},
		`"Count: " "2"`, `(:value ":a" 1)`, `(:value "[1 \"two\\\\\" (0 1 2 3 4 5 6 7 8 9 ...)]" 2)`, `(:value ":b" 3)`)
	show(Message{"op": "inspect-push", "idx": 2}, `"  0. " (:value "1" 1)`, `"  2. " (:value "(0 1`, `"--- Path:"`, `"  :a"`)
	first := show(Message{"op": "cider/inspect-push", "idx": "3"}, `(:value "31" 32)`, `"  Page size: 32, showing page: 1"`)
	if strings.Contains(first, `(:value "32" 33)`) {
		t.Errorf("an endless seq: got more than a page")
	}
	show(Message{"op": "inspect-next-page"}, `"  32. " (:value "32" 1)`, `showing page: 2`)
	if ms := p.ask(Message{"op": "inspect-get-path"}); text(ms, "value") != ":a (nth 2)" {
		t.Errorf("path: got %v", ms)
	}
	show(Message{"op": "inspect-prev-page"}, `showing page: 1`)
	show(Message{"op": "inspect-prev-page"}, `showing page: 1`)
	show(Message{"op": "inspect-set-page-size", "page-size": 5}, `Page size: 5`)
	show(Message{"op": "inspect-push", "idx": 99}, `Page size: 5`) // there is none: nothing changes
	show(Message{"op": "inspect-pop"}, `"  :a"`)
	show(Message{"op": "inspect-pop"}, `(:value ":b" 3)`)
	show(Message{"op": "inspect-pop"}, `(:value ":b" 3)`)
	show(Message{"op": "inspect-next-page"}, `(:value ":b" 3)`)
	p.eval(`(throw (ex-info "outer" {:k 1} (ex-info "inner" {})))`)
	show(Message{"op": "inspect-last-exception"}, `"outer"`, `(:value "{:k 1}" 1)`, `"Cause: " (:value`)
	show(Message{"op": "inspect-push", "idx": 2}, `"inner"`)
	show(Message{"op": "eval", "code": `(range)`, "inspect": "true", "page-size": 3}, `Page size: 3`)
	show(Message{"op": "eval", "code": `(atom [7])`, "inspect": "true"}, `"Contains: " (:value "[7]" 1)`)
	show(Message{"op": "inspect-push", "idx": 1}, `(:value "7" 1)`)
	show(Message{"op": "inspect-def-current-value", "ns": "user", "var-name": "kept"}, `(:value "7" 1)`)
	p.wants("kept", "[7]")
	for want, m := range map[string]Message{
		"done error namespace-not-found": {"ns": "no.such", "var-name": "a"},
		"bad-argument done error":        {"ns": "user", "var-name": "a b"},
	} {
		m["op"] = "inspect-def-current-value"
		if ms := p.ask(m); status(ms) != want {
			t.Errorf("%v: got %v", m, ms)
		}
	}
	show(Message{"op": "inspect-clear"}, `"nothing is inspected"`)
	p.wants("[*1 *2]", "[[7] #object[Atom {:status :ready, :val [7]}]]")

	// what throws when it is looked at, or does not end, is as it is elsewhere
	ms := p.eval(`(map #(/ 1 %) [0])`, Message{"inspect": "true"})
	if !strings.Contains(text(ms, "err"), "Divide by zero") || status(ms) != "done eval-error" {
		t.Errorf("a value that throws: got %v", ms)
	}
	run, _ := p.cancelled(t, Message{"op": "eval", "inspect": "true"}, Message{"op": "interrupt"})
	if status(run) != "done interrupted" {
		t.Errorf("interrupt: got %v", run)
	}
}
