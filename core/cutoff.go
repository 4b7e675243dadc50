package core

import (
	"context"
	"fmt"
	"time"

	"github.com/reflection-dev/zeno/core/journal"
	"github.com/reflection-dev/zeno/core/spawn"
)

// endCutOff records the end of the spawns that an earlier zeno was killed in: every spawn that has begun has an end in the
// record. Those that wait for a person's answer, or go on with one, are left to asks, which brings them to their own end.
func (c *Core) endCutOff() {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return
	}
	c.spawns.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.spawns.Done()
		if err := c.recordCutOff(context.WithoutCancel(c.ctx)); err != nil {
			c.warn(fmt.Sprintf("failed to record the end of spawns that an earlier zeno was killed in: %v", err))
		}
	}()
}

func (c *Core) recordCutOff(ctx context.Context) error {
	f, err := c.journalFile()
	if err != nil {
		return nil // it is in memory: there was no earlier one
	}
	list, err := f.CutOff(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	asking, err := c.asking(ctx)
	if err != nil {
		return err
	}
	told := 0
	for _, b := range list {
		if asking[b.Spawn] {
			continue
		}
		why := "zeno was ended while the agent ran"
		_, err := c.record(journal.Event{At: time.Now(), Kind: journal.SpawnEnded, Role: b.Role, Spawn: b.Spawn, Outcome: string(spawn.Interrupted), Durable: true,
			Data: map[string]any{"error": why, "begun": b.Seq}})
		if err != nil {
			return err
		}
		if told++; told <= maxFound {
			c.warn(fmt.Sprintf("found spawn %s (%s) cut off by the end of the zeno before; it is recorded as interrupted", b.Spawn, b.Role))
		}
	}
	if told > maxFound {
		c.warn(fmt.Sprintf("found %d spawns more cut off; `zeno journal tail` shows them", told-maxFound))
	}
	return nil
}

// maxFound is how many of the things that an earlier zeno left behind are told of at start, each in a line.
const maxFound = 100

// asking are the spawns that have asked a person and are not at their end.
func (c *Core) asking(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	d, err := c.asks.existing()
	if err != nil || d == nil {
		return out, err
	}
	ids, err := d.Waiting(ctx)
	for _, id := range ids {
		out[id] = true
	}
	return out, err
}
