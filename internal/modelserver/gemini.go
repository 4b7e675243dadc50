package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is the Gemini API, v1beta: the model and whether to stream stand in the path (see Server.gemini).
type gemini struct{}

type geminiContent struct {
	Role  string
	Parts []struct {
		Text             *string
		FunctionResponse *struct{ Response text }
	}
}

func (c geminiContent) text() string {
	var all strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil {
			all.WriteString(*p.Text)
		}
	}
	return all.String()
}

func (gemini) read(body []byte) (Conversation, error) {
	var q struct {
		SystemInstruction geminiContent
		Contents          []geminiContent
		Tools             []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Conversation{}, err
	}
	c := Conversation{System: q.SystemInstruction.text()}
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			c.Tools = append(c.Tools, f.Name)
		}
	}
	for _, content := range q.Contents {
		role := content.Role
		if role == "model" {
			role = "assistant"
		}
		if said := content.text(); said != "" {
			c.Turns = append(c.Turns, Turn{role, said})
		}
		for _, p := range content.Parts {
			if p.FunctionResponse != nil {
				c.Turns = append(c.Turns, Turn{"tool", unfenced(string(p.FunctionResponse.Response))})
			}
		}
	}
	return c, nil
}

func (gemini) frame(c Conversation, part object, finish any) object {
	return object{"responseId": "gemini_scripted_" + position(c), "modelVersion": c.Model,
		"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{part}}, "finishReason": finish}},
		"usageMetadata": object{"promptTokenCount": usageIn, "candidatesTokenCount": usageOut,
			"totalTokenCount": usageIn + usageOut}}
}

func (gemini) part(c Conversation, m Move) object {
	if m.Tool == "" {
		return object{"text": m.Say}
	}
	return object{"functionCall": object{"id": "call_scripted_" + position(c), "name": m.Tool, "args": json.RawMessage(m.arguments())}}
}

func (d gemini) whole(c Conversation, m Move) object { return d.frame(c, d.part(c, m), "STOP") }

func (d gemini) events(c Conversation, m Move) []event {
	return []event{{data: d.frame(c, d.part(c, m), nil)}, {data: d.frame(c, object{"text": ""}, "STOP")}}
}

func (gemini) refuse(w http.ResponseWriter, status int, message string) {
	word := "INTERNAL"
	if status == http.StatusUnauthorized {
		word = "UNAUTHENTICATED"
	}
	writeJSON(w, status, object{"error": object{"code": status, "message": message, "status": word}})
}

// unfenced takes off the fence that Gemini CLI puts around what a tool returned.
func unfenced(result string) string {
	inner, open := strings.CutPrefix(result, "<untrusted_context>\n")
	inner, closed := strings.CutSuffix(inner, "\n</untrusted_context>")
	if open && closed {
		return inner
	}
	return result
}

func (gemini) report(Conversation) event {
	return event{data: object{"error": object{"code": 503, "message": reported, "status": "UNAVAILABLE"}}}
}
