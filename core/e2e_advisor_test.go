package core_test

import (
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/internal/modelserver"
)

// strict is a model that objects until the answer holds 42; every other model goes by the marks.
func strict(c modelserver.Conversation) (modelserver.Move, bool) {
	if c.Model != "m2" {
		return modelserver.Move{}, false
	}
	for _, turn := range c.Turns {
		if turn.Role == "user" && strings.Contains(turn.Text, "RESULT: => 42") {
			return modelserver.Move{Say: "It does.\nVERDICT: approve"}, true
		}
	}
	return modelserver.Move{Say: "OBJECTION-MARK compute [[eval: (* 6 7)]] instead.\nVERDICT: object"}, true
}

// TestRealAdvisor: an adviser on the same CLI, of another model, objects to the first answer; the agent goes on in its
// session, and the second answer is approved. What a CLI's own advisor does is in core/spawn (TestRealOwnAdvisor).
func TestRealAdvisor(t *testing.T) {
	for _, cli := range []string{"claude", "codex", "omp", "pi"} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			r := startReal(t, cli, worker)
			r.model.Set(modelserver.Config{Decide: strict})
			eval(t, r.Core, `(def res (real {:prompt `+quote("FIRST-PROMPT "+marks(`(count (notes))`))+` :advisor {:model "m2" :rubric "RUBRIC-MARK" :rounds 3}}))`)
			r.want(t, `[(:status res) (:answer res) (:evals res) (:error res)]`, `[:ok "RESULT: => 42" 2 nil]`)
			r.want(t, `(mapv (juxt :round :verdict) (:advice res))`, `[[1 :object] [2 :approve]]`)
			r.want(t, `(get-in res [:usage :tokens-in])`, `60`) // two answers of each run of the agent, one of each of the adviser
			second := r.agentsLast(t)
			for _, want := range []string{"FIRST-PROMPT", "RESULT: => 3", "OBJECTION-MARK"} {
				if strings.Count(second, want) != 1 {
					t.Errorf("the agent's second run: got %q %d times, want once:\n%s", want, strings.Count(second, want), second)
				}
			}
			r.adviserSees(t)
			if got := r.events(t, journal.SpawnEnded); len(got) != 4 {
				t.Errorf("ends: got %d, want two of the agent and two of its adviser", len(got))
			}
		})
	}
}

// agentsLast is the conversation of the agent's last request.
func (r *real) agentsLast(t *testing.T) string {
	t.Helper()
	text := ""
	for _, q := range r.model.Requests() {
		if q.Conversation.Model != "m1" {
			continue
		}
		text = ""
		for _, turn := range q.Conversation.Turns {
			text += turn.Role + ": " + turn.Text + "\n"
		}
	}
	return text
}

// adviserSees holds that the adviser is told the task, the answer and the rubric, and not what the agent was told.
func (r *real) adviserSees(t *testing.T) {
	t.Helper()
	n := 0
	for _, q := range r.model.Requests() {
		if q.Conversation.Model != "m2" {
			continue
		}
		n++
		if q.Auth != key || !strings.Contains(q.Conversation.System, "You judge the answer") || strings.Contains(q.Conversation.System, "SYSTEM-MARK") {
			t.Errorf("the adviser: got the key %q and the system text %.300s", q.Auth, q.Conversation.System)
		}
		for _, want := range []string{"FIRST-PROMPT", "RUBRIC-MARK", "RESULT: =>"} {
			if !strings.Contains(q.Body, strings.ReplaceAll(want, ">", `\u003e`)) && !strings.Contains(q.Body, want) {
				t.Errorf("the adviser was not told %s", want)
			}
		}
		if strings.Contains(q.Body, "incident notes") || strings.Contains(q.Body, "save!") {
			t.Error("the adviser is offered what its role is granted")
		}
	}
	if n != 2 {
		t.Errorf("the adviser was asked %d times, want twice", n)
	}
}

// TestRealOwnAdvisorAndBudgets: what omp's own advisor uses is in no stream, so a budget of tokens could not be kept: the
// spawn is refused. One that must approve is a run like others.
func TestRealOwnAdvisorAndBudgets(t *testing.T) {
	r := startReal(t, "omp", worker)
	eval(t, r.Core, `(def res (real {:prompt "p" :advisor {:model "m2"} :budget {:tokens 1000}}))`)
	r.want(t, `(:status res)`, `:refused`)
	r.wantIn(t, `(:error res)`, "reports no usage")
	r.model.Set(modelserver.Config{Decide: strict})
	eval(t, r.Core, `(def res (real {:prompt `+quote(marks(`(+ 1 2)`))+` :advisor {:model "m2" :rounds 1} :budget {:tokens 1000}}))`)
	r.want(t, `(:status res)`, `:rejected`)
}
