package loop

import (
	"fmt"
	"strings"
	"time"

	robfig "github.com/robfig/cron/v3"
)

// cron is a cron expression on the clock of a zone. The library reads the expression and walks a calendar without a
// zone; where clocks change, zeno decides, as Debian's cron does: an expression whose hour is a star runs at every moment
// that reads right, real hour by real hour; one that names its hours runs once for each time it names, right after the
// gap when clocks jump over that time, and only at the first when it comes twice.
type cron struct {
	spec   *robfig.SpecSchedule // on a calendar without a zone: UTC
	zone   *time.Location
	hourly bool // the hour is a star
}

var descriptors = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

func parseCron(text string, zone *time.Location) (*cron, error) {
	bad := func(why string) error {
		return fmt.Errorf(`cron: got %q, %s; want five fields (minute, hour, day of month, month, day of week with 0 for Sunday), such as "0 9 * * 1-5"`, text, why)
	}
	expr := text
	if strings.HasPrefix(text, "@") {
		var ok bool
		if expr, ok = descriptors[text]; !ok {
			return nil, bad("which is none of @hourly, @daily, @weekly, @monthly, @yearly")
		}
	}
	if strings.Contains(expr, "=") { // the library would read TZ=…
		return nil, bad("with a zone in it: :zone names one")
	}
	s, err := robfig.NewParser(robfig.Minute | robfig.Hour | robfig.Dom | robfig.Month | robfig.Dow).Parse(expr)
	if err != nil {
		return nil, bad(err.Error())
	}
	spec := s.(*robfig.SpecSchedule)
	spec.Location = time.UTC
	if spec.Next(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, bad("which names no day of any year")
	}
	if zone == nil {
		zone = time.Local
	}
	const allHours = 1<<24 - 1
	hour := strings.Fields(expr)[1]
	return &cron{spec, zone, hour[0] == '*' || spec.Hour&allHours == allHours}, nil
}

// next is the first moment later than after; zero when there is none within five years.
func (c *cron) next(after time.Time) time.Time {
	after = after.Round(0)
	if c.hourly {
		return c.nextReading(after)
	}
	for w := wall(after, c.zone); ; {
		if w = c.spec.Next(w); w.IsZero() {
			return w
		}
		if t := moment(w, c.zone); t.After(after) {
			return t
		}
	}
}

// nextReading finds the next moment at which the clock of the zone reads right: it looks at each stretch of time between
// two changes of the clock by itself.
func (c *cron) nextReading(after time.Time) time.Time {
	for probe := after; ; {
		_, offset := probe.In(c.zone).Zone()
		_, end := probe.In(c.zone).ZoneBounds()
		shift := time.Duration(offset) * time.Second
		w := c.spec.Next(after.UTC().Add(shift))
		if w.IsZero() {
			return w
		}
		if t := w.Add(-shift).In(c.zone); end.IsZero() || t.Before(end) {
			return t
		}
		probe, after = end, end.Add(-time.Nanosecond)
	}
}

// wall is what the clock of the zone reads at t, as a time of a calendar without a zone.
func wall(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// moment is the first moment at which the clock of the zone reads w or, where it jumps over w, the moment of the jump.
func moment(w time.Time, zone *time.Location) time.Time {
	guess := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, zone)
	start, end := guess.ZoneBounds()
	var first time.Time
	try := func(t time.Time) {
		if wall(t, zone).Equal(w) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	try(guess)
	for _, change := range []time.Time{start, end} {
		if change.IsZero() {
			continue
		}
		before, after := wall(change.Add(-1), zone).Add(1), wall(change, zone)
		if !w.Before(before) && w.Before(after) {
			return change
		}
		try(change.Add(w.Sub(before)))
		try(change.Add(w.Sub(after)))
	}
	if first.IsZero() {
		return guess
	}
	return first
}
