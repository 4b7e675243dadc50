package cli

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/reflection-dev/zeno/nrepl"
)

// remoteInput hands what is typed here to a program that reads *in* in another zeno, a line whenever that one asks.
type remoteInput struct {
	app     *app
	client  *nrepl.Client
	session string
	reading chan struct{} // closed when the read that was begun last has ended; nil: there was none
}

// hear begins to read a line where m asks for one.
func (in *remoteInput) hear(ctx context.Context, m nrepl.Message) {
	if !slices.Contains(nrepl.Status(m), "need-input") || in.busy() {
		return
	}
	ended := make(chan struct{})
	in.reading = ended
	go func() {
		text, err := in.app.stdin.ReadString('\n')
		close(ended)                               // before the text goes: it may be answered by the next question at once
		if err != nil && !errors.Is(err, io.EOF) { // interrupted
			return
		}
		_, _ = in.client.Do(ctx, nrepl.Message{"op": "stdin", "session": in.session, "stdin": text}, nil) // "" is the end
	}()
}

func (in *remoteInput) busy() bool {
	if in.reading == nil {
		return false
	}
	select {
	case <-in.reading:
		return false
	default:
		return true
	}
}

// end takes back a read that nobody asks for any more: the next line is for the prompt. On a pipe a read can't be taken
// back, and ends with its line.
func (in *remoteInput) end(ctx context.Context) {
	if in.busy() {
		in.app.input.interrupt()
		select {
		case <-in.reading:
		case <-ctx.Done():
		}
	}
	in.app.input.ready()
}
