package corelib

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/lisp/value"
)

// clFormat formats as Common Lisp does, with the directives that people use: ~a ~s ~w ~d ~b ~o ~x ~r ~c ~% ~& ~~ ~* ~^ and
// ~{ … ~}. Numbers before a directive's letter are its width (and padding); : before d groups digits by commas.
func clFormat(t *Thread, args []Value) Value {
	f := &clFormatter{t: t, out: value.NewPrinter(false)}
	f.run(stringOf(t, "cl-format", args[1]), &clArgs{xs: args[2:]})
	s := f.out.Take(t)
	if !args[0].Truthy() {
		return value.Str(s)
	}
	if args[0].Kind() != value.KindBool {
		saved := t.Binds
		t.Bind([]*value.Var{t.Env.OutVar}, []Value{args[0]})
		emit(t, []byte(s))
		t.Binds = saved
		return value.Nil
	}
	emit(t, []byte(s))
	return value.Nil
}

// clArgs are the arguments not yet used.
type clArgs struct{ xs []Value }

func (a *clArgs) next() Value {
	if len(a.xs) == 0 {
		panic(value.ArgError("cl-format: got too few arguments for the format"))
	}
	x := a.xs[0]
	a.xs = a.xs[1:]
	return x
}

// clFormatter writes what a format says.
type clFormatter struct {
	t   *Thread
	out *value.Printer
}

// clDirective is ~ with parameters, modifiers and a letter.
type clDirective struct {
	params []string
	colon  bool
	letter byte
}

func (f *clFormatter) fail(format, what string) *value.Exception {
	return value.ArgError("cl-format: got %s in %.60q", what, format)
}

// parse reads a directive, whose ~ is behind, and gives the rest.
func (f *clFormatter) parse(format, s string) (clDirective, string) {
	var d clDirective
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' || c == ',' || c == '-' || c == '\'':
			if c == '\'' {
				i++
			}
		case c == ':' || c == '@':
			d.colon = d.colon || c == ':'
		default:
			d.params = strings.Split(strings.TrimRight(s[:i], ":@"), ",")
			d.letter = c | 0x20*b2i(c >= 'A' && c <= 'Z')
			return d, s[i+1:]
		}
	}
	panic(f.fail(format, "an unfinished directive"))
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// run writes format with args; false when ~^ ended it.
func (f *clFormatter) run(format string, args *clArgs) bool {
	f.t.Enter()
	defer f.t.Leave()
	rest := format
	for {
		f.t.Step()
		text, after, found := strings.Cut(rest, "~")
		f.out.Text(f.t, text)
		if !found {
			return true
		}
		var d clDirective
		d, rest = f.parse(format, after)
		switch d.letter {
		case '{':
			body, tail := f.block(format, rest)
			rest = tail
			f.iterate(body, args.next())
		case '^':
			if len(args.xs) == 0 {
				return false
			}
		default:
			f.simple(format, d, args)
		}
	}
}

// block parts the text up to the matching ~} from what follows.
func (f *clFormatter) block(format, s string) (body, rest string) {
	depth := 1
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '~' {
			continue
		}
		switch s[i+1] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				f.t.Steps(i >> 3)
				return s[:i], s[i+2:]
			}
		}
		i++
	}
	panic(f.fail(format, "~{ without ~}"))
}

func (f *clFormatter) iterate(body string, list Value) {
	args := &clArgs{xs: value.ToSlice(f.t, list)}
	for len(args.xs) > 0 {
		before := len(args.xs)
		if !f.run(body, args) || len(args.xs) == before {
			return
		}
	}
}

func (f *clFormatter) simple(format string, d clDirective, args *clArgs) {
	switch d.letter {
	case 'a':
		f.padded(d, text(f.t, []Value{args.next()}, false, ""), false)
	case 's', 'w':
		f.padded(d, text(f.t, []Value{args.next()}, true, ""), false)
	case 'c':
		f.padded(d, value.ToString(f.t, args.next()), false)
	case 'd':
		f.integer(d, args.next(), 10)
	case 'b':
		f.integer(d, args.next(), 2)
	case 'o':
		f.integer(d, args.next(), 8)
	case 'x':
		f.integer(d, args.next(), 16)
	case 'r':
		f.radix(d, args.next())
	case '%', '&':
		f.out.Text(f.t, "\n")
	case '~':
		f.out.Text(f.t, "~")
	case '*':
		args.next()
	default:
		panic(f.fail(format, "directive ~"+string(d.letter)))
	}
}

// param is a numeric parameter, or other.
func (d clDirective) param(i, other int) int {
	if i < len(d.params) {
		if n, err := strconv.Atoi(d.params[i]); err == nil {
			return min(max(n, 0), 1<<16)
		}
	}
	return other
}

// padded writes s in the width of the directive, numbers at the right end.
func (f *clFormatter) padded(d clDirective, s string, right bool) {
	pad := max(0, d.param(0, 0)-utf8.RuneCountInString(s))
	fill := " "
	if right && len(d.params) > 1 && strings.HasPrefix(d.params[1], "'") {
		fill = d.params[1][1:]
	}
	f.t.Charge(pad * len(fill))
	space := strings.Repeat(fill, pad)
	if right {
		s, space = space, s
	}
	f.out.Text(f.t, s)
	f.out.Text(f.t, space)
}

func (f *clFormatter) integer(d clDirective, v Value, base int) {
	if !v.Kind().IsInteger() {
		f.padded(d, text(f.t, []Value{v}, false, ""), true)
		return
	}
	s := value.BigText(f.t, value.BigOf(v), base)
	if d.colon {
		s = clGrouped(s)
	}
	f.padded(d, s, true)
}

// clGrouped puts a comma before every third digit from the right.
func clGrouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// radix writes a number in a base, or in English words when there is none.
func (f *clFormatter) radix(d clDirective, v Value) {
	if base := d.param(0, 0); base >= 2 && base <= 36 {
		d.params = d.params[1:]
		f.integer(d, v, base)
		return
	}
	if !v.IsInt() {
		f.integer(clDirective{}, v, 10)
		return
	}
	f.out.Text(f.t, english(big.NewInt(v.Int())))
}

var (
	smallWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tensWords  = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	powerWords = strings.Fields("- thousand million billion trillion quadrillion quintillion")
)

// english words a number below 10^21.
func english(n *big.Int) string {
	if n.Sign() < 0 {
		return "minus " + english(new(big.Int).Neg(n))
	}
	if n.Sign() == 0 {
		return smallWords[0]
	}
	var parts []string
	for power := 0; n.Sign() > 0; power++ {
		q, r := new(big.Int).QuoRem(n, big.NewInt(1000), new(big.Int))
		if r.Sign() > 0 {
			words := englishBelow1000(int(r.Int64()))
			if power > 0 {
				words += " " + powerWords[power]
			}
			parts = append([]string{words}, parts...)
		}
		n = q
	}
	return strings.Join(parts, ", ")
}

func englishBelow1000(n int) string {
	var words []string
	if n >= 100 {
		words = append(words, smallWords[n/100], "hundred")
		n %= 100
	}
	switch {
	case n >= 20 && n%10 > 0:
		words = append(words, tensWords[n/10]+"-"+smallWords[n%10])
	case n >= 20:
		words = append(words, tensWords[n/10])
	case n > 0:
		words = append(words, smallWords[n])
	}
	return strings.Join(words, " ")
}
