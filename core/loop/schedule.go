package loop

import (
	"fmt"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp/bind"
)

// Bounds of an interval.
const (
	MinInterval = time.Millisecond
	MaxInterval = 366 * 24 * time.Hour
)

// Schedule says when a process is due: at equal intervals, or by a cron expression. It is immutable.
type Schedule struct {
	text  string
	every time.Duration // 0: by cron
	cron  *cron
}

// Parse reads an interval ("250ms", "30s", "5m", "1h30m", "2d") or a cron expression of five fields ("0 9 * * 1-5", also
// "@hourly", "@daily", "@weekly", "@monthly", "@yearly"), which is read on the clock of zone; nil is the machine's own.
func Parse(text string, zone *time.Location) (Schedule, error) {
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(text, "@") || strings.Contains(text, " ") {
		c, err := parseCron(text, zone)
		return Schedule{text: text, cron: c}, err
	}
	d, err := bind.ParseDuration(text)
	if err != nil || text == "" {
		return Schedule{}, fmt.Errorf(`schedule: got %q, want an interval such as "250ms", "30s", "5m", "1h", or a cron expression such as "0 9 * * 1-5"`, text)
	}
	if d < MinInterval || d > MaxInterval {
		return Schedule{}, fmt.Errorf("schedule: got %s, want an interval from %s to %dd", text, MinInterval, MaxInterval/(24*time.Hour))
	}
	return Schedule{text: text, every: d}, nil
}

// String is the text of the schedule.
func (s Schedule) String() string { return s.text }

// Interval is the time between two ticks, or 0 where cron decides.
func (s Schedule) Interval() time.Duration { return s.every }

// Next is the first tick later than after; zero when there is none. Ticks of an interval are whole intervals away from
// anchor, so that neither a slow pass nor a late one moves those that follow. Cron expressions ignore anchor.
func (s Schedule) Next(anchor, after time.Time) time.Time {
	if s.cron != nil {
		return s.cron.next(after)
	}
	if s.every <= 0 {
		return time.Time{}
	}
	since := after.Sub(anchor)
	n := since / s.every
	if since >= 0 || since%s.every == 0 {
		n++
	}
	return anchor.Add(n * s.every)
}

// same tells whether both name the same ticks.
func (s Schedule) same(o Schedule) bool {
	return s.text == o.text && (s.cron == nil || s.cron.zone.String() == o.cron.zone.String())
}
