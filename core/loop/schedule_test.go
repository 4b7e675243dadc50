package loop_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reflection-dev/zeno/core/loop"
)

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `schedule: got "", want an interval such as`},
		{"30", `schedule: got "30", want an interval such as`},
		{"soon", `schedule: got "soon", want an interval`},
		{"-5s", `schedule: got "-5s", want an interval`},
		{"0s", "schedule: got 0s, want an interval from 1ms to 366d"},
		{"1us", "schedule: got 1us, want an interval from 1ms to 366d"},
		{"400d", "schedule: got 400d, want an interval from 1ms to 366d"},
		{"* * *", `cron: got "* * *", expected exactly 5 fields, found 3`},
		{"* * * * * *", `expected exactly 5 fields, found 6`},
		{"61 * * * *", "above maximum (59)"},
		{"* 24 * * *", "above maximum (23)"},
		{"* * * * 7", "above maximum (6)"},
		{"x * * * *", `want five fields (minute, hour, day of month, month, day of week with 0 for Sunday), such as "0 9 * * 1-5"`},
		{"5-1 * * * *", "beyond end of range"},
		{"*/0 * * * *", "step of range should be a positive number"},
		{"0 0 30 2 *", "which names no day of any year"},
		{", * * * *", "which names no day of any year"},
		{"@every 5m", "none of @hourly"},
		{"@often", "none of @hourly"},
		{"TZ=UTC 0 9 * * *", "with a zone in it: :zone names one"},
		{"TZ= ", "want an interval"},
		{"@", "none of @hourly"},
	} {
		_, err := loop.Parse(tt.text, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	for _, tt := range []struct{ text, zone, after, want string }{
		{"30s", "UTC", "2024-01-01T00:00:00Z", "2024-01-01T00:00:30Z"},
		{"30s", "UTC", "2024-01-01T00:00:29.9Z", "2024-01-01T00:00:30Z"},
		{"30s", "UTC", "2024-01-01T00:00:30Z", "2024-01-01T00:01:00Z"},
		{"2d", "UTC", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"},
		{"1h", "UTC", "2023-12-31T22:00:00Z", "2023-12-31T23:00:00Z"}, // a clock set back beyond the anchor
		{"1h", "UTC", "2023-12-31T22:30:00Z", "2023-12-31T23:00:00Z"},
		{"0 9 * * 1-5", "UTC", "2024-01-05T09:00:00Z", "2024-01-08T09:00:00Z"}, // Friday to Monday
		{"0 9 * * 1-5", "Europe/Berlin", "2024-01-05T09:00:00Z", "2024-01-08T08:00:00Z"},
		{"0 0 29 2 *", "UTC", "2024-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"@daily", "UTC", "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"},
		{"@hourly", "Asia/Kolkata", "2024-01-01T00:00:00Z", "2024-01-01T00:30:00Z"},
		{"0 0 13 * 5", "UTC", "2024-09-13T00:00:00Z", "2024-09-20T00:00:00Z"}, // day of month or of week

		// New York, 10 March 2024: 02:00 EST is 03:00 EDT. A time that does not come is made up for at once, and once.
		{"30 2 * * *", "America/New_York", "2024-03-10T06:00:00Z", "2024-03-10T07:00:00Z"},
		{"30 2 * * *", "America/New_York", "2024-03-10T07:00:00Z", "2024-03-11T06:30:00Z"},
		{"10,30 2 * * *", "America/New_York", "2024-03-10T07:00:00Z", "2024-03-11T06:10:00Z"},
		{"0 3 * * *", "America/New_York", "2024-03-10T06:59:59Z", "2024-03-10T07:00:00Z"},
		{"0 * * * *", "America/New_York", "2024-03-10T06:00:00Z", "2024-03-10T07:00:00Z"},
		{"0 * * * *", "America/New_York", "2024-03-10T06:30:00Z", "2024-03-10T07:00:00Z"},
		// 3 November 2024: 02:00 EDT is 01:00 EST. A time that comes twice counts once; a star runs every real hour.
		{"30 1 * * *", "America/New_York", "2024-11-03T05:00:00Z", "2024-11-03T05:30:00Z"},
		{"30 1 * * *", "America/New_York", "2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"},
		{"30 1 * * *", "America/New_York", "2024-11-03T06:10:00Z", "2024-11-04T06:30:00Z"},
		{"0 2 * * *", "America/New_York", "2024-11-03T05:50:00Z", "2024-11-03T07:00:00Z"},
		{"30 * * * *", "America/New_York", "2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"},
		{"30 0-23 * * *", "America/New_York", "2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"},
		// Half an hour, and midnight.
		{"15 2 * * *", "Australia/Lord_Howe", "2024-10-05T15:00:00Z", "2024-10-05T15:30:00Z"},
		{"15 * * * *", "Australia/Lord_Howe", "2024-04-06T14:45:00Z", "2024-04-06T15:45:00Z"},
		{"0 0 * * *", "America/Havana", "2024-03-09T12:00:00Z", "2024-03-10T05:00:00Z"},
		{"0 0 * * *", "America/Havana", "2024-03-10T05:00:00Z", "2024-03-11T04:00:00Z"},
		// Samoa had no 30 December 2011.
		{"0 9 * * *", "Pacific/Apia", "2011-12-30T08:00:00Z", "2011-12-30T10:00:00Z"},
		{"0 9 * * *", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		got := parse(t, tt.text, tt.zone).Next(begin, after).UTC().Format(time.RFC3339)
		if got != tt.want {
			t.Errorf("%q in %s after %s: got %s, want %s", tt.text, tt.zone, tt.after, got, tt.want)
		}
	}
}

// zones are some whose clocks change in different ways, and some whose do not.
var zones = []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca",
	"Asia/Kolkata", "America/Santiago", "Pacific/Chatham"}

func anyTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 60*365*86400), func(s int64) time.Time { return time.Unix(s, 0).UTC() })
}

