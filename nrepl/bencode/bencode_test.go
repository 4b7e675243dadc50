package bencode

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func decode(s string, l Limits) (Dict, error) { return NewDecoder(strings.NewReader(s), l).Next() }

func TestDecode(t *testing.T) {
	for src, want := range map[string]Dict{
		"de":                     {},
		"d2:op4:evale":           {"op": "eval"},
		"d2:op4:eval2:idi7ee":    {"op": "eval", "id": int64(7)},
		"d1:b1:x1:ai-12ee":       {"a": int64(-12), "b": "x"}, // clients do not sort
		"d1:a1:x1:a1:ye":         {"a": "y"},                  // nor do they all keep keys apart
		"d1:alee":                {"a": []any{}},
		"d1:al1:xi0eld1:bdeeeee": {"a": []any{"x", int64(0), []any{Dict{"b": Dict{}}}}},
		"d1:a0:e":                {"a": ""},
		"d0:0:e":                 {"": ""},
		"d1:a4:\xff\x00\n:e":     {"a": "\xff\x00\n:"},
		"d1:ai9223372036854775807e1:bi-9223372036854775808ee": {"a": int64(9223372036854775807), "b": int64(-9223372036854775808)},
	} {
		got, err := decode(src, Limits{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v, want %v", src, got, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, src := range []string{
		"x", "e", "i1e", "le", "3:abc", "\n", "GET / HTTP/1.1\r\n", "\x16\x03\x01",
		"di1e1:ae", "dlee", "d1:ae", "d1:axe", "d1:a-1:xe", "d01:a0:e", "d1:a00:e", "d1:a+1:xe", "d1:a1 :xe",
		"d1:aiee", "d1:ai-ee", "d1:ai-0ee", "d1:ai01ee", "d1:ai+1ee", "d1:ai1x2ee", "d1:ai1.5ee", "d1:ai--1ee",
		"d1:ai9223372036854775808ee", "d1:ai-9223372036854775809ee", "d1:ai99999999999999999999999ee",
		"d1:a2147483648:", "d1:a9223372036854775808:", "d1:a99999999999999999999999:", "d" + strings.Repeat("1", 1000),
	} {
		_, err := decode(src, Limits{})
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%.40q: got %v, want an *Error", src, err)
		}
	}
}

// TestDecodeCut cuts a message at every byte: none of the parts is a message, and only the empty one is the end.
func TestDecodeCut(t *testing.T) {
	const whole = "d2:idi12e4:listl1:a3:bcdi-4ee3:mapd1:kd1:vleeee"
	if _, err := decode(whole, Limits{}); err != nil {
		t.Fatal(err)
	}
	for i := range len(whole) {
		want := io.ErrUnexpectedEOF
		if i == 0 {
			want = io.EOF
		}
		if _, err := decode(whole[:i], Limits{}); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", whole[:i], err, want)
		}
	}
}

func TestDecodeStream(t *testing.T) {
	src := "d1:ai1eed1:ai2eede"
	d := NewDecoder(iotest.OneByteReader(strings.NewReader(src)), Limits{})
	for _, want := range []Dict{{"a": int64(1)}, {"a": int64(2)}, {}} {
		if err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Next(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if err := d.Wait(); err != io.EOF {
		t.Errorf("at the end: got %v, want io.EOF", err)
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string { return "d1:a" + strings.Repeat("l", n) + strings.Repeat("e", n) + "e" }
	for _, c := range []struct {
		name, ok, over string
		l              Limits
	}{
		{"depth", nested(9), nested(10), Limits{Depth: 10}},
		{"default depth", nested(255), nested(256), Limits{}},
		{"items", "d1:ali1ei1eee", "d1:ali1ei1ei1eee", Limits{Items: 3}},
		{"bytes", "d1:a4:12341:b1:xe", "d1:a4:12341:b2:xye", Limits{Bytes: 17}},
	} {
		if _, err := decode(c.ok, c.l); err != nil {
			t.Errorf("%s: got %v, want it within the limit", c.name, err)
		}
		var bad *Error
		if _, err := decode(c.over, c.l); !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want it over the limit", c.name, err)
		}
	}
}

// TestAnnouncedBytesCostNothing has a peer announce 30 MB and send none of them.
func TestAnnouncedBytesCostNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := decode("d1:a30000000:xyz", Limits{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v, want the end of the stream", err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("got %d bytes allocated for 100 empty promises, want at most 16 MiB", got)
	}
}

func TestRoom(t *testing.T) {
	var asked int
	d := NewDecoder(strings.NewReader("d1:a100000:"+strings.Repeat("x", 100000)+"e"), Limits{})
	d.Room(func(n int) error {
		asked += n
		return nil
	})
	if m, err := d.Next(); err != nil || len(m["a"].(string)) != 100000 || asked != 100000 {
		t.Errorf("got %v and room for %d, want a string of 100000 and as much room", err, asked)
	}
	asked = 0
	d = NewDecoder(strings.NewReader("d1:al"+strings.Repeat("100:"+strings.Repeat("x", 100), 1000)+"ee"), Limits{})
	d.Room(func(n int) error {
		asked += n
		return nil
	})
	if _, err := d.Next(); err != nil || asked < 90_000 || asked > 110_000 {
		t.Errorf("short strings: got %v and room for %d, want it for about 100000", err, asked)
	}
	full := errors.New("full")
	d = NewDecoder(strings.NewReader("d1:a100000:"+strings.Repeat("x", 100000)+"e"), Limits{})
	d.Room(func(int) error { return full })
	if _, err := d.Next(); !errors.Is(err, full) {
		t.Errorf("got %v, want what Room said", err)
	}
}

func TestAppend(t *testing.T) {
	got, err := Append([]byte("x"), Dict{"b": []any{1, int64(-2), "é"}, "a": Dict{}, "c": []string{"y"}, "d": []Dict{{"k": ""}}})
	if want := "xd1:ade1:bli1ei-2e2:\xc3\xa9e1:cl1:ye1:dld1:k0:eee"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	got, err = Append([]byte("x"), Dict{"a": []any{1.5}})
	if err == nil || string(got) != "x" || !strings.Contains(err.Error(), "float64") {
		t.Errorf("a float: got %q, %v, want it refused by name", got, err)
	}
}

// FuzzDecode: what is decoded is encoded to a text that decodes to the same, and takes no more bytes than it had.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"de", "d2:op4:eval4:code7:(+ 1 2)2:idi1ee", "d1:al1:xi0eld1:bdeeeee", "d1:a99999999999:", "d1:ai-0ee", "x", "d1:a",
		strings.Repeat("d1:a", 300), "d1:b1:x1:a1:ye"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := NewDecoder(bytes.NewReader(src), Limits{Bytes: 1 << 16, Items: 1000}).Next()
		if err != nil {
			return
		}
		text, err := Append(nil, m)
		if err != nil || len(text) > len(src) {
			t.Fatalf("%q: encoded as %q, %v", src, text, err)
		}
		again, err := NewDecoder(bytes.NewReader(text), Limits{}).Next()
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%q: got %v, %v, want %v", text, again, err, m)
		}
	})
}
