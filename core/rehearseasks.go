package core

import (
	"context"

	"github.com/reflection-dev/zeno/core/ask"
)

// channels gives who hears of a question: in a rehearsal its stand-in, and nobody else.
func (r *rehearsing) channels(own []channel) []channel {
	if r == nil {
		return own
	}
	return []channel{rehearsalChannel{r}}
}

// rehearsalChannel answers at once.
type rehearsalChannel struct{ r *rehearsing }

func (rehearsalChannel) name() string { return ":dry-run" }

func (ch rehearsalChannel) send(ctx context.Context, q ask.Ask) error {
	asked := question{Question: q.Text, Choices: q.Choices, Role: q.Role}
	if q.Default != nil {
		asked.Default = *q.Default
	}
	_, err := ch.r.core.Answer(ctx, q.ID, ch.r.reply(ctx, asked), ":dry-run")
	return err
}
