package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responses is the Responses API.
type responses struct{}

type responsesItem struct {
	Type, Role      string
	Content, Output text
}

func (responses) read(body []byte) (Conversation, error) {
	var q struct {
		Model, Instructions string
		Stream              bool
		Input               json.RawMessage
		Tools               []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Model: q.Model, Stream: q.Stream, System: q.Instructions}
	for _, tool := range q.Tools {
		if tool.Type != "namespace" {
			c.Tools = append(c.Tools, tool.Name)
		}
		for _, inner := range tool.Tools {
			c.Tools = append(c.Tools, tool.Name+"//"+inner.Name)
		}
	}
	var plain string
	if json.Unmarshal(q.Input, &plain) == nil {
		c.Turns = []Turn{{"user", plain}}
		return c, nil
	}
	var items []responsesItem
	if err := json.Unmarshal(q.Input, &items); err != nil {
		return Conversation{}, err
	}
	for _, item := range items {
		switch {
		case strings.HasSuffix(item.Type, "_output"):
			c.Turns = append(c.Turns, Turn{"tool", afterHeading(string(item.Output))})
		case item.Role == "system" || item.Role == "developer":
			c.System += string(item.Content)
		case item.Role != "":
			c.Turns = append(c.Turns, Turn{item.Role, string(item.Content)})
		}
	}
	return c, nil
}

// item is the output: a message, or a call whose namespace travels beside its name.
func (responses) item(c Conversation, m Move) object {
	id := position(c)
	if m.Tool == "" {
		return object{"type": "message", "id": "msg_scripted_" + id, "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": m.Say, "annotations": []object{}}}}
	}
	space, name, namespaced := strings.Cut(m.Tool, "//")
	if !namespaced {
		space, name = "", m.Tool
	}
	item := object{"type": "function_call", "id": "fc_scripted_" + id, "call_id": "call_scripted_" + id, "name": name,
		"arguments": m.arguments(), "status": "completed"}
	if space != "" {
		item["namespace"] = space
	}
	return item
}

func (responses) frame(c Conversation, status string, output []object) object {
	return object{"id": "resp_scripted_" + position(c), "object": "response", "model": c.Model, "status": status, "output": output}
}

func (d responses) whole(c Conversation, m Move) object {
	full := d.frame(c, "completed", []object{d.item(c, m)})
	full["usage"] = object{"input_tokens": usageIn, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": usageOut, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": usageIn + usageOut}
	return full
}

func (d responses) events(c Conversation, m Move) []event {
	item := d.item(c, m)
	opened := object{}
	for key, value := range item {
		opened[key] = value
	}
	opened["status"] = "in_progress"
	at := func(more object) object {
		more["item_id"], more["output_index"] = item["id"], 0
		return more
	}
	var middle []object
	if m.Tool == "" {
		opened["content"] = []object{}
		middle = []object{
			at(object{"type": "response.content_part.added", "content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []object{}}}),
			at(object{"type": "response.output_text.delta", "content_index": 0, "delta": m.Say}),
			at(object{"type": "response.output_text.done", "content_index": 0, "text": m.Say}),
		}
	} else {
		opened["arguments"] = ""
		middle = []object{
			at(object{"type": "response.function_call_arguments.delta", "delta": m.arguments()}),
			at(object{"type": "response.function_call_arguments.done", "arguments": m.arguments()}),
		}
	}
	all := []object{
		{"type": "response.created", "response": d.frame(c, "in_progress", []object{})},
		{"type": "response.output_item.added", "output_index": 0, "item": opened},
	}
	all = append(all, middle...)
	all = append(all, object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": d.whole(c, m)})
	events := make([]event, len(all))
	for i, data := range all {
		data["sequence_number"] = i
		events[i] = event{name: data["type"].(string), data: data}
	}
	return events
}

func (responses) refuse(w http.ResponseWriter, status int, message string) {
	refuseOpenAI(w, status, message)
}

// afterHeading leaves out what Codex writes above a result: how long the call took.
func afterHeading(result string) string {
	if _, rest, ok := strings.Cut(result, "\nOutput:"); ok && strings.HasPrefix(result, "Wall time:") {
		return strings.TrimPrefix(rest, "\n")
	}
	return result
}

func (d responses) report(c Conversation) event {
	failed := d.frame(c, "failed", []object{})
	failed["error"] = object{"code": "server_is_overloaded", "message": reported}
	return event{name: "response.failed", data: object{"type": "response.failed", "sequence_number": 99, "response": failed}}
}
