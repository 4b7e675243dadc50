package budget

import (
	"fmt"
	"time"
)

// Period is how long the budget of a role lasts before there is a new one.
type Period string

// The periods. Hours and days are the calendar's, in the ledger's zone: a day with a change of clocks has 23 or 25 hours.
// A week begins on Monday. Ever never ends.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Week  Period = "week"
	Month Period = "month"
	Ever  Period = "ever"
)

// ParsePeriod reads a period.
func ParsePeriod(s string) (Period, error) {
	switch p := Period(s); p {
	case Hour, Day, Week, Month, Ever:
		return p, nil
	}
	return "", fmt.Errorf("got %q, want :hour, :day, :week, :month or :ever", s)
}

// window is a period's span. The zero one is all time.
type window struct{ from, to time.Time }

// at gives the window of p that holds now.
func (p Period) at(now time.Time, zone *time.Location) window {
	t := now.In(zone)
	y, m, d := t.Date()
	switch p {
	case Hour: // elapsed time: the hour that clocks show twice is two hours
		from := t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond())).Round(0)
		return window{from, from.Add(time.Hour)}
	case Day:
		return window{midnight(y, m, d, zone), midnight(y, m, d+1, zone)}
	case Week:
		monday := d - (int(t.Weekday())+6)%7
		return window{midnight(y, m, monday, zone), midnight(y, m, monday+7, zone)}
	case Month:
		return window{midnight(y, m, 1, zone), midnight(y, m+1, 1, zone)}
	}
	return window{}
}

// midnight is the first moment of a day. Where clocks skip midnight itself time.Date answers with a moment of the day
// before, or one too late: the first quarter of an hour of the day is looked for.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	y, m, d = noon.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	same := func(t time.Time) bool {
		a, b, c := t.Date()
		return a == y && b == m && c == d
	}
	for !same(t) {
		t = t.Add(quarter)
	}
	for same(t.Add(-quarter)) {
		t = t.Add(-quarter)
	}
	return t
}

// quarter is the grain of what is kept: every zone's hours and days begin on one.
const quarter = 15 * time.Minute

// bucket numbers the quarter that holds t.
func bucket(t time.Time) int64 {
	s := t.Unix()
	n := s / int64(quarter/time.Second)
	if s%int64(quarter/time.Second) < 0 {
		n--
	}
	return n
}

// holds tells whether the quarter n lies in w.
func (w window) holds(n int64) bool {
	return w.from.IsZero() && w.to.IsZero() || n >= bucket(w.from) && n < bucket(w.to)
}
