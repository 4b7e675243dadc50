package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflection-dev/zeno/internal/noleak"
)

func TestMain(m *testing.M) {
	noleak.Main(m, http.DefaultClient.CloseIdleConnections)
}

func TestMarks(t *testing.T) {
	tools := []string{"read", "mcp__zeno__eval"}
	call := func(code string) Move { return Move{Tool: "mcp__zeno__eval", Args: map[string]any{"code": code}} }
	for _, c := range []struct {
		prompt string
		want   []Move
	}{
		{"nothing [[here]]", nil},
		{"[[eval: (+ 1 2)]] and [[eval: (* 3 4)]]", []Move{call("(+ 1 2)"), call("(* 3 4)")}},
		{"[[eval: [[1 2] [3]] ]]", []Move{call("[[1 2] [3]]")}},
		{"[[eval: (first [1 [2]])]]", []Move{call("(first [1 [2]])")}},
		{`[[call: read {"path":"/x"}]]`, []Move{{Tool: "read", Args: map[string]any{"path": "/x"}}}},
		{"[[eval: open", nil},
	} {
		if diff := cmp.Diff(c.want, marks(c.prompt, tools)); diff != "" {
			t.Errorf("%q: %s", c.prompt, diff)
		}
	}
}

func TestNext(t *testing.T) {
	talk := Conversation{Tools: []string{"eval"}, Turns: []Turn{{"user", "[[eval: 1]] [[eval: 2]]"}}}
	if got := next(talk); got.Tool != "eval" || got.Args["code"] != "1" {
		t.Errorf("first move: got %+v", got)
	}
	talk.Turns = append(talk.Turns, Turn{"tool", "=> 1"}, Turn{"tool", "=> 2"})
	if got := next(talk); got.Say != "RESULT: => 2" {
		t.Errorf("last move: got %+v", got)
	}
	talk.Turns = append(talk.Turns, Turn{"assistant", "RESULT: => 2"}, Turn{"user", "more [[eval: 3]]"})
	if got := next(talk); got.Args["code"] != "3" {
		t.Errorf("after a resume: got %+v", got)
	}
	talk.Tools = []string{"retrieval"}
	if got := next(talk); !strings.HasPrefix(got.Say, "NO EVAL TOOL") {
		t.Errorf("without the tool: got %+v", got)
	}
}

