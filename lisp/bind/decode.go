package bind

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Duration is a time span written as "250ms", "30s", "5m", "1h" or "2d"; a number is milliseconds.
type Duration time.Duration

// Size is a number of bytes written as "512K", "64M" or "2G" (powers of 1024); a number is bytes.
type Size int64

// Decoder is a type that decodes itself.
type Decoder interface {
	DecodeLisp(t *value.Thread, v value.Value) error
}

// Error is a decoding error: what was found, and where in the data.
type Error struct {
	Path []string // ":egress", ":allow", "2"
	Got  string
	Want string
}

func (e *Error) Error() string {
	msg := "got " + e.Got + ", want " + e.Want
	if len(e.Path) == 0 {
		return msg
	}
	return strings.Join(e.Path, " ") + ": " + msg
}

// Decode fills what into points to from v. A struct is filled from a map with keyword keys; its field F takes the key of
// its tag `lisp:"name"`, else its own name in kebab-case. A key that no field takes is an error.
func Decode(t *value.Thread, v value.Value, into any) error {
	return decode(t, v, reflect.ValueOf(into).Elem(), nil)
}

func bad(t *value.Thread, path []string, v value.Value, want string) error {
	return &Error{Path: path, Got: fmt.Sprintf("%s (%s)", value.Brief(t, v), v.Kind()), Want: want}
}

func decode(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	t.Enter()
	defer t.Leave()
	if out.Type() == valueType {
		out.Set(reflect.ValueOf(v))
		return nil
	}
	if d, ok := out.Addr().Interface().(Decoder); ok {
		if err := d.DecodeLisp(t, v); err != nil {
			return fmt.Errorf("%s%w", prefix(path), err)
		}
		return nil
	}
	switch out.Type() {
	case reflect.TypeFor[Duration](), reflect.TypeFor[time.Duration]():
		return decodeDuration(t, v, out, path)
	case reflect.TypeFor[Size]():
		return decodeSize(t, v, out, path)
	}
	switch out.Kind() {
	case reflect.Pointer:
		return decodePointer(t, v, out, path)
	case reflect.Struct:
		return decodeStruct(t, v, out, path)
	case reflect.Slice:
		return decodeSlice(t, v, out, path)
	case reflect.Map:
		return decodeMap(t, v, out, path)
	case reflect.Interface:
		x, err := plain(t, v, path)
		if err == nil && x != nil {
			out.Set(reflect.ValueOf(x))
		}
		return err
	}
	return decodeScalar(t, v, out, path)
}

func prefix(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return strings.Join(path, " ") + ": "
}

func decodeScalar(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	switch out.Kind() {
	case reflect.String:
		s, ok := text(v)
		if !ok {
			return bad(t, path, v, "a string")
		}
		out.SetString(s)
	case reflect.Bool:
		if v.Kind() != value.KindBool && !v.IsNil() {
			return bad(t, path, v, "true or false")
		}
		out.SetBool(v.Truthy())
	case reflect.Int, reflect.Int64, reflect.Int32:
		if !v.IsInt() || out.OverflowInt(v.Int()) {
			return bad(t, path, v, "an integer")
		}
		out.SetInt(v.Int())
	case reflect.Float64:
		switch {
		case v.IsFloat():
			out.SetFloat(v.Float())
		case v.IsInt():
			out.SetFloat(float64(v.Int()))
		default:
			return bad(t, path, v, "a number")
		}
	default:
		return fmt.Errorf("bind: no way to decode a %s", out.Type())
	}
	return nil
}

// text reads a string, or the name of a keyword or symbol.
func text(v value.Value) (string, bool) {
	switch v.Kind() {
	case value.KindString:
		return v.Text(), true
	case value.KindKeyword:
		return value.As[value.Keyword](v).FullName(), true
	case value.KindSymbol:
		return value.As[value.Symbol](v).FullName(), true
	}
	return "", false
}

func decodePointer(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	if v.IsNil() {
		return nil
	}
	p := reflect.New(out.Type().Elem())
	if err := decode(t, v, p.Elem(), path); err != nil {
		return err
	}
	out.Set(p)
	return nil
}

