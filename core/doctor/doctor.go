// Package doctor tries what a machine can do for zeno and says what is missing and how to get it.
//
// The rule: it attempts instead of inspecting. A file is written and synced, a user namespace is made and something is
// mounted in it, a virtual machine is created, a program is started. Each attempt is bounded in time, leaves nothing
// behind, and fails alone.
//
// Start with Run. What zeno cannot do without is Required; all else is told and changes nothing, unless Config.Need
// names it.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/sandbox"
)

// Status is how an attempt ended.
type Status string

const (
	OK      Status = "ok"
	Warn    Status = "warn"    // it works, and something about it needs a look
	Missing Status = "missing" // it is not there
	Failed  Status = "failed"  // it is there and does not work
)

// Check is one attempt.
type Check struct {
	Group    string `json:"group"` // zeno, agents, programs, sandbox
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Detail   string `json:"detail"`        // what was found, or what went wrong
	Fix      string `json:"fix,omitempty"` // what to do about it
	Required bool   `json:"required,omitempty"`
}

// Report is all attempts, in a fixed order.
type Report struct {
	OK     bool    `json:"ok"` // everything required works
	Checks []Check `json:"checks"`
}

// Config is what Run works with. The zero value is usable.
type Config struct {
	Home     string                     // its state directory is tried, and its journal verified; "" tries the temporary directory
	Path     string                     // PATH to look on; "" is that of this process
	Backends map[string]backend.Backend // nil: backend.Table()
	Boxes    []sandbox.Backend          // each runs a box
	Need     []string                   // names of checks that are required too
	Groups   []string                   // which attempts to make: zeno, agents, programs, sandbox; none means all
	Timeout  time.Duration              // of one attempt; 0: 15 s
}

// attempt tries one thing. It sets Status, Detail and Fix.
type attempt struct {
	group, name string
	required    bool
	try         func(ctx context.Context, c *Check)
}

// Run makes all attempts, several at a time.
func Run(ctx context.Context, conf Config) (Report, error) {
	if conf.Timeout <= 0 {
		conf.Timeout = 15 * time.Second
	}
	if conf.Backends == nil {
		conf.Backends = backend.Table()
	}
	all := slices.Concat(zeno(conf), agents(conf), programs(conf), sandboxes(), boxes(conf))
	if len(conf.Groups) > 0 {
		all = slices.DeleteFunc(all, func(a attempt) bool { return !slices.Contains(conf.Groups, a.group) })
	}
	if err := known(conf.Need, all); err != nil {
		return Report{}, err
	}
	rep := Report{OK: true, Checks: make([]Check, len(all))}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, a := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			rep.Checks[i] = a.run(ctx, conf)
		})
	}
	wg.Wait()
	for _, c := range rep.Checks {
		rep.OK = rep.OK && (!c.Required || c.Status == OK || c.Status == Warn)
	}
	return rep, nil
}

func known(need []string, all []attempt) error {
	for _, name := range need {
		if !slices.ContainsFunc(all, func(a attempt) bool { return a.name == name }) {
			var names []string
			for _, a := range all {
				names = append(names, a.name)
			}
			return fmt.Errorf("need: got %q, want one of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// run makes one attempt. One that does not end in its time has failed, and is left to end by itself.
func (a attempt) run(ctx context.Context, conf Config) Check {
	ctx, cancel := context.WithTimeout(ctx, conf.Timeout)
	defer cancel()
	c := Check{Group: a.group, Name: a.name, Required: a.required || slices.Contains(conf.Need, a.name)}
	done := make(chan Check, 1)
	go func() {
		mine := c
		a.try(ctx, &mine)
		done <- mine
	}()
	select {
	case c = <-done:
	case <-ctx.Done():
		select { // it may have heard of that
		case c = <-done:
		case <-time.After(time.Second):
			c.Status, c.Detail = Failed, "got no end in its time"
		}
	}
	return c
}

func (c *Check) ok(format string, args ...any) { c.Status, c.Detail = OK, fmt.Sprintf(format, args...) }

func (c *Check) bad(s Status, fix, format string, args ...any) {
	c.Status, c.Fix, c.Detail = s, fix, fmt.Sprintf(format, args...)
}