// bodies asks the same thing in each dialect.
func bodies(stream bool) map[string]string {
	s := fmt.Sprint(stream)
	return map[string]string{
		"/v1/messages": `{"model":"m","stream":` + s + `,"system":[{"type":"text","text":"SYS"}],"tools":[{"name":"eval"}],
			"messages":[{"role":"user","content":[{"type":"text","text":"[[eval: 7]]"}]}]}`,
		"/v1/chat/completions": `{"model":"m","stream":` + s + `,"tools":[{"type":"function","function":{"name":"eval"}}],
			"messages":[{"role":"system","content":"SYS"},{"role":"user","content":"[[eval: 7]]"}]}`,
		"/v1/responses": `{"model":"m","stream":` + s + `,"instructions":"SYS","tools":[{"type":"function","name":"eval"}],
			"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"[[eval: 7]]"}]}]}`,
		"/v1beta/models/m:" + map[bool]string{false: "generateContent", true: "streamGenerateContent?alt=sse"}[stream]: `{
			"systemInstruction":{"parts":[{"text":"SYS"}]},"tools":[{"functionDeclarations":[{"name":"eval"}]}],
			"contents":[{"role":"user","parts":[{"text":"[[eval: 7]]"}]}]}`,
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer secret")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

func TestDialects(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := New(Config{})
		for path, body := range bodies(stream) {
			t.Run(fmt.Sprint(path, stream), func(t *testing.T) {
				status, answer := post(t, s.URL+path, body)
				if status != 200 || !strings.Contains(answer, "eval") || !strings.Contains(answer, `\"7\"`) && !strings.Contains(answer, `{"code":"7"}`) {
					t.Errorf("got %d %s, want a call of eval with 7", status, answer)
				}
				if stream != strings.Contains(answer, "data: ") {
					t.Errorf("stream: got %s", answer)
				}
				got := s.Requests()[len(s.Requests())-1]
				want := Conversation{Model: "m", System: "SYS", Stream: stream, Tools: []string{"eval"}, Turns: []Turn{{"user", "[[eval: 7]]"}}}
				if diff := cmp.Diff(want, got.Conversation); diff != "" {
					t.Error(diff)
				}
				if got.Auth != "secret" {
					t.Errorf("auth: got %q, want secret", got.Auth)
				}
			})
		}
		s.Close()
	}
}

func TestFailures(t *testing.T) {
	s := New(Config{Status: 401})
	defer s.Close()
	for path, body := range bodies(true) {
		s.Set(Config{Status: 401})
		if status, answer := post(t, s.URL+path, body); status != 401 || !json.Valid([]byte(answer)) {
			t.Errorf("%s: got %d %s, want 401 in JSON", path, status, answer)
		}
		s.Set(Config{Malformed: true})
		if _, answer := post(t, s.URL+path, body); strings.HasSuffix(answer, "\n\n") {
			t.Errorf("%s: got a whole stream, want it broken off", path)
		}
		s.Set(Config{Latency: 30 * time.Millisecond})
		begin := time.Now()
		if status, _ := post(t, s.URL+path, body); status != 200 || time.Since(begin) < 30*time.Millisecond {
			t.Errorf("%s: got %d after %v, want 200 after the latency", path, status, time.Since(begin))
		}
		if status, _ := post(t, s.URL+path, "{"); status != 400 {
			t.Errorf("%s: broken body: got %d, want 400", path, status)
		}
	}
}

// TestMalformedWhole: an answer that is not streamed is cut as well.
func TestMalformedWhole(t *testing.T) {
	s := New(Config{Malformed: true})
	defer s.Close()
	for path, body := range bodies(false) {
		if _, answer := post(t, s.URL+path, body); answer == "" || json.Valid([]byte(answer)) {
			t.Errorf("%s: got %q, want the beginning of JSON", path, answer)
		}
	}
}

// TestDecide: a decision of the test's own comes before the marks.
func TestDecide(t *testing.T) {
	s := New(Config{Decide: func(c Conversation) (Move, bool) { return Move{Say: "DECIDED " + c.Model}, len(c.Tools) > 0 }})
	defer s.Close()
	for path, body := range bodies(true) {
		if _, answer := post(t, s.URL+path, body); !strings.Contains(answer, "DECIDED m") {
			t.Errorf("%s: got %s, want what was decided", path, answer)
		}
	}
}

func ExampleNew() {
	s := New(Config{})
	defer s.Close()
	r, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(
		`{"model":"m","tools":[{"name":"eval"}],"messages":[{"role":"user","content":"[[eval: (+ 1 2)]]"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	fmt.Println(r.StatusCode, s.Requests()[0].Move.Args["code"])
	// Output: 200 (+ 1 2)
}

// TestResultsAreBare holds that what a CLI writes around a tool's result does not come back as the answer.
func TestResultsAreBare(t *testing.T) {
	for _, c := range []struct {
		d    dialect
		body string
	}{
		{responses{}, `{"input":[{"type":"function_call_output","output":"Wall time: 0.1 seconds\nOutput:=> 3"}]}`},
		{responses{}, `{"input":[{"type":"function_call_output","output":"=> 3"}]}`},
		{gemini{}, `{"contents":[{"role":"user","parts":[{"functionResponse":{"response":{"output":"<untrusted_context>\n=> 3\n</untrusted_context>"}}}]}]}`},
		{gemini{}, `{"contents":[{"role":"user","parts":[{"functionResponse":{"response":{"output":"=> 3"}}}]}]}`},
	} {
		talk, err := c.d.read([]byte(c.body))
		if diff := cmp.Diff([]Turn{{"tool", "=> 3"}}, talk.Turns); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.body, err, diff)
		}
	}
}
