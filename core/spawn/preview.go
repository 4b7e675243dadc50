package spawn

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/reflection-dev/zeno/core/spawn/backend"
)

// Preview is what Run would start, without a token, a directory or a process: nothing is written.
type Preview struct {
	Program string   `json:"program"` // where Argv[0] was found; "" where it is not installed
	Missing string   `json:"missing,omitempty"`
	Argv    []string `json:"argv"`
	Dir     string   `json:"dir"`
	// EnvNames are the variables it would get, sorted; their values may be secrets.
	EnvNames []string `json:"env"`
	// Files are what would be written before the start, with their content; no secret ever stands in one.
	Files []PreviewFile `json:"files"`
	// Links are the symbolic links to the session's directory.
	Links map[string]string `json:"links,omitempty"`
	// StdinBytes is the length of its standard input, which is the prompt.
	StdinBytes int `json:"stdin-bytes"`
	// Allowed are the tools the model may see.
	Allowed []string `json:"tools"`
	// Box is what it would run in; nil: in none.
	Box *PreviewBox `json:"box,omitempty"`
}

// PreviewFile is one file of a Preview.
type PreviewFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Preview plans a run of q as Run would, and carries nothing out. An error is what Run would refuse.
func (r *Runner) Preview(q Request) (Preview, error) {
	q = q.complete()
	if err := q.check(r.conf); err != nil {
		return Preview{}, err
	}
	b, ok := q.entry(r.conf)
	if !ok { // the scripted one
		return Preview{Argv: []string{}, Files: []PreviewFile{}}, nil
	}
	s := &run{Runner: r, req: q, endpoint: r.conf.Gateway.Endpoint(q.Role)}
	if s.endpoint == "" {
		return Preview{}, unknownRole(q.Role)
	}
	root := filepath.Join(r.spawnsDir(), q.ID)
	d := dirs{root: root, home: filepath.Join(root, "home"), work: q.Work, session: filepath.Join(r.sessionsDir(), q.ID)}
	if d.work == "" {
		d.work = filepath.Join(root, "work")
	}
	programs, missing := s.programs(b)
	box, err := s.previewBox(b)
	if err != nil {
		return Preview{}, err
	}
	plan, err := b.Plan(s.valuesIn(box, d))
	if err != nil {
		return Preview{}, err
	}
	p := preview(plan)
	if missing != nil {
		p.Missing = missing.Error()
	} else {
		p.Program = programs[0]
	}
	if box != nil {
		p.Box = s.describe(box, d, programs)
	}
	for name := range q.Env {
		if !slices.Contains(p.EnvNames, name) {
			p.EnvNames = append(p.EnvNames, name)
		}
	}
	slices.Sort(p.EnvNames)
	return p, nil
}

func preview(plan backend.Plan) Preview {
	p := Preview{Argv: plan.Argv, Dir: plan.Dir, StdinBytes: len(plan.Stdin), Allowed: plan.Allowed,
		EnvNames: append(slices.Collect(maps.Keys(plan.Env)), "HOME", "PATH", "ZENO_TOKEN"), Files: []PreviewFile{}}
	for _, f := range plan.Files {
		p.Files = append(p.Files, PreviewFile{f.Path, string(f.Data)})
	}
	for _, l := range plan.Links {
		if p.Links == nil {
			p.Links = map[string]string{}
		}
		p.Links[l.Path] = l.Target
	}
	return p
}
