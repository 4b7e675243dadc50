package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core"
	"github.com/reflection-dev/zeno/core/spawn"
)

// Run implements `zeno spawn`.
func (s *spawnCmd) Run(a *app) error {
	req, err := s.request(a)
	if err != nil {
		return err
	}
	if !s.DryRun {
		c, err := s.serving(a)
		if err != nil {
			return err
		}
		if c != nil {
			defer c.Close()
			return s.remote(a, c, req)
		}
	}
	// What the home prints is no part of the answer.
	return a.withHome(engine{out: a.std.Err}, func(ctx context.Context, c *core.Core) error {
		if s.DryRun {
			return s.preview(a, c, req)
		}
		return s.print(a, core.EndOf(c.Spawn(ctx, req)))
	})
}

func (s *spawnCmd) request(a *app) (spawn.Request, error) {
	req := spawn.Request{Role: s.Role, Prompt: s.Prompt, System: s.System, Model: s.Model, Backend: s.Backend,
		BaseURL: s.BaseURL, APIKeyEnv: s.APIKeyEnv, Timeout: s.Timeout}
	if s.Timeout < 0 {
		return req, usage(fmt.Errorf("--timeout: got %v, want a duration such as 20m", s.Timeout))
	}
	if s.Backend == spawn.Scripted {
		return req, usage(fmt.Errorf("--backend: got scripted, whose agent is a function of the program; want an agent CLI, or call zeno.spawn/spawn in the home"))
	}
	var err error
	if req.APIKey, err = s.key(a); err != nil {
		return req, err
	}
	if req.Trust = s.Trust; s.Sandbox == spawn.SandboxNone {
		req.Sandbox = s.Sandbox
	} else if s.Sandbox != "" {
		if req.Box, err = readBox(s.Sandbox); err != nil {
			return req, usage(fmt.Errorf("--sandbox: %w", err))
		}
	}
	if s.Prompt == "-" {
		req.Prompt, err = a.source("-")
	}
	return req, err
}

// key reads the model server's key, so that it is never an argument, which other users of the machine can see.
func (m model) key(a *app) (string, error) {
	if m.APIKeyEnv == "" {
		return "", nil
	}
	key := a.std.Getenv(m.APIKeyEnv)
	if key == "" {
		return "", usage(fmt.Errorf("--api-key-env: got %s, which is not set; export it first", m.APIKeyEnv))
	}
	return key, nil
}

func (s *spawnCmd) print(a *app, res core.SpawnEnd) error {
	if s.JSON {
		if err := printJSON(a.std.Out, res); err != nil {
			return err
		}
	} else {
		if res.Answer != "" {
			answer := strings.TrimRight(res.Answer, "\n")
			if terminal(a.std.Out) {
				answer = harmlessText(answer)
			}
			fmt.Fprintln(a.std.Out, answer)
		}
		fmt.Fprintln(a.std.Err, summary(res))
	}
	if res.Status != string(spawn.OK) {
		return reported(ExitFailed)
	}
	return nil
}

// summary is one line on how a spawn ended, and more where it did not end well.
func summary(res core.SpawnEnd) string {
	line := fmt.Sprintf("spawn %s: %s, %d evals, %s", res.ID, res.Status, res.Evals, time.Duration(res.MS)*time.Millisecond)
	if u := res.Usage; u.TokensIn+u.TokensOut > 0 {
		line += fmt.Sprintf(", %d tokens in, %d out", u.TokensIn, u.TokensOut)
		if u.USD > 0 {
			line += fmt.Sprintf(", %.4f USD", u.USD)
		}
	}
	if !res.Boxed && res.Status != string(spawn.Refused) { // what was refused has not run at all, or its error says what it did
		line += ", unboxed"
	}
	if res.Error != "" {
		line += "\n  " + harmlessText(res.Error)
	}
	return line
}
