package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

type anthropicBlock struct {
	Type    string
	Text    string
	Content text
}

type anthropicRequest struct {
	Model    string
	Stream   bool
	System   text
	Tools    []struct{ Name string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

func (anthropic) read(body []byte) (Conversation, error) {
	var q anthropicRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Model: q.Model, Stream: q.Stream, System: string(q.System)}
	for _, tool := range q.Tools {
		c.Tools = append(c.Tools, tool.Name)
	}
	for _, m := range q.Messages {
		var plain string
		if json.Unmarshal(m.Content, &plain) == nil {
			c.Turns = append(c.Turns, Turn{m.Role, plain})
			continue
		}
		var blocks []anthropicBlock
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return Conversation{}, err
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				c.Turns = append(c.Turns, Turn{m.Role, b.Text})
			case "tool_result":
				// Claude Code appends reminders of its own to results.
				result, _, _ := strings.Cut(string(b.Content), "<system-reminder>")
				c.Turns = append(c.Turns, Turn{"tool", strings.TrimSpace(result)})
			}
		}
	}
	return c, nil
}

func anthropicMessage(c Conversation) object {
	return object{"id": "msg_scripted_" + position(c), "type": "message", "role": "assistant", "model": c.Model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": usageIn, "output_tokens": usageOut,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
}

// parts are the content block, the block as a stream opens it, the delta that fills it, and the stop reason.
func (anthropic) parts(c Conversation, m Move) (block, open, delta object, stop string) {
	if m.Tool == "" {
		return object{"type": "text", "text": m.Say}, object{"type": "text", "text": ""},
			object{"type": "text_delta", "text": m.Say}, "end_turn"
	}
	call := func(input any) object {
		return object{"type": "tool_use", "id": "toolu_scripted_" + position(c), "name": m.Tool, "input": input}
	}
	return call(json.RawMessage(m.arguments())), call(object{}),
		object{"type": "input_json_delta", "partial_json": m.arguments()}, "tool_use"
}

func (a anthropic) whole(c Conversation, m Move) object {
	message := anthropicMessage(c)
	block, _, _, stop := a.parts(c, m)
	message["content"], message["stop_reason"] = []object{block}, stop
	return message
}

func (a anthropic) events(c Conversation, m Move) []event {
	_, open, delta, stop := a.parts(c, m)
	message := anthropicMessage(c)
	named := func(data object) event { return event{name: data["type"].(string), data: data} }
	return []event{
		named(object{"type": "message_start", "message": message}),
		named(object{"type": "content_block_start", "index": 0, "content_block": open}),
		named(object{"type": "content_block_delta", "index": 0, "delta": delta}),
		named(object{"type": "content_block_stop", "index": 0}),
		named(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": message["usage"]}),
		named(object{"type": "message_stop"}),
	}
}

func (anthropic) refuse(w http.ResponseWriter, status int, message string) {
	kind := "api_error"
	if status == http.StatusUnauthorized {
		kind = "authentication_error"
	}
	writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": message}})
}

func (anthropic) report(Conversation) event {
	return event{name: "error", data: object{"type": "error", "error": object{"type": "overloaded_error", "message": reported}}}
}
