package modelserver

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// position numbers an answer by how long the conversation is: unique within it and the same at each retry.
func position(c Conversation) string { return strconv.Itoa(len(c.Turns)) }

func refuseOpenAI(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{"message": message, "type": "scripted", "code": strconv.Itoa(status)}})
}

// chat is the Chat Completions API.
type chat struct{}

func (chat) read(body []byte) (Conversation, error) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			Function struct{ Name string }
		}
		Messages []struct {
			Role    string
			Content text
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Model: q.Model, Stream: q.Stream}
	for _, tool := range q.Tools {
		c.Tools = append(c.Tools, tool.Function.Name)
	}
	for _, m := range q.Messages {
		if m.Role == "system" || m.Role == "developer" {
			c.System += string(m.Content)
			continue
		}
		c.Turns = append(c.Turns, Turn{m.Role, string(m.Content)})
	}
	return c, nil
}

func (chat) parts(c Conversation, m Move) (message object, finish string) {
	if m.Tool == "" {
		return object{"role": "assistant", "content": m.Say}, "stop"
	}
	return object{"role": "assistant", "content": nil, "tool_calls": []object{{
		"index": 0, "id": "call_scripted_" + position(c), "type": "function",
		"function": object{"name": m.Tool, "arguments": m.arguments()}}}}, "tool_calls"
}

func chatUsage() object {
	return object{"prompt_tokens": usageIn, "completion_tokens": usageOut, "total_tokens": usageIn + usageOut}
}

func (d chat) whole(c Conversation, m Move) object {
	message, finish := d.parts(c, m)
	return object{"id": "chat_scripted_" + position(c), "object": "chat.completion", "model": c.Model, "created": 0,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}}, "usage": chatUsage()}
}

func (d chat) events(c Conversation, m Move) []event {
	message, finish := d.parts(c, m)
	chunk := func(choices []object, usage any) event {
		return event{data: object{"id": "chat_scripted_" + position(c), "object": "chat.completion.chunk", "model": c.Model,
			"created": 0, "choices": choices, "usage": usage}}
	}
	return []event{
		chunk([]object{{"index": 0, "delta": message, "finish_reason": nil}}, nil),
		chunk([]object{{"index": 0, "delta": object{}, "finish_reason": finish}}, nil),
		chunk([]object{}, chatUsage()),
		{raw: "[DONE]"},
	}
}

func (chat) refuse(w http.ResponseWriter, status int, message string) {
	refuseOpenAI(w, status, message)
}

func (chat) report(Conversation) event {
	return event{data: object{"error": object{"message": reported, "type": "server_error", "code": "overloaded"}}}
}
