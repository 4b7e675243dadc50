package spawn

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/core/spawn/guard"
	"github.com/reflection-dev/zeno/sandbox"
)

// judge decides how a run that has ended went, and adds to an error what helps with it.
func (s *run) judge(ctx context.Context, b backend.Backend, out *output, exit int) Result {
	seen := s.conf.Gateway.Activity(s.req.ID) // before ctx is looked at: its end revokes the token
	res := s.verdict(ctx, b, out, exit, seen)
	waited := res.Status == Timeout || res.Status == Stalled
	if waited && out.err != "" { // such as a model server that is down
		res.Error += "; the last error it told of: " + s.red.short(out.err, maxSummary)
	} else if waited {
		res.Error += because(lastWords(out.stderr.text(s.red)))
	}
	if waited || res.Status == Failed && ctx.Err() == nil && exit >= 0 {
		res.Error += s.nothingToReach(b, seen)
	}
	return res
}

// nothingToReach explains a CLI that could not reach a model because nobody told it how: what it says itself, such as to log
// in, does not help.
func (s *run) nothingToReach(b backend.Backend, seen Activity) string {
	if s.req.APIKey != "" || s.req.BaseURL != "" || len(s.req.Env) > 0 || seen.Evals > 0 || !b.Uses("api-key") {
		return ""
	}
	return "; the spawn has neither a key (api-key-env) nor a model server (base-url), and its home is a new one, without your logins"
}

// verdict is how the run went. The order matters: why zeno ended it, then what the model or the CLI said went wrong, then
// what zeno's own endpoint did not see, and only then the exit code, which proves little.
func (s *run) verdict(ctx context.Context, b backend.Backend, out *output, exit int, seen Activity) Result {
	if ctx.Err() != nil {
		return endedBy(ctx)
	}
	text := out.stderr.text(s.red)
	stderr := lastWords(text)
	switch {
	case out.killed == sandbox.KilledStop:
		return Result{Status: Cancelled, Exit: -1, Error: killedBox(out.killed, s.req.Box)}
	case out.killed != "":
		return failed("%s%s", killedBox(out.killed, s.req.Box), because(stderr))
	case out.reader.Err != "":
		return failed("%s: %s", b.Name, s.red.short(out.reader.Err, maxSummary))
	case exit == guard.ExitInternal && strings.HasPrefix(lastLine(text), "zeno guard: "):
		return failed("%s", lastLine(text))
	case exit < 0:
		return failed("guard: the guard of %s was killed from outside, and the CLI with it%s", b.Name, because(stderr))
	case exit != 0:
		return failed("%s: exit code %d%s", b.Name, exit, because(stderr))
	case seen.Revoked:
		return failed("%s%s", errRevoked, because(stderr))
	case !seen.Connected:
		return failed("MCP: %s exited 0 but never connected to %s; its state there: %s%s",
			b.Name, s.endpoint, orUnknown(out.mcp), because(stderr))
	case !out.reader.Answered:
		return failed("%s: exited 0 without an answer in its stream (%d lines too long, %d not JSON)%s",
			b.Name, out.skipped, out.junk, because(stderr))
	}
	return Result{Status: OK}
}

func failed(format string, args ...any) Result {
	return Result{Status: Failed, Exit: -1, Error: fmt.Sprintf(format, args...)}
}

// endedBy is the Result of a run that was ended before it ended by itself.
func endedBy(ctx context.Context) Result {
	status, reason := statusOf(ctx)
	return Result{Status: status, Exit: -1, Error: reason}
}

func because(stderr string) string {
	if stderr == "" {
		return ""
	}
	return "; its last words: " + stderr
}

// maxWords and maxWordLines bound what an error quotes of standard error. Programs tell what is wrong first, and then what
// could be done about it in some lines.
const (
	maxWords     = 600
	maxWordLines = 6
)

// lastWords are the last lines of text that say something, as one line, without colours and the frames of a stack.
func lastWords(text string) string {
	var words []string
	size, frame := 0, regexp.MustCompile(`^at .*:\d+:\d+\)?$`)
	lines := strings.Split(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(text, ""), "\n")
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line == "" || frame.MatchString(line) {
			continue
		}
		if size += len(line); len(words) == maxWordLines || len(words) > 0 && size > maxWords {
			break
		}
		words = append(words, line)
	}
	slices.Reverse(words)
	return strings.Join(words, " | ")
}

func orUnknown(state string) string {
	if state == "" {
		return "not reported"
	}
	return state
}

// lastLine is the last line of text that says something.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// EndedBy is the Result of a spawn whose context ended before it ran.
func EndedBy(ctx context.Context) Result { return endedBy(ctx) }
