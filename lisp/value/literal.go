package value

import (
	"strconv"
	"strings"
	"time"
)

// UUID is a universally unique identifier.
type UUID struct {
	Header
	Hi, Lo uint64
}

// NewUUID makes a UUID of its two halves.
func NewUUID(hi, lo uint64) Value { return Of(&UUID{Header: Head(KindUUID), Hi: hi, Lo: lo}) }

// ParseUUID reads the text form of a UUID. Like java.util.UUID it takes short groups: "1-1-1-1-1".
func ParseUUID(s string) (Value, bool) {
	if len(s) > 36 || strings.Count(s, "-") != 4 {
		return Nil, false
	}
	var part [5]uint64
	for i, p := range strings.Split(s, "-") {
		n, err := strconv.ParseUint(p, 16, 64)
		if err != nil {
			return Nil, false
		}
		part[i] = n
	}
	hi := part[0]&0xffffffff<<32 | part[1]&0xffff<<16 | part[2]&0xffff
	return NewUUID(hi, part[3]&0xffff<<48|part[4]&0xffffffffffff), true
}

// String is the canonical text of u, 36 bytes.
func (u *UUID) String() string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 36)
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b = append(b, '-')
		}
		half, shift := u.Hi, 60-4*i
		if i >= 16 {
			half, shift = u.Lo, 124-4*i
		}
		b = append(b, digits[half>>shift&15])
	}
	return string(b)
}

// Inst is an instant. The reader's are to the millisecond and in UTC; the clock's are to the nanosecond and know a zone, which
// has no part in equality or order.
type Inst struct {
	Header
	Millis int64          // since 1970-01-01T00:00:00Z
	Nanos  int32          // beyond Millis, 0 to 999,999
	Zone   *time.Location // nil: UTC
}

// NewInst makes an instant.
func NewInst(millis int64) Value { return Of(&Inst{Header: Head(KindInst), Millis: millis}) }

// InstOf makes an instant of a Go time and its zone.
func InstOf(d time.Time) Value {
	i := &Inst{Header: Head(KindInst), Millis: d.UnixMilli(), Nanos: int32(d.Nanosecond() % 1_000_000)}
	if d.Location() != time.UTC {
		i.Zone = d.Location()
	}
	return Of(i)
}

// Time gives the instant for Go, in its zone.
func (i *Inst) Time() time.Time {
	d := time.UnixMilli(i.Millis).Add(time.Duration(i.Nanos))
	if i.Zone == nil {
		return d.UTC()
	}
	return d.In(i.Zone)
}

// String is the text that #inst reads: in UTC, to the nanosecond where the milliseconds do not say it all.
func (i *Inst) String() string {
	if i.Nanos != 0 {
		return i.Time().UTC().Format("2006-01-02T15:04:05.000000000-00:00")
	}
	return i.Time().UTC().Format("2006-01-02T15:04:05.000-00:00")
}

// TaggedLiteral is a tag and a form that no reader function has read.
type TaggedLiteral struct {
	Header
	Tag  Value // a symbol
	Form Value
}

// NewTaggedLiteral makes a tagged literal.
func NewTaggedLiteral(tag, form Value) Value {
	return Of(&TaggedLiteral{Header: Head(KindTaggedLiteral), Tag: tag, Form: form})
}

// Field gives the tag or the form by its name.
func (l *TaggedLiteral) Field(name string) (Value, bool) {
	switch name {
	case "tag":
		return l.Tag, true
	case "form":
		return l.Form, true
	}
	return Nil, false
}

// ReaderConditional is a #?(…) or #?@(…) that was kept as data.
type ReaderConditional struct {
	Header
	Form     Value // a list of features and forms
	Splicing bool
}

// NewReaderConditional makes a reader conditional.
func NewReaderConditional(form Value, splicing bool) Value {
	return Of(&ReaderConditional{Header: Head(KindReaderConditional), Form: form, Splicing: splicing})
}

// Field gives the form or whether it splices by its name.
func (c *ReaderConditional) Field(name string) (Value, bool) {
	switch name {
	case "form":
		return c.Form, true
	case "splicing?":
		return Bool(c.Splicing), true
	}
	return Nil, false
}

// ParseInst reads an RFC 3339 time of which everything after the year may be missing, from the right.
func ParseInst(s string) (Value, bool) {
	p := instParser{s: s, ok: true, month: 1, day: 1}
	p.year = p.digits(4)
	switch {
	case !p.lead('-'):
	default:
		p.month = p.digits(2)
		if p.lead('-') {
			p.day = p.digits(2)
			if p.lead('T') {
				p.clock()
			}
		}
	}
	offset := p.offset()
	if !p.ok || p.s != "" || !p.valid() {
		return Nil, false
	}
	d := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.minute, p.second, p.nano, time.UTC)
	return NewInst(d.UnixMilli() - int64(offset)*60_000), true
}

// instParser takes the parts of an instant from the left of s.
type instParser struct {
	s                                            string
	ok                                           bool
	year, month, day, hour, minute, second, nano int
}

func (p *instParser) lead(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *instParser) digits(n int) int {
	v := 0
	for range n {
		if p.s == "" || p.s[0] < '0' || p.s[0] > '9' {
			p.ok = false
			return 0
		}
		v = v*10 + int(p.s[0]-'0')
		p.s = p.s[1:]
	}
	return v
}

func (p *instParser) clock() {
	p.hour = p.digits(2)
	if !p.lead(':') {
		return
	}
	p.minute = p.digits(2)
	if !p.lead(':') {
		return
	}
	p.second = p.digits(2)
	if !p.lead('.') {
		return
	}
	unit := 100_000_000
	p.nano = p.digits(1) * unit
	for p.s != "" && p.s[0] >= '0' && p.s[0] <= '9' {
		unit /= 10
		p.nano += int(p.s[0]-'0') * unit
		p.s = p.s[1:]
	}
}

// offset gives the minutes east of UTC.
func (p *instParser) offset() int {
	sign := 1
	switch {
	case p.lead('Z'):
		return 0
	case p.lead('+'):
	case p.lead('-'):
		sign = -1
	default:
		return 0
	}
	h := p.digits(2)
	p.ok = p.ok && p.lead(':')
	m := p.digits(2)
	p.ok = p.ok && h < 24 && m < 60
	return sign * (h*60 + m)
}

func (p *instParser) valid() bool {
	if p.month < 1 || p.month > 12 || p.day < 1 || p.hour > 23 || p.minute > 59 {
		return false
	}
	last := time.Date(p.year, time.Month(p.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return p.day <= last && (p.second < 60 || p.second == 60 && p.minute == 59)
}
