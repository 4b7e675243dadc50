package nrepl

import "testing"

// What cider-nrepl and others have and zeno has not is answered, so that no client waits, and is not among the ops of
// describe, so that clients refuse the command themselves and say which op it wants.
func TestOpsOfOthers(t *testing.T) {
	p := open(t, start(t, Config{}))
	ops, _ := last(p.ask(Message{"op": "describe"}))["ops"].(Message)
	for _, name := range []string{
		"init-debugger", "debug-input", "debug-instrumented-defs", "debug-middleware",
		"inspect-toggle-view-mode", "inspect-display-analytics",
		"analyze-stacktrace", "toggle-trace-var", "toggle-trace-ns", "profile-toggle-var", "profile-summary",
		"refresh", "refresh-all", "refresh-clear", "cider/ns-refresh", "reload", "reload-all", "cider.clj-reload/reload",
		"ns-vars-by-query", "spec-list", "spec-form", "spec-example", "resource", "resources-list", "fn-refs", "fn-deps",
		"slurp", "content-type-middleware", "out-subscribe", "log-frameworks", "cider/log-frameworks", "track-state",
		"cider-version", "clojuredocs-lookup", "swap-middleware", "add-middleware", "ls-middleware", "sideloader-start",
		"forward-system-output", "cljs/dependencies", "artifact-list",
	} {
		if ops[name] != nil {
			t.Errorf("%s: it is advertised", name)
		}
		if ms := p.ask(Message{"op": name}); status(ms) != "done error unknown-op" || field(ms, "op") != name {
			t.Errorf("%s: got %v, want unknown-op, error and done", name, ms)
		}
	}
	p.wants("(+ 1 2)", "3")
}