func decodeSlice(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	if v.IsNil() {
		return nil
	}
	if k := v.Kind(); !k.IsSequential() && !k.IsSet() {
		return bad(t, path, v, "a vector or list")
	}
	xs := value.ToSlice(t, v)
	s := reflect.MakeSlice(out.Type(), len(xs), len(xs))
	for i, x := range xs {
		if err := decode(t, x, s.Index(i), at(path, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	out.Set(s)
	return nil
}

// at is path and one step more, never sharing memory with a sibling's.
func at(path []string, step string) []string { return append(path[:len(path):len(path)], step) }

func decodeMap(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	if v.IsNil() {
		return nil
	}
	if !v.Kind().IsMap() {
		return bad(t, path, v, "a map")
	}
	m := reflect.MakeMap(out.Type())
	var err error
	value.EachKV(t, v, func(k, x value.Value) bool {
		key, ok := text(k)
		if !ok {
			err = bad(t, path, k, "a string or keyword as key")
			return false
		}
		e := reflect.New(out.Type().Elem()).Elem()
		if err = decode(t, x, e, at(path, value.PrStr(t, k))); err != nil {
			return false
		}
		m.SetMapIndex(reflect.ValueOf(key), e)
		return true
	})
	if err == nil {
		out.Set(m)
	}
	return err
}

func decodeStruct(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	fields := fieldsOf(out.Type())
	if v.IsNil() {
		return missing(fields, path)
	}
	if !v.Kind().IsMap() {
		return bad(t, path, v, "a map")
	}
	var err error
	value.EachKV(t, v, func(k, x value.Value) bool {
		name, ok := text(k)
		i := slices.IndexFunc(fields, func(f field) bool { return ok && f.name == name })
		if i < 0 {
			err = &Error{Path: path, Got: "the key " + value.Brief(t, k), Want: "one of " + keys(fields)}
			return false
		}
		fields[i].seen = true
		err = decode(t, x, out.FieldByIndex(fields[i].index), at(path, ":"+name))
		return err == nil
	})
	if err != nil {
		return err
	}
	return missing(fields, path)
}

// missing complains of the first required field that no key filled.
func missing(fields []field, path []string) error {
	for _, f := range fields {
		if f.required && !f.seen {
			return &Error{Path: at(path, ":"+f.name), Got: "nothing", Want: "a value: it is required"}
		}
	}
	return nil
}

// field is a field of a struct under its Lisp name.
type field struct {
	name     string
	index    []int
	required bool
	seen     bool // a key filled it
}

func fieldsOf(typ reflect.Type) []field {
	out := make([]field, 0, typ.NumField())
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("lisp") == "" { // its fields are those of the struct
			for _, in := range fieldsOf(f.Type) {
				in.index = append([]int{i}, in.index...)
				out = append(out, in)
			}
			continue
		}
		name, opt, _ := strings.Cut(f.Tag.Get("lisp"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = Kebab(f.Name)
		}
		out = append(out, field{name: name, index: []int{i}, required: opt == "required"})
	}
	return out
}

func keys(fields []field) string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, ":"+f.name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Kebab turns a Go name into a Lisp one: TokensIn is tokens-in, URL is url.
func Kebab(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if unicode.IsUpper(r) {
			start := i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
			if start {
				b.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func decodeDuration(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	if v.IsInt() && v.Int() >= 0 && v.Int() < math.MaxInt64/int64(time.Millisecond) {
		out.SetInt(v.Int() * int64(time.Millisecond))
		return nil
	}
	if v.Kind() == value.KindString {
		if d, err := ParseDuration(v.Text()); err == nil {
			out.SetInt(int64(d))
			return nil
		}
	}
	return bad(t, path, v, `a time span such as "250ms", "30s", "5m", "1h"`)
}

// ParseDuration reads "30s", "1h30m" and also whole days, "2d".
func ParseDuration(s string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		if days, err := strconv.Atoi(n); err == nil && days >= 0 && days < 100_000 {
			return time.Duration(days) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("duration: got %s, want none below zero", s)
	}
	return d, err
}

func decodeSize(t *value.Thread, v value.Value, out reflect.Value, path []string) error {
	if v.IsInt() && v.Int() >= 0 {
		out.SetInt(v.Int())
		return nil
	}
	if v.Kind() == value.KindString {
		if n, err := ParseSize(v.Text()); err == nil {
			out.SetInt(n)
			return nil
		}
	}
	return bad(t, path, v, `a size such as "512K", "64M", "2G"`)
}

// ParseSize reads "512K", "64M", "2G" or a number of bytes.
func ParseSize(s string) (int64, error) {
	u := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(s)), "B"), "I")
	shift := 0
	if u != "" {
		if i := strings.IndexByte("KMGT", u[len(u)-1]); i >= 0 {
			shift, u = 10*(i+1), u[:len(u)-1]
		}
	}
	n, err := strconv.ParseInt(u, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("size: got %q, want a number and K, M, G or T", s)
	}
	return n << shift, nil
}
