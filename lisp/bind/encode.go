package bind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/lisp/value"
)

// Encode makes Lisp data of Go data: structs become maps with keyword keys (a field tagged omitempty is left out when
// it is zero), durations milliseconds, times strings in RFC 3339.
func Encode(t *value.Thread, v any) value.Value { return encode(t, reflect.ValueOf(v)) }

// Keyword is a string that encodes as a keyword.
type Keyword string

func encode(t *value.Thread, v reflect.Value) value.Value {
	if !v.IsValid() {
		return value.Nil
	}
	t.Enter()
	defer t.Leave()
	switch x := v.Interface().(type) {
	case value.Value:
		return x
	case Keyword:
		return value.Kw(string(x))
	case time.Duration:
		return value.Int(x.Milliseconds())
	case time.Time:
		return value.Str(x.UTC().Format(time.RFC3339Nano))
	case error:
		return value.Str(x.Error())
	}
	switch v.Kind() {
	case reflect.Bool:
		return value.Bool(v.Bool())
	case reflect.String:
		t.Charge(40 + v.Len())
		return value.Str(v.String())
	case reflect.Int, reflect.Int64, reflect.Int32:
		return value.Int(v.Int())
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		return value.Int(int64(v.Uint()))
	case reflect.Float64:
		return value.Float(v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return value.Nil
		}
		return encode(t, v.Elem())
	}
	return encodeColl(t, v)
}

func encodeColl(t *value.Thread, v reflect.Value) value.Value {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		xs := make([]value.Value, v.Len())
		for i := range xs {
			xs[i] = encode(t, v.Index(i))
		}
		return value.NewVector(t, xs)
	case reflect.Map:
		var kvs []value.Value
		ks := v.MapKeys()
		slices.SortFunc(ks, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range ks {
			kvs = append(kvs, value.Kw(k.String()), encode(t, v.MapIndex(k)))
		}
		return value.NewMap(t, kvs...)
	case reflect.Struct:
		return encodeStruct(t, v)
	}
	panic(value.Errorf("InternalError", "bind: no way to encode a %s", v.Type()))
}

func encodeStruct(t *value.Thread, v reflect.Value) value.Value {
	var kvs []value.Value
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("lisp"), ",")
		if !f.IsExported() || name == "-" || strings.Contains(opts, "omitempty") && v.Field(i).IsZero() {
			continue
		}
		if name == "" {
			name = Kebab(f.Name)
		}
		kvs = append(kvs, value.Kw(name), encode(t, v.Field(i)))
	}
	return value.NewMap(t, kvs...)
}

// plain makes Go data of Lisp data: maps with string keys, slices, strings, numbers, booleans, nil.
func plain(t *value.Thread, v value.Value, path []string) (any, error) {
	t.Enter()
	defer t.Leave()
	switch k := v.Kind(); {
	case k == value.KindNil:
		return nil, nil
	case k == value.KindBool:
		return v.Truthy(), nil
	case k == value.KindInt:
		return v.Int(), nil
	case k == value.KindFloat:
		return v.Float(), nil
	case k.IsMap():
		return plainMap(t, v, path)
	case k.IsSequential() || k.IsSet():
		out := []any{}
		var err error
		value.Each(t, v, func(x value.Value) bool {
			var e any
			e, err = plain(t, x, at(path, fmt.Sprint(len(out))))
			out = append(out, e)
			return err == nil
		})
		return out, err
	}
	if s, ok := text(v); ok {
		return s, nil
	}
	return nil, bad(t, path, v, "data")
}

func plainMap(t *value.Thread, v value.Value, path []string) (any, error) {
	out := map[string]any{}
	var err error
	value.EachKV(t, v, func(k, x value.Value) bool {
		name, ok := text(k)
		if !ok {
			err = bad(t, path, k, "a string or keyword as key")
			return false
		}
		out[name], err = plain(t, x, at(path, value.PrStr(t, k)))
		return err == nil
	})
	return out, err
}

// Plain makes Go data of Lisp data: maps with string keys, slices, strings, numbers, booleans, nil.
func Plain(t *value.Thread, v value.Value) (any, error) { return plain(t, v, nil) }
