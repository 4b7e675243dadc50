package budget

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Report is what was used, for the operator.
type Report struct {
	Day      time.Time // when the instance's day began
	Resets   time.Time // when it ends
	Used     Amount    // by the instance, in the day
	Daily    Daily
	Roles    []RoleReport
	Running  []SpawnReport
	Unsynced bool // sums wait that cannot be written
}

// RoleReport is one role's. A role whose grant names no budget is counted by the day.
type RoleReport struct {
	Role     string
	Used     Amount // in its period
	Budget   Role
	Resets   time.Time // zero: never
	LastHour int       // starts
	Running  int
	Waiting  int
}

// SpawnReport is one running spawn's.
type SpawnReport struct {
	ID, Role, Model string
	Used            Amount
	Limits          Limits
	Left            []Left
}

// Report tells what was used. roles are further roles to tell of, with their budgets of now.
func (l *Ledger) Report(ctx context.Context, roles map[string]Role) (Report, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	for name := range roles {
		if _, err := l.of(ctx, name); err != nil {
			return Report{}, fmt.Errorf("budget: %w", err)
		}
	}
	if _, err := l.of(ctx, ""); err != nil {
		return Report{}, fmt.Errorf("budget: %w", err)
	}
	if err := l.reload(ctx); err != nil {
		return Report{}, fmt.Errorf("budget: %w", err)
	}
	now := l.conf.Now()
	starts, err := l.store.starts(ctx, now)
	if err != nil {
		return Report{}, fmt.Errorf("budget: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, b := range roles {
		l.scopes[name].budget = b
		l.letIn(l.scopes[name])
	}
	day := Day.at(now, l.zone)
	r := Report{Day: day.from, Resets: day.to, Daily: l.daily, Unsynced: l.failing}
	real := time.Now()
	for _, id := range slices.Sorted(maps.Keys(l.meters)) {
		m := l.meters[id]
		m.passed(real)
		r.Running = append(r.Running, SpawnReport{ID: id, Role: m.spawn.Role, Model: m.spawn.Model, Used: m.used, Limits: m.limits, Left: least(m.bounds())})
	}
	r.Used, _ = l.total(l.scopes[""], Day, now)
	for _, name := range slices.Sorted(maps.Keys(l.scopes)) {
		if name == "" {
			continue
		}
		s := l.scopes[name]
		x := RoleReport{Role: name, Budget: s.budget, LastHour: starts[name], Running: s.running, Waiting: len(s.waiting)}
		x.Used, x.Resets = l.total(s, s.budget.period(), now)
		r.Roles = append(r.Roles, x)
	}
	return r, nil
}
