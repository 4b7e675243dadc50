package core

import (
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

// backendForm is :backend of a spawn: the name of one in the table, or a map that describes one, with its :name.
type backendForm struct {
	name  string
	entry *backend.Backend
}

// DecodeLisp implements bind.Decoder.
func (f *backendForm) DecodeLisp(t *value.Thread, v value.Value) error {
	switch {
	case v.IsNil():
		return nil
	case v.Kind() == value.KindKeyword:
		f.name = value.As[value.Keyword](v).FullName()
		return nil
	case v.Kind() == value.KindString:
		f.name = v.Text()
		return nil
	case !v.Kind().IsMap():
		return fmt.Errorf("got %s (%s), want the name of a backend, or a map {:name … :argv … :tool-name … :stream …}", value.Brief(t, v), v.Kind())
	}
	plain, err := bind.Plain(t, v)
	if err != nil {
		return err
	}
	data := plain.(map[string]any)
	name, _ := data["name"].(string)
	if name == "" || name == spawn.Scripted {
		return fmt.Errorf(":name: got %q, want a name of its own for this backend", name)
	}
	delete(data, "name")
	b, err := backend.Decode(name, data)
	if err != nil {
		return err
	}
	f.name, f.entry = name, &b
	return nil
}

// advisorForm is :advisor of a spawn.
type advisorForm struct {
	Model     string        `lisp:"model"`
	Rounds    int           `lisp:"rounds"`
	Rubric    string        `lisp:"rubric"`
	System    string        `lisp:"system"`
	Backend   backendForm   `lisp:"backend"`
	Agent     value.Value   `lisp:"agent"` // of :scripted
	BaseURL   string        `lisp:"base-url"`
	APIKeyEnv string        `lisp:"api-key-env"`
	Timeout   bind.Duration `lisp:"timeout"`
	Tools     []string      `lisp:"tools"` // built-in ones, of a CLI's own advisor
}

// own tells whether the CLI's own advisor does: nothing is asked for that it has not.
func (f *advisorForm) own(b backend.Backend) bool {
	return b.OwnAdvisor && f.Rounds == 0 && f.Rubric == "" && f.System == "" && f.Backend.name == "" && f.Agent.IsNil() &&
		f.BaseURL == "" && f.APIKeyEnv == "" && f.Timeout == 0
}

// advise puts an advisor into a request: the CLI's own, or one that must approve.
func (c *Core) advise(req *spawn.Request, f *advisorForm) error {
	if f == nil {
		return nil
	}
	b, _ := c.entry(*req)
	if f.own(b) {
		if req.Advisor = f.Model; req.Advisor == "" {
			req.Advisor = req.Model
		}
		if req.Advisor == "" {
			return fmt.Errorf(":advisor :model: got none, want the model that reads along")
		}
		req.AdvisorTools = f.Tools
		return nil
	}
	if len(f.Tools) > 0 {
		return fmt.Errorf(":advisor :tools: got %v, want none: only the own advisor of a CLI has tools, which is there with :model and :tools alone; one that must approve sees the task and the answer", f.Tools)
	}
	v := spawn.Review{Rubric: f.Rubric, Rounds: f.Rounds, Backend: f.Backend.name, Entry: f.Backend.entry, Model: f.Model,
		BaseURL: f.BaseURL, APIKeyEnv: f.APIKeyEnv, System: f.System, Timeout: time.Duration(f.Timeout)}
	if f.Rounds < 0 {
		return fmt.Errorf(":advisor :rounds: got %d, want 1 to %d", f.Rounds, spawn.MaxRounds)
	}
	if v.Entry != nil {
		v.Backend = ""
	}
	if !f.Agent.IsNil() {
		v.Agent = c.scripted(spawnForm{Agent: f.Agent})
	}
	req.Review = &v
	return nil
}

// entry is the backend of a request; false for the scripted one, and for one that the runner refuses.
func (c *Core) entry(req spawn.Request) (backend.Backend, bool) {
	if req.Entry != nil {
		return *req.Entry, true
	}
	table := c.conf.Backends
	if table == nil {
		table = backend.Table()
	}
	name := req.Backend
	if name == "" {
		name = backend.Default
	}
	b, ok := table[name]
	return b, ok
}

// adviceForm is a round of an advisor as the program sees it.
type adviceForm struct {
	Round   int          `lisp:"round"`
	Verdict bind.Keyword `lisp:"verdict"`
	Text    string       `lisp:"text"`
}

func adviceForms(list []spawn.Advice) []adviceForm {
	var out []adviceForm
	for _, a := range list {
		out = append(out, adviceForm{a.Round, bind.Keyword(a.Verdict), a.Text})
	}
	return out
}
