package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/control"
	"github.com/reflection-dev/zeno/core/spawn"
)

// serving reaches the zeno that serves the home; nil where there is none.
func (s *spawnCmd) serving(a *app) (*control.Client, error) {
	h, err := a.resolve()
	if err != nil {
		return nil, err
	}
	c, err := a.dial(h)
	if down(err) {
		return nil, nil
	}
	return c, err
}

// remote runs the spawn in the zeno that serves the home, which has its journal and its budgets.
func (s *spawnCmd) remote(a *app, c *control.Client, req spawn.Request) error {
	args := core.SpawnArgs{Role: req.Role, Prompt: req.Prompt, System: req.System, Model: req.Model, Backend: req.Backend, BaseURL: req.BaseURL,
		APIKey: req.APIKey, APIKeyEnv: s.APIKeyEnv, TimeoutMS: req.Timeout.Milliseconds(), Sandbox: req.Sandbox, Trust: req.Trust}
	if s.Sandbox != "" && s.Sandbox != spawn.SandboxNone {
		args.Box = &req.Box
	}
	id := make(chan string, 1)
	ctx, hangUp := context.WithCancelCause(context.WithoutCancel(a.signals.ctx))
	defer hangUp(nil)
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		s.endRemote(a, c, id, ended, hangUp)
	}()
	var line core.SpawnLine
	err := c.Stream(ctx, "spawn", args, func(item json.RawMessage) error {
		line = core.SpawnLine{}
		if err := json.Unmarshal(item, &line); err != nil {
			return fmt.Errorf("spawn: %w", err)
		}
		if line.Spawn != "" {
			select {
			case id <- line.Spawn:
			default: // told already
			}
			if !s.JSON {
				fmt.Fprintf(a.std.Err, "spawn %s begins in the zeno that serves the home; `zeno logs -f %s` follows it\n", line.Spawn, line.Spawn)
			}
		}
		return nil
	})
	close(ended)
	<-told
	switch {
	case err != nil:
		return refusedAs(err)
	case line.Result == nil:
		return errors.New("spawn: got no result, want one; `zeno ps --all` has it")
	}
	return s.print(a, *line.Result)
}

// endRemote ends the spawn when this process is told to end. It waits for how it ended, but not for long: one whose caller
// hangs up is ended, too.
func (s *spawnCmd) endRemote(a *app, c *control.Client, id <-chan string, ended <-chan struct{}, hangUp context.CancelCauseFunc) {
	select {
	case <-ended:
		return
	case <-a.signals.ctx.Done():
	}
	why := context.Cause(a.signals.ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.signals.ctx), closeTime)
	defer cancel()
	select {
	case x := <-id:
		if err := c.Call(ctx, "cancel", map[string]string{"spawn": x, "why": "zeno spawn was " + why.Error()}, nil); err != nil {
			hangUp(why)
		}
	case <-time.After(time.Second): // it has not begun
		hangUp(why)
	case <-ended:
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
		hangUp(why)
	}
}
