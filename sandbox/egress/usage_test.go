package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	anthropicStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":200,\"output_tokens\":1}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"say \\\"usage\\\": {\\\"output_tokens\\\": 9000}\"}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	anthropicPlain  = `{"type":"message","model":"m-1","content":[{"text":"]}[{\"usage\":{\"input_tokens\":1}}"}],"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":200,"output_tokens":42}}`
	chatStream      = "data: {\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\r\n\r\ndata: {\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":110,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":100}}}\r\n\r\ndata: [DONE]\r\n\r\n"
	chatPlain       = `{"object":"chat.completion","model":"m-1","usage":{"prompt_tokens":110,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":100}}}`
	responsesStream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"m-1\",\"usage\":null}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":110,\"output_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":100}}}}"
	responsesPlain  = `{"object":"response","model":"m-1","usage":{"input_tokens":110,"output_tokens":7,"input_tokens_details":{"cached_tokens":100}}}`
	geminiStream    = "data: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":110,\"candidatesTokenCount\":1},\"modelVersion\":\"m-1\"}\r\n\r\ndata: {\"usageMetadata\":{\"promptTokenCount\":110,\"cachedContentTokenCount\":100,\"candidatesTokenCount\":5,\"thoughtsTokenCount\":2},\"modelVersion\":\"m-1\"}\r\n\r\n"
	geminiArray     = "[{\"candidates\":[{}],\"usageMetadata\":{\"promptTokenCount\":110,\"candidatesTokenCount\":1}}\n,\n{\"usageMetadata\":{\"promptTokenCount\":110,\"cachedContentTokenCount\":100,\"candidatesTokenCount\":5,\"thoughtsTokenCount\":2},\"modelVersion\":\"m-1\"}]"
)

func meterText(dialect, contentType, text string, step int, whole bool) Usage {
	var out Usage
	m := newMeter(dialect, contentType, func(u Usage) { out = u })
	for len(text) > 0 {
		n := min(step, len(text))
		m.write([]byte(text[:n]))
		text = text[n:]
	}
	m.end(whole)
	m.end(false)
	return out
}

func TestUsage(t *testing.T) {
	const sse, js = "text/event-stream; charset=utf-8", "application/json"
	openai := Usage{Model: "m-1", Input: 10, Output: 7, CacheRead: 100, Known: true}
	for _, c := range []struct {
		dialect, typ, text string
		want               Usage
	}{
		{"anthropic", sse, anthropicStream, Usage{Model: "m-1", Input: 10, Output: 42, CacheRead: 200, CacheWrite: 3, Known: true}},
		{"anthropic", js, anthropicPlain, Usage{Model: "m-1", Input: 10, Output: 42, CacheRead: 200, CacheWrite: 3, Known: true}},
		{"chat", sse, chatStream, openai}, {"chat", js, chatPlain, openai},
		{"responses", sse, responsesStream, openai}, {"responses", js, responsesPlain, openai},
		{"gemini", sse, geminiStream, openai}, {"gemini", js, geminiArray, openai}, {"gemini", js, strings.Trim(geminiArray[strings.Index(geminiArray, ",\n")+2:], "]"), openai},
		// What cannot be is not relied on.
		{"chat", js, `{"model":"m-1","usage":{"prompt_tokens":-5,"completion_tokens":7}}`, Usage{Model: "m-1", Output: 7}},
		{"chat", js, `{"model":"m-1","usage":{"prompt_tokens":1e40,"completion_tokens":7}}`, Usage{Model: "m-1", Output: 7}},
		{"chat", js, `{"model":"m-1","usage":{"prompt_tokens":1,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":5}}}`, Usage{Model: "m-1", Input: 1, CacheRead: 5, Output: 7}},
		{"chat", js, `{"model":"m-1","usage":{"input_tokens":1}}`, Usage{Model: "m-1"}},
		{"chat", js, `{"model":"m-1"}`, Usage{}},
		{"chat", js, `}}}]]]{{{`, Usage{}}, {"chat", js, ``, Usage{}}, {"chat", sse, "data: \"usage\nd", Usage{}},
		{"chat", sse, "data: {\"usage\":" + strings.Repeat(" ", maxElement) + "1}\n\n" + chatStream, Usage{Model: "m-1", Input: 10, Output: 7, CacheRead: 100}},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			if step == 1 && len(c.text) > 1<<20 {
				continue
			}
			c.want.Dialect = c.dialect
			if got := meterText(c.dialect, c.typ, c.text, step, true); got != c.want {
				t.Errorf("%s %s %.60s…\n got %+v\nwant %+v", c.dialect, c.typ, c.text, got, c.want)
			}
		}
	}
	broken := meterText("anthropic", sse, anthropicStream[:300], 9, false)
	if !broken.Partial || broken.Input != 10 || !broken.Known {
		t.Errorf("broken off: got %+v", broken)
	}
}

func FuzzUsage(f *testing.F) {
	for _, s := range []string{anthropicStream, anthropicPlain, chatStream, geminiArray, "[[[", `{"usage":{"input_tokens":"x"}}`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, events bool) {
		typ := "application/json"
		if events {
			typ = "text/event-stream"
		}
		for _, d := range []string{"anthropic", "chat", "gemini"} {
			u := meterText(d, typ, text, 5, true)
			if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u != meterText(d, typ, text, 1000, true) {
				t.Fatalf("got %+v, and another when cut otherwise", u)
			}
		}
	})
}

// Usage is told for answers as they pass by, with and without secrets bound to the host.
func TestUsageEvents(t *testing.T) {
	w := newWorld(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("got Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
		}
		switch r.URL.Path {
		case "/v1/messages":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, anthropicStream)
		case "/v1/chat/completions":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zip(chatPlain))
		default:
			http.Error(w, "no", http.StatusTooManyRequests)
		}
	})
	b := secretBox(t, w, h)
	for i, c := range []struct{ host, path string }{{"api", "/v1/messages"}, {"other", "/v1/messages"}, {"other", "/v1/chat/completions"}, {"other", "/v1/responses"}} {
		req, _ := http.NewRequest("POST", "https://"+c.host+".example.com"+c.path, strings.NewReader("{}"))
		_, body := b.do(req)
		if strings.Contains(c.path, "chat") && body != chatPlain {
			t.Errorf("got %q", body)
		}
		b.wait(func(e Event) bool {
			return e.Kind == KindRequest && e.Path == c.path && e.Host == c.host+".example.com"
		})
		n := strings.Count(b.told(), "Kind:usage")
		if want := min(i+1, 3); n != want {
			t.Errorf("after %v: got %d usages, want %d (none for an error)", c, n, want)
		}
	}
	e := b.wait(func(e Event) bool { return e.Kind == KindUsage && e.Host == "api.example.com" })
	if want := (Usage{Dialect: "anthropic", Model: "m-1", Input: 10, Output: 42, CacheRead: 200, CacheWrite: 3, Known: true}); *e.Usage != want {
		t.Errorf("got %+v", fmt.Sprint(*e.Usage))
	}
}
