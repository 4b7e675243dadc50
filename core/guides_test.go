package core_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guides gives the texts that a reader pastes from, by file.
func guides(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/guide/*.md", "../examples/machines/*/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got %v %v", pattern, files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = string(b)
		}
	}
	delete(out, "../docs/language.md") // made of what is there
	return out
}

// Every function that a guide calls is there under that name.
func TestGuidesCallWhatIsThere(t *testing.T) {
	c, _ := start(t, ``)
	call := regexp.MustCompile(`\(((?:zeno|joker)\.[a-z.-]+|ask|budget|engine|gateway|grant|journal|loop|observe|sandbox|spawn)/([a-z!?*-]+)[ )\n]`)
	seen := map[string]bool{}
	for file, text := range guides(t) {
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			ns := m[1]
			if !strings.Contains(ns, ".") {
				ns = "zeno." + ns
			}
			name := ns + "/" + m[2]
			if seen[name] || ns == "zeno.dry-run" { // that is there in a dry run only
				continue
			}
			seen[name] = true
			if got := eval(t, c, `(do (require '`+ns+`) (boolean (resolve '`+name+`)))`); got != "true" {
				t.Errorf("%s: calls %s, which is not there", file, name)
			}
		}
	}
	if !seen["zeno.spawn/spawn"] || len(seen) < 40 {
		t.Errorf("got %d names, want those of the guides", len(seen))
	}
}

// Every option that a call takes is in its guide.
func TestGuidesNameEveryOption(t *testing.T) {
	c, _ := start(t, ``)
	texts := guides(t)
	option := regexp.MustCompile(`:[a-z-]+`)
	for call, guide := range map[string]string{
		`(zeno.spawn/spawn {:role :r :nope 1})`:                               "agents",
		`(zeno.gateway/start! {:nope 1})`:                                     "roles",
		`(zeno.loop/every :x "1h" (fn []) {:nope 1})`:                         "loop",
		`(zeno.loop/on-webhook! :x {:secret {:env "PATH"} :nope 1} (fn [_]))`: "daemon",
		`(zeno.sandbox/run {:argv ["true"] :nope 1})`:                         "sandboxes",
		`(zeno.budget/daily! {:nope 1})`:                                      "budgets",
		`(zeno.journal/retention! {:nope 1})`:                                 "daemon",
		`(zeno.ask/ask "x" {:nope 1})`:                                        "asks",
		`(zeno.engine/listen! {:nope 1})`:                                     "daemon",
		`(zeno.observe/traces! {:nope 1})`:                                    "observability",
		`(zeno.budget/prices! {"m" {:nope 1}})`:                               "budgets",
		`(zeno.spawn/spawn {:role :r :advisor {:nope 1}})`:                    "agents",
		`(zeno.spawn/spawn {:role :r :retries {:nope 1}})`:                    "budgets",
	} {
		_, err := c.Eval(context.Background(), call)
		if err == nil {
			t.Errorf("%s: got no error", call)
			continue
		}
		_, list, ok := strings.Cut(err.Error(), "want one of ")
		if !ok {
			t.Errorf("%s: got %v, want the options", call, err)
			continue
		}
		for _, name := range option.FindAllString(list, -1) {
			if !regexp.MustCompile("[`{ ]" + name + "[`} ,)\n]").MatchString(texts["../docs/guide/"+guide+".md"]) {
				t.Errorf("%s takes %s, and %s.md does not say so", call, name, guide)
			}
		}
	}
}
