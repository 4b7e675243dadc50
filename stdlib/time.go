package stdlib

import (
	"math"
	"time"
	_ "time/tzdata" // time zones where the system has none

	"github.com/reflection-dev/zeno/lisp/value"
)

// timeNS is joker.time: times are insts, durations integers in nanoseconds.
func timeNS() []value.Builtin {
	return append(clock(), durations()...)
}

func clock() []value.Builtin {
	return []value.Builtin{
		def("now", "([])", "The time now, in the local zone.", func() Value { return value.InstOf(time.Now()) }),
		def("sleep", "([d])", "Waits for a duration in nanoseconds, such as (* 2 second).",
			func(t *Thread, d int64) { t.Await(nil, max(0, time.Duration(d))) }),
		def("from-unix", "([sec nsec])", "The time sec seconds and nsec nanoseconds after 1970 began, in the local zone.",
			func(sec, nsec int64) Value { return value.InstOf(time.Unix(sec, nsec)) }),
		def("unix", "([t])", "The seconds from 1970 to t.", func(t *Thread, v Value) int64 { return timeOf(t, "unix", v).Unix() }),
		def("add", "([t d])", "The time d nanoseconds after t.",
			func(t *Thread, v Value, d int64) Value {
				return value.InstOf(timeOf(t, "add", v).Add(time.Duration(d)))
			}),
		def("add-date", "([t years months days])", "The time that many years, months and days after t.",
			func(t *Thread, v Value, y, m, d int) Value {
				return value.InstOf(timeOf(t, "add-date", v).AddDate(y, m, d))
			}),
		def("sub", "([t u])", "The duration from u to t, in nanoseconds.",
			func(t *Thread, v, u Value) int64 { return int64(timeOf(t, "sub", v).Sub(timeOf(t, "sub", u))) }),
		def("since", "([t])", "The duration from t to now, in nanoseconds.",
			func(t *Thread, v Value) int64 { return int64(time.Since(timeOf(t, "since", v))) }),
		def("until", "([t])", "The duration from now to t, in nanoseconds.",
			func(t *Thread, v Value) int64 { return int64(time.Until(timeOf(t, "until", v))) }),
		def("day-of-year", "([t])", "The number of the day in its year, from 1.",
			func(t *Thread, v Value) int { return timeOf(t, "day-of-year", v).YearDay() }),
		def("in-timezone", "([t tz])", "The time t as a zone has it, such as \"Europe/Vienna\", \"UTC\" or \"Local\".",
			func(t *Thread, v Value, tz string) Value {
				return value.InstOf(timeOf(t, "in-timezone", v).In(zone("in-timezone", tz)))
			}),
		def("format", "([t layout])", "The text of t by a layout, which shows how Monday, January 2, 15:04:05 of 2006 in zone -0700 would look.",
			func(t *Thread, v Value, layout string) Value { return str(t, timeOf(t, "format", v).Format(layout)) }),
		def("parse", "([layout value])", "The time that a text stands for by a layout as of format; in UTC where it names no zone.",
			func(layout, text string) Value { return parseTime("parse", layout, text, time.UTC) }),
		def("parse-in-timezone", "([layout value tz])", "As parse, in the zone tz where the text names none.",
			func(layout, text, tz string) Value {
				return parseTime("parse-in-timezone", layout, text, zone("parse-in-timezone", tz))
			}),
	}
}

func zone(who, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(value.ArgError("%s: got the zone %q, want one such as \"Europe/Vienna\" or \"UTC\"", who, name))
	}
	return loc
}

func parseTime(who, layout, text string, loc *time.Location) Value {
	d, err := time.ParseInLocation(layout, text, loc)
	if err != nil {
		panic(value.ArgError("%s: got %q, want a time that looks like %q", who, text, layout))
	}
	return value.InstOf(d)
}

func durations() []value.Builtin {
	return []value.Builtin{
		def("parse-duration", "([s])", "The nanoseconds of a duration such as \"300ms\", \"-1.5h\" or \"2h45m\".", parseDuration),
		def("string", "([d])", "A duration as text, such as \"72h3m0.5s\".", func(d int64) string { return time.Duration(d).String() }),
		def("hours", "([d])", "A duration in hours, a double.", func(d int64) float64 { return time.Duration(d).Hours() }),
		def("minutes", "([d])", "A duration in minutes, a double.", func(d int64) float64 { return time.Duration(d).Minutes() }),
		def("seconds", "([d])", "A duration in seconds, a double.", func(d int64) float64 { return time.Duration(d).Seconds() }),
		def("round", "([d m])", "The multiple of m nearest to d; of two the one away from zero.",
			func(d, m int64) int64 { return int64(time.Duration(d).Round(time.Duration(m))) }),
		def("truncate", "([d m])", "The multiple of m nearest to d towards zero.",
			func(d, m int64) int64 { return int64(time.Duration(d).Truncate(time.Duration(m))) }),
	}
}

func parseDuration(s string) int64 {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(value.ArgError("parse-duration: got %q, want one such as \"300ms\", \"-1.5h\" or \"2h45m\", within %d years", s, math.MaxInt64/int64(time.Hour)/8766))
	}
	return int64(d)
}

func timeConstants() []Const {
	span := func(name string, d time.Duration) Const {
		return Const{name, value.Int(int64(d)), "One " + name + " in nanoseconds."}
	}
	layout := func(name, s string) Const {
		return Const{name, value.Str(s), "The layout " + s + " for format and parse."}
	}
	return []Const{
		span("nanosecond", time.Nanosecond), span("microsecond", time.Microsecond), span("millisecond", time.Millisecond),
		span("second", time.Second), span("minute", time.Minute), span("hour", time.Hour),
		layout("ansi-c", time.ANSIC), layout("kitchen", time.Kitchen), layout("rfc1123", time.RFC1123),
		layout("rfc1123-z", time.RFC1123Z), layout("rfc3339", time.RFC3339), layout("rfc3339-nano", time.RFC3339Nano),
		layout("rfc822", time.RFC822), layout("rfc822-z", time.RFC822Z), layout("rfc850", time.RFC850),
		layout("ruby-date", time.RubyDate), layout("unix-date", time.UnixDate), layout("stamp", time.Stamp),
		layout("stamp-milli", time.StampMilli), layout("stamp-micro", time.StampMicro), layout("stamp-nano", time.StampNano),
	}
}
