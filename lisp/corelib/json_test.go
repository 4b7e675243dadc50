package corelib

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
	"github.com/reflection-dev/zeno/lisp/value"
)

func jsonThread() *Thread {
	return value.NewThread(value.NewRun(context.Background(), limit.Defaults()), value.NewEnv(value.NewNamespace(coreName), nil))
}

// parseJSON reads a text and gives the exception or limit it ended in.
func parseJSON(src string) (v Value, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Exception:
			err = r
		case *limit.Error:
			err = r
		default:
			panic(r)
		}
	}()
	return readJSON(jsonThread(), src, &jsonOptions{}), nil
}

func TestJSONErrorsNameTheirPlace(t *testing.T) {
	for src, want := range map[string]string{
		"":             `json: got the end of the text on line 1, want a JSON value`,
		"[1,\n 2":      `json: got the end of the text on line 2, want ',' or ']'`,
		"{\"a\" 1}":    `json: got '1' on line 1, at byte 5, want ':'`,
		"[1 2]":        `json: got '2' on line 1, at byte 3, want ',' or ']'`,
		"1 x":          `json: got 'x' on line 1, at byte 2, want the end of the text`,
		"{a: 1}":       `json: got 'a' on line 1, at byte 1, want a string for a key`,
		"\"\\q\"":      `json: got 'q' on line 1, at byte 2, want an escape: one of " \ / b f n r t u`,
		"1e999":        `json: got number 1e999, want one that a double can hold`,
		"\"a\tb\"":     `json: got '\t' on line 1, at byte 2, want an escape such as \n for a control character`,
		"\"\\u00g0\"":  `json: got '0' on line 1, at byte 3, want four hexadecimal digits after \u`,
		"[true, fals]": `json: got 'f' on line 1, at byte 7, want a JSON value`,
	} {
		if _, err := parseJSON(src); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", src, err, want)
		}
	}
}

func TestHostileJSONEndsInALimit(t *testing.T) {
	for name, src := range map[string]string{
		"arrays":  strings.Repeat("[", 1_000_000),
		"objects": strings.Repeat(`{"a":`, 1_000_000),
	} {
		var le *limit.Error
		if _, err := parseJSON(src); !errors.As(err, &le) || le.Kind != limit.Depth {
			t.Errorf("%s: got %v, want the depth limit", name, err)
		}
	}
	if _, err := parseJSON(strings.Repeat("9", 5_000_000)); err == nil || !strings.Contains(err.Error(), "big number: got digits of") {
		t.Errorf("a number of 5,000,000 digits: got %v, want it refused", err)
	}
}

// FuzzJSON holds the reader to encoding/json: the same texts are JSON for both, and what is written is JSON again.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,"x\u00e9\n\ud83d\ude00",true,false,null,{},[]]}`, `[`, `"\ud800"`, `01`, `-`, `1.`, `1e`, `{"a":1,"a":2}`,
		`[1,]`, "\"\t\"", `123456789012345678901234567890`, ` [ ] `, `nulls`, `"\`, `"\u12`, `{"":0}`, `-0`, `1E+2`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		v, err := parseJSON(src)
		var ex *value.Exception
		switch valid := json.Valid([]byte(src)); {
		case err == nil && !valid:
			t.Fatalf("%q: got a value, want an error", src)
		case errors.As(err, &ex) && valid && !strings.Contains(ex.Error(), "that a double can hold"):
			t.Fatalf("%q: got %v, want a value", src, err)
		case err != nil:
			return
		}
		if out := writeJSON(jsonThread(), v, &jsonOptions{}); !json.Valid([]byte(out)) {
			t.Fatalf("%q: got %q back, want JSON", src, out)
		}
	})
}
