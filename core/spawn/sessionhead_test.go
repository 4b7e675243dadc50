package spawn

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestCheckHead(t *testing.T) {
	const good = `{"type":"session","id":"a","cwd":"/s/run"}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"its own", good + `{"type":"message","cwd":"/elsewhere"}` + "\n", ""},
		{"none", `{"type":"session","id":"a","additionalDirectories":[]}`, ""},
		{"a line that was cut off", good + `{"type":"message","te`, ""},
		{"no objects", good + "7\n\"x\"\n[]\nnull\n", ""},
		{"another", `{"type":"session","cwd":"/evil"}`, `got "/evil"`},
		{"a path through it", `{"type":"session","cwd":"/s/run/../../evil"}`, "got "},
		{"no text", `{"type":"session","cwd":["/evil"]}`, "got "},
		{"behind a good one", good + `{"type":"session","cwd":"/evil"}`, "got "},
		{"twice, the last counts", `{"type":"session","cwd":"/s/run","cwd":"/evil"}`, "got "},
		{"in another case as well", `{"type":"session","cwd":"/evil","Cwd":"/s/run"}`, "got "},
		{"escaped", `{"typ\u0065":"sess\u0069on","c\u0077d":"/evil"}`, "got "},
		{"behind a mark", "\ufeff" + `{"type":"session","cwd":"/evil"}`, "got "},
		{"two on a line", `{"a":1} {"type":"session","cwd":"/evil"}`, "got "},
		{"behind what is broken", `{"a":x} {"type":"session","c` + `wd":"/evil"}`, "broken line"},
		{"further ones", `{"type":"session","cwd":"/s/run","additionalDirectories":["/evil"]}`, "further directories"},
	} {
		err := checkHead(strings.NewReader(c.text), "/s/run")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestRealHostileSession: an agent that has a shell writes into the files of its session, and the session is resumed. Where a
// CLI would go on in the directory that they name, and start what lies there, it is not started.
func TestRealHostileSession(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = w.Write([]byte("{}"))
		}))
		defer server.Close()
		r := newReal(t, cli, nil)
		r.req.ID = "first-" + cli
		res := r.Run(context.Background(), r.req)
		want(t, res, OK, "")
		marks := t.TempDir()
		r.redirect(t, hostile(t, marks))
		write(t, filepath.Join(r.sessionsDir(), r.req.ID, "opencode/auth.json"), `{"`+server.URL+`":{"type":"wellknown","key":"K","token":"T"}}`)
		q := r.req
		q.ID, q.Resume = "second-"+cli, res.Session
		res = r.Run(context.Background(), q)
		if cli == "omp" || cli == "pi" {
			want(t, res, Refused, "as the directory to go on in")
		} else {
			want(t, res, OK, "")
		}
		untouched(t, marks)
		for _, m := range r.model.Requests() {
			if strings.Contains(m.Body, "HOSTILE") {
				t.Fatal("text of the directory reached the model")
			}
		}
		if asked.Load() > 0 {
			t.Error("a server that the session's files name was asked for configuration")
		}
	})
}

// redirect makes the files of the request's session name dir in place of the spawn's own directories.
func (r *realRun) redirect(t *testing.T, dir string) {
	t.Helper()
	own := filepath.Join(r.spawnsDir(), r.req.ID)
	err := filepath.WalkDir(filepath.Join(r.sessionsDir(), r.req.ID), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(entry.Name(), ".db") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, name := range []string{"/home/run", "/work"} {
			text = bytes.ReplaceAll(text, []byte(own+name), []byte(dir))
		}
		if err != nil {
			return err
		}
		return os.WriteFile(file, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// endless is a file without a line's end.
type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	e.given += len(p)
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestCheckHeadHoldsOneLineOnly(t *testing.T) {
	in := &endless{}
	if err := checkHead(in, "/s/run"); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got %v, want the line refused", err)
	}
	if in.given > 2*maxSessionLine {
		t.Errorf("got %d bytes read, want about %d", in.given, maxSessionLine)
	}
}
