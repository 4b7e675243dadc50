package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/reflection-dev/zeno/core/ask"
	"github.com/reflection-dev/zeno/core/control"
)

func (c *Core) verbInbox(ctx context.Context, _ control.Request) (any, error) { return c.Inbox(ctx) }

// verbAnswer takes an answer from whom the kernel says it is from.
func (c *Core) verbAnswer(ctx context.Context, q control.Request) (any, error) {
	var in struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	got, err := c.Answer(ctx, in.ID, in.Text, q.By.String())
	for _, kind := range []error{ask.ErrNotFound, ask.ErrInvalid} {
		if errors.Is(err, kind) {
			return nil, &control.Error{Kind: control.Usage, Message: err.Error()}
		}
	}
	if errors.Is(err, ask.ErrClosed) {
		return nil, &control.Error{Kind: control.Refused, Message: err.Error()}
	}
	return got, err
}

func (c *Core) verbCancel(_ context.Context, q control.Request) (any, error) {
	var in struct {
		Spawn string `json:"spawn"`
		Why   string `json:"why"`
	}
	if err := q.Decode(&in); err != nil {
		return nil, err
	}
	ok, err := c.CancelSpawn(in.Spawn, in.Why)
	if err != nil || !ok {
		return nil, &control.Error{Kind: control.Usage, Message: fmt.Sprintf("cancel: got the spawn %q, want one that runs; `zeno ps` lists them", in.Spawn)}
	}
	_ = c.recordControl(q.By, "cancel", map[string]any{"spawn": in.Spawn, "why": clip(in.Why)}) // reported; it ends all the same
	return map[string]bool{"cancelled": ok}, nil
}
