package backend

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read feeds a recorded stream through an entry's rules.
func read(t *testing.T, name string) (*Reader, []Update) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(Table()[name].Stream)
	var updates []Update
	for line := range bytes.Lines(data) {
		updates = append(updates, r.Line(line))
	}
	return r, updates
}

// TestRecordedStreams reads what the real CLIs printed in a run of two evals: three answers of the model server, each of
// 10 tokens in and 5 out.
func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]Usage{
		"claude": {TokensIn: 30, TokensOut: 15, USD: 0.00042},
		"omp":    {TokensIn: 30, TokensOut: 15},
	} {
		t.Run(name, func(t *testing.T) {
			r, updates := read(t, name)
			if r.Answer != "RESULT: => (* 3 4)" || r.Err != "" || r.Session == "" {
				t.Errorf("answer, error, session: got %q %q %q", r.Answer, r.Err, r.Session)
			}
			if got := r.Usage(); got.TokensIn != want.TokensIn || got.TokensOut != want.TokensOut || fmt.Sprintf("%.5f", got.USD) != fmt.Sprintf("%.5f", want.USD) {
				t.Errorf("usage: got %+v, want %+v", got, want)
			}
			var calls []Call
			for _, u := range updates {
				calls = append(calls, u.Calls...)
			}
			tool := Table()[name].ToolName
			if diff := cmp.Diff([]Call{{tool, "(+ 1 2)"}, {tool, "(* 3 4)"}}, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClaudeReportsToolsAndServer(t *testing.T) {
	_, updates := read(t, "claude")
	i := slices.IndexFunc(updates, func(u Update) bool { return u.Reported })
	if i < 0 || updates[i].MCP != "connected" || !slices.Equal(updates[i].Tools, []string{"mcp__zeno__eval"}) {
		t.Errorf("got no report of the one tool and a connected server in %+v", updates)
	}
}

func TestReaderRules(t *testing.T) {
	claude, omp := Table()["claude"].Stream, Table()["omp"].Stream
	for _, c := range []struct {
		name          string
		stream        Stream
		lines, answer string
		err           string
		usage         Usage
	}{
		{"not JSON", claude, "hello\n[1]\n{\"type\":\n\n\x00\xff\n", "", "", Usage{}},
		{"empty report", claude, `{"type":"system","subtype":"init","tools":[]}`, "", "", Usage{}},
		{"failed result", claude, `{"type":"result","is_error":true,"result":"API Error: 401"}`, "API Error: 401", "API Error: 401", Usage{}},
		{"failed result without text", claude, `{"type":"result","is_error":true,"errors":["No conversation"]}`, "", "No conversation", Usage{}},
		{"one message on two lines counts once", claude,
			`{"type":"assistant","message":{"id":"a","usage":{"input_tokens":7,"output_tokens":2}}}
{"type":"assistant","message":{"id":"a","usage":{"input_tokens":7,"output_tokens":3}}}
{"type":"assistant","message":{"id":"b","usage":{"input_tokens":1,"cache_read_input_tokens":4}}}`, "", "", Usage{TokensIn: 12, TokensOut: 3, CacheRead: 4}},
		{"bad numbers", claude, `{"type":"assistant","message":{"id":"a","usage":{"input_tokens":-7,"output_tokens":1e300}}}
{"type":"assistant","message":{"id":"b","usage":{"input_tokens":"7","output_tokens":null}}}`, "", "", Usage{TokensOut: 1e12}},
		{"an error that was retried", omp, `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"529"}}
{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`, "ab", "", Usage{}},
		{"an error at the end", omp, `{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"a"}]}}
{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"500"}}`, "a", "500", Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(c.stream)
			for line := range strings.Lines(c.lines) {
				r.Line([]byte(line))
			}
			if r.Answer != c.answer || r.Err != c.err || r.Usage() != c.usage {
				t.Errorf("got %q %q %+v, want %q %q %+v", r.Answer, r.Err, r.Usage(), c.answer, c.err, c.usage)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	node := map[string]any{"a": []any{map[string]any{"b": 1.0}, map[string]any{"b": 2.0}}, "m": map[string]any{"x": 3.0}}
	for path, want := range map[string]float64{"a.*.b": 3, "a.1.b": 2, "a.2.b": 0, "a.-1.b": 0, "a..b": 0, "m.*": 3, "": 0, "a.99999999999999999999.b": 0} {
		if got := sum(node, []string{path}); got != want {
			t.Errorf("sum at %q: got %v, want %v", path, got, want)
		}
	}
}

// FuzzReader holds that no output of a CLI, which an agent can shape, breaks the reader or makes its count negative.
func FuzzReader(f *testing.F) {
	for _, name := range []string{"claude", "omp"} {
		file, err := os.Open(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			f.Add(lines.Bytes())
		}
		file.Close()
	}
	for _, seed := range []string{"", "{", "[]", "null", `{"type":["result"]}`, `{"type":"result","result":{}}`, "{\"a\":\"\\ud800\"}",
		`{"type":"system","subtype":"init","tools":{"a":"b"},"mcp_servers":7}`, strings.Repeat(`{"a":`, 2000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range Table() {
			r := NewReader(b.Stream)
			for line := range bytes.Lines(data) {
				r.Line(line)
				now := r.Usage()
				if now.TokensIn < 0 || now.TokensOut < 0 || now.USD < 0 {
					t.Fatalf("usage: got %+v, want no negative", now)
				}
			}
		}
	})
}

func ExampleReader() {
	r := NewReader(Table()["claude"].Stream)
	u := r.Line([]byte(`{"type":"system","subtype":"init","session_id":"7","tools":["mcp__zeno__eval","Bash"]}`))
	fmt.Println(u.Tools)
	r.Line([]byte(`{"type":"result","result":"42","usage":{"input_tokens":10,"output_tokens":5}}`))
	fmt.Println(r.Answer, r.Usage().TokensIn)
	// Output:
	// [mcp__zeno__eval Bash]
	// 42 10
}
