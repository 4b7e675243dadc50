package modelserver

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// Every answer claims this usage, whatever its size.
const (
	usageIn  = 10
	usageOut = 5
)

// Turn is one stretch of a conversation; Role is user, assistant or tool.
type Turn struct {
	Role, Text string
}

// Conversation is a request in terms all dialects share.
type Conversation struct {
	Model, System string
	Stream        bool
	Tools         []string
	Turns         []Turn
}

// Move is what the model does next: a tool call where Tool is set, else something it says.
type Move struct {
	Tool string
	Args map[string]any
	Say  string
}

// dialect translates between one provider's API and the script.
type dialect interface {
	read(body []byte) (Conversation, error)
	whole(Conversation, Move) object
	events(Conversation, Move) []event
	refuse(w http.ResponseWriter, status int, message string)
	// report is the event of a stream that says that the answer failed.
	report(Conversation) event
}

// next decides the move: the marks of the last marked user turn, one for each tool result since, then the result.
func next(c Conversation) Move {
	at, moves := lastMarked(c)
	if len(moves) == 0 {
		return Move{Say: "RESULT: no marks"}
	}
	var results []string
	for _, turn := range c.Turns[at:] {
		if turn.Role == "tool" {
			results = append(results, turn.Text)
		}
	}
	if len(results) >= len(moves) {
		return Move{Say: "RESULT: " + results[len(results)-1]}
	}
	move := moves[len(results)]
	if move.Tool == "" {
		return Move{Say: "NO EVAL TOOL among: " + strings.Join(c.Tools, " ")}
	}
	return move
}

func lastMarked(c Conversation) (int, []Move) {
	for at := len(c.Turns) - 1; at >= 0; at-- {
		if c.Turns[at].Role != "user" {
			continue
		}
		if moves := marks(c.Turns[at].Text, c.Tools); len(moves) > 0 {
			return at, moves
		}
	}
	return 0, nil
}

// marks reads the marks of a prompt in order. An eval mark becomes a call of the tool whose name ends in eval; without
// such a tool its move has no Tool.
func marks(prompt string, tools []string) []Move {
	var moves []Move
	for {
		start := strings.Index(prompt, "[[")
		if start < 0 {
			return moves
		}
		prompt = prompt[start+2:]
		isEval, isCall := strings.HasPrefix(prompt, "eval:"), strings.HasPrefix(prompt, "call:")
		if !isEval && !isCall {
			continue
		}
		end := closing(prompt)
		if end < 0 {
			return moves
		}
		text := strings.TrimSpace(prompt[len("eval:"):end])
		prompt = prompt[end+2:]
		if isEval {
			moves = append(moves, Move{Tool: evalTool(tools), Args: map[string]any{"code": text}})
			continue
		}
		name, args, _ := strings.Cut(text, " ")
		move := Move{Tool: name}
		_ = json.Unmarshal([]byte(args), &move.Args) // a test's own mark; nil arguments show in what the CLI reports
		moves = append(moves, move)
	}
}

// closing finds the ]] that ends a mark: the first where no bracket of the code itself is open.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth == 0 && strings.HasPrefix(s[i:], "]]") {
				return i
			}
			depth = max(0, depth-1)
		}
	}
	return -1
}

func evalTool(tools []string) string {
	ends := regexp.MustCompile(`(^|[^a-z])eval$`)
	for _, name := range tools {
		if ends.MatchString(name) {
			return name
		}
	}
	return ""
}

// text is message content, which the dialects give as text, as one block or as a list of blocks.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var any any
	if err := json.Unmarshal(data, &any); err != nil {
		return err
	}
	*t = text(flatten(any))
	return nil
}

func flatten(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all strings.Builder
		for _, item := range v {
			all.WriteString(flatten(item))
		}
		return all.String()
	case map[string]any:
		for _, key := range []string{"text", "content", "output", "error"} {
			if inner, ok := v[key]; ok {
				return flatten(inner)
			}
		}
	}
	return ""
}

// arguments is a call's arguments as the text that OpenAI dialects and streams carry.
func (m Move) arguments() string {
	args := m.Args
	if args == nil {
		args = map[string]any{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		return "{}"
	}
	return string(data)
}
