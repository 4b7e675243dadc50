package corelib

import (
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// clMost bounds the numbers in a format: of columns, of repetitions.
const clMost = 1 << 16

// clDirective is ~ with parameters, modifiers and a letter, and for ~[ ~{ ~( ~< what stands inside; or, with no letter, text.
type clDirective struct {
	text      string
	params    []clParam
	colon, at bool
	letter    byte
	clauses   [][]*clDirective
	otherwise bool // the last clause comes after ~:; and is taken where no other is
	once      bool // the end is ~:}: at least one round
}

// clParam is a number, a character, or nothing; v and # are a number or character that the arguments give.
type clParam struct {
	kind byte // 0: absent; 'n': n; 'c': s; 'v': the next argument; '#': how many arguments are left
	n    int
	s    string
}

// int is a numeric parameter, or other.
func (d *clDirective) int(i, other int) int {
	if i < len(d.params) && d.params[i].kind == 'n' {
		return d.params[i].n
	}
	return other
}

// char is a character parameter, or other.
func (d *clDirective) char(i int, other string) string {
	if i < len(d.params) && d.params[i].kind == 'c' {
		return d.params[i].s
	}
	return other
}

// resolved is d with what v and # stand for.
func (d *clDirective) resolved(args *clArgs) *clDirective {
	for _, p := range d.params {
		if p.kind == 'v' || p.kind == '#' {
			c := *d
			c.params = make([]clParam, len(d.params))
			for i, p := range d.params {
				c.params[i] = p.resolved(args)
			}
			return &c
		}
	}
	return d
}

func (p clParam) resolved(args *clArgs) clParam {
	switch p.kind {
	case '#':
		return clParam{kind: 'n', n: args.left()}
	case 'v':
		switch x := args.next(); {
		case x.IsNil():
			return clParam{}
		case x.IsInt():
			return clParam{kind: 'n', n: int(max(-clMost, min(x.Int(), clMost)))}
		case x.Kind() == value.KindChar:
			return clParam{kind: 'c', s: string(x.Char())}
		}
		panic(value.ArgError("cl-format: got another value for the parameter v, want an integer, a character or nil"))
	}
	return p
}

// clParser reads a format from left to right.
type clParser struct {
	t      *Thread
	format string
	rest   string
}

func (f *clFormatter) parse(format string) []*clDirective {
	f.t.Charge(len(format))
	p := &clParser{t: f.t, format: format, rest: format}
	body, end := p.body()
	if end != nil {
		panic(p.fail("~" + string(end.letter) + " without its beginning"))
	}
	return body
}

func (p *clParser) fail(what string) *value.Exception {
	return value.ArgError("cl-format: got %s in %.60q", what, p.format)
}

// body reads up to the end of a clause or of the format, and gives the directive that ended it.
func (p *clParser) body() (out []*clDirective, end *clDirective) {
	p.t.Enter()
	defer p.t.Leave()
	for p.rest != "" {
		p.t.Step()
		p.t.Charge(128)
		text, after, found := strings.Cut(p.rest, "~")
		if text != "" {
			out = append(out, &clDirective{text: text})
		}
		if p.rest = after; !found {
			break
		}
		d := p.directive()
		switch d.letter {
		case ']', '}', ')', '>', ';':
			return out, d
		case '\n':
			p.lineEnd(d)
			if d.at {
				out = append(out, &clDirective{text: "\n"})
			}
			continue
		case '[', '{', '(', '<':
			p.inside(d)
		}
		out = append(out, d)
	}
	return out, nil
}

// lineEnd passes the white space after a ~ at the end of a line, unless : keeps it.
func (p *clParser) lineEnd(d *clDirective) {
	if !d.colon {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	}
}

// directive reads the parameters, the modifiers and the letter.
func (p *clParser) directive() *clDirective {
	d := &clDirective{}
	for first := true; ; first = false {
		param, ok := p.param()
		if ok || strings.HasPrefix(p.rest, ",") {
			d.params = append(d.params, param)
		}
		if !strings.HasPrefix(p.rest, ",") {
			if !ok && !first {
				d.params = append(d.params, clParam{})
			}
			break
		}
		p.rest = p.rest[1:]
	}
	for {
		if p.rest == "" {
			panic(p.fail("an unfinished directive"))
		}
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == ':' && !d.colon:
			d.colon = true
			continue
		case c == '@' && !d.at:
			d.at = true
			continue
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		}
		if !strings.ContainsRune("aswdboxrfeg$cp[]{}()<>;?^*%&|~t\n", rune(c)) {
			panic(p.fail("directive ~" + string(c)))
		}
		d.letter = c
		return d
	}
}

// param reads a parameter, if one is there.
func (p *clParser) param() (clParam, bool) {
	if p.rest == "" {
		return clParam{}, false
	}
	switch c := p.rest[0]; {
	case c == '\'' && len(p.rest) > 1:
		_, size := utf8.DecodeRuneInString(p.rest[1:])
		s := p.rest[1 : 1+size]
		p.rest = p.rest[1+size:]
		return clParam{kind: 'c', s: s}, true
	case c == 'v' || c == 'V':
		p.rest = p.rest[1:]
		return clParam{kind: 'v'}, true
	case c == '#':
		p.rest = p.rest[1:]
		return clParam{kind: '#'}, true
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.integer(), true
	}
	return clParam{}, false
}

func (p *clParser) integer() clParam {
	negative := p.rest[0] == '-'
	i, n := 0, 0
	if c := p.rest[0]; c == '-' || c == '+' {
		i++
	}
	for ; i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9'; i++ {
		n = min(n*10+int(p.rest[i]-'0'), clMost)
	}
	p.rest = p.rest[i:]
	if negative {
		n = -n
	}
	return clParam{kind: 'n', n: n}
}

// inside reads the clauses of d up to the end that fits.
func (p *clParser) inside(d *clDirective) {
	want := map[byte]byte{'[': ']', '{': '}', '(': ')', '<': '>'}[d.letter]
	for {
		clause, end := p.body()
		d.clauses = append(d.clauses, clause)
		switch {
		case end == nil:
			panic(p.fail("~" + string(d.letter) + " without ~" + string(want)))
		case end.letter == ';' && (d.letter == '[' || d.letter == '<'):
			if d.letter == '<' && end.colon {
				panic(p.fail("~:; in ~<, which is the pretty printer's"))
			}
			d.otherwise = end.colon
		case end.letter != want:
			panic(p.fail("~" + string(end.letter) + " where ~" + string(want) + " ends ~" + string(d.letter)))
		default:
			if d.once = end.colon; d.once && d.letter == '<' {
				panic(p.fail("~:>, which is the pretty printer's"))
			}
			return
		}
	}
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}
