package bencode

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Append adds v to b: a string, an int or int64, a []string, a []any, a []Dict or a Dict. Keys are sorted, as the format wants.
// Anything else is an error, and b comes back as it was.
func Append(b []byte, v any) ([]byte, error) {
	out, err := add(b, v)
	if err != nil {
		return b, err
	}
	return out, nil
}

func add(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return text(b, v), nil
	case int:
		return number(b, int64(v)), nil
	case int64:
		return number(b, v), nil
	case []string:
		b = append(b, 'l')
		for _, s := range v {
			b = text(b, s)
		}
		return append(b, 'e'), nil
	case []any:
		return list(b, v)
	case []Dict:
		return list(b, v)
	case Dict:
		return dict(b, v)
	}
	return nil, fmt.Errorf("bencode: got a %T, want a string, an integer, a list or a dictionary of such", v)
}

func text(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}

func number(b []byte, n int64) []byte {
	b = append(b, 'i')
	b = strconv.AppendInt(b, n, 10)
	return append(b, 'e')
}

func list[T any](b []byte, xs []T) (_ []byte, err error) {
	b = append(b, 'l')
	for _, x := range xs {
		if b, err = add(b, any(x)); err != nil {
			return nil, err
		}
	}
	return append(b, 'e'), nil
}

func dict(b []byte, d Dict) (_ []byte, err error) {
	b = append(b, 'd')
	for _, k := range slices.Sorted(maps.Keys(d)) {
		if b, err = add(text(b, k), d[k]); err != nil {
			return nil, err
		}
	}
	return append(b, 'e'), nil
}