// An interval's next tick is the only one within an interval after the moment, on the grid of the anchor.
func TestIntervalIsAGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1, 400_000).Draw(t, "ms")) * time.Millisecond
		s, err := loop.Parse(every.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		anchor := anyTime().Draw(t, "anchor")
		after := anchor.Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "ns")))
		next := s.Next(anchor, after)
		if !next.After(after) || next.Sub(after) > every || next.Sub(anchor)%every != 0 {
			t.Fatalf("every %s from %s after %s: got %s", every, anchor, after, next)
		}
	})
}

// A cron expression that names its hours runs once a day, on the day, in every zone and whatever the clock does: once for
// each time it names, or right after the jump over it.
func TestCronRunsOnceADay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		zone := in(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		minute, hour := rapid.IntRange(0, 59).Draw(rt, "minute"), rapid.IntRange(0, 23).Draw(rt, "hour")
		s, err := loop.Parse(time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC).Format("4 15")+" * * *", zone)
		if err != nil {
			rt.Fatal(err)
		}
		day := anyTime().Draw(rt, "day").In(zone)
		if _, end := day.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(rt, "near a change") {
			day = end.AddDate(0, 0, -rapid.IntRange(0, 2).Draw(rt, "days before"))
		}
		midnight := func(n int) time.Time { // the first moment of a day; noon exists everywhere
			noon := time.Date(day.Year(), day.Month(), day.Day()+n, 12, 0, 0, 0, zone)
			first := noon
			for t := noon; t.Day() == noon.Day(); t = t.Add(-time.Minute) {
				first = t
			}
			return first
		}
		const days = 3
		start := midnight(0)
		got := 0
		for at := s.Next(time.Time{}, start.Add(-1)); at.Before(midnight(days)); at = s.Next(time.Time{}, at) {
			want := time.Date(day.Year(), day.Month(), day.Day()+got, 12, 0, 0, 0, zone)
			if at.In(zone).Day() != want.Day() {
				rt.Fatalf("%q in %s: got %s, want it on the %s", s, zone, at.In(zone), want.Format(time.DateOnly))
			}
			got++
		}
		if got != days {
			rt.Fatalf("%q in %s from %s: got %d runs in %d days, want one each", s, zone, start, got, days)
		}
	})
}

// A cron expression whose hour is a star agrees with looking at the clock every minute.
func TestStarredCronAgreesWithTheClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		zone := in(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		minute := rapid.IntRange(0, 59).Draw(rt, "minute")
		s, err := loop.Parse(time.Date(2000, 1, 1, 0, minute, 0, 0, time.UTC).Format("4")+" * * * *", zone)
		if err != nil {
			rt.Fatal(err)
		}
		after := anyTime().Draw(rt, "after")
		if rapid.Bool().Draw(rt, "near a change") {
			if _, end := after.In(zone).ZoneBounds(); !end.IsZero() {
				after = end.Add(time.Duration(rapid.IntRange(-180, 180).Draw(rt, "minutes")) * time.Minute)
			}
		}
		want := after.Truncate(time.Minute).Add(time.Minute)
		for want.In(zone).Minute() != minute {
			want = want.Add(time.Minute)
		}
		if got := s.Next(time.Time{}, after); !got.Equal(want) {
			rt.Fatalf("%q in %s after %s: got %s, want %s", s, zone, after.In(zone), got.In(zone), want.In(zone))
		}
	})
}

// Later moments never have earlier ticks, and a tick is later than its moment.
func TestNextIsMonotone(t *testing.T) {
	exprs := []string{"30 2 * * *", "*/7 1-3 * * *", "0,30 0 * * *", "15 * * * *", "0 9 * * 1-5", "45 23 28-31 * *", "*/5 */2 * * *"}
	rapid.Check(t, func(rt *rapid.T) {
		zone := in(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		s, err := loop.Parse(rapid.SampledFrom(exprs).Draw(rt, "expr"), zone)
		if err != nil {
			rt.Fatal(err)
		}
		a := anyTime().Draw(rt, "a")
		if _, end := a.In(zone).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(rt, "near a change") {
			a = end.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(rt, "seconds")) * time.Second)
		}
		b := a.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(rt, "later")) * time.Second)
		x, y := s.Next(time.Time{}, a), s.Next(time.Time{}, b)
		if !x.After(a) || !y.After(b) || y.Before(x) || x.After(b) && !x.Equal(y) {
			rt.Fatalf("%q in %s: after %s got %s, after %s got %s", s, zone, a.In(zone), x.In(zone), b.In(zone), y.In(zone))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"30s", "2d", "0 9 * * 1-5", "@daily", "*/5 0-3,7 * jan-mar sun", "TZ=", "1-5/99999999999 * * * *", ", , , , ,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := loop.Parse(text, time.UTC)
		if err != nil {
			return
		}
		if next := s.Next(begin, begin); !next.After(begin) && !next.IsZero() {
			t.Errorf("%q: next is %s, which is not later than %s", text, next, begin)
		}
	})
}
