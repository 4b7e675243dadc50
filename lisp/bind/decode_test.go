package bind_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/lisp"
	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
)

type rule struct {
	Host    string `lisp:"host,required"`
	MaxSize bind.Size
	Wait    bind.Duration `lisp:"wait"`
	secret  string
}

// Every decoding error names its path, and what is wanted there; a struct's keys are found by tag, or by its field's name.
func TestDecodeStruct(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	for _, tt := range []struct {
		code string
		want []rule
		err  string // "": none
	}{
		{`[{:host "a" :max-size "2K" :wait "3s"} {"host" "b"}]`,
			[]rule{{Host: "a", MaxSize: 2048, Wait: bind.Duration(3 * time.Second)}, {Host: "b"}}, ""},
		{`[{:host "a"} {:wait 1}]`, nil, ":rules 1 :host: got nothing, want a value: it is required"},
		{`[{}]`, nil, ":rules 0 :host: got nothing, want a value: it is required"},
		{`[{:host "a" :hots 1}]`, nil, ":rules 0: got the key :hots, want one of :host :max-size :wait"},
		{`[{:host "a" :secret "x"}]`, nil, ":rules 0: got the key :secret, want one of :host :max-size :wait"},
		{`[{:host "a" 7 1}]`, nil, ":rules 0: got the key 7, want one of :host :max-size :wait"},
		{`[{:host 7}]`, nil, ":rules 0 :host: got 7 (integer), want a string"},
		{`["a"]`, nil, `:rules 0: got "a" (string), want a map`},
	} {
		var got struct{ Rules []rule }
		var err error
		if _, e := env.Do(context.Background(), func(th *value.Thread) value.Value {
			err = bind.Decode(th, th.Env.EvalText(th, "{:rules "+tt.code+"}", "test"), &got)
			return value.Nil
		}); e != nil {
			t.Fatalf("%s: %v", tt.code, e)
		}
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: got error %v, want %s", tt.code, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.code, err)
			continue
		}
		for i, r := range tt.want {
			if i >= len(got.Rules) || got.Rules[i] != r {
				t.Errorf("%s: got %+v, want %+v", tt.code, got.Rules, tt.want)
			}
		}
		if len(got.Rules) > 0 && got.Rules[0].secret != "" {
			t.Errorf("%s: an unexported field was filled", tt.code)
		}
	}
}

type sharedForm struct {
	Volume string `lisp:"volume"`
	CPUs   int    `lisp:"cpus,required"`
}

type wholeForm struct {
	sharedForm
	Name string `lisp:"name"`
}

// The fields of an embedded struct are those of the struct, required ones and errors included.
func TestEmbedded(t *testing.T) {
	env := lisp.New().NewEnv(lisp.EnvConfig{})
	read := func(src string) (f wholeForm, err error) {
		_, e := env.Do(context.Background(), func(th *value.Thread) value.Value {
			err = bind.Decode(th, th.Env.EvalText(th, src, "test"), &f)
			return value.Nil
		})
		if e != nil {
			t.Fatal(e)
		}
		return f, err
	}
	want := wholeForm{sharedForm{"v", 2}, "a"}
	if f, err := read(`{:name "a" :volume "v" :cpus 2}`); err != nil || f != want {
		t.Errorf("got %+v %v, want %+v", f, err, want)
	}
	for src, want := range map[string]string{`{:name "a"}`: ":cpus: got nothing", `{:cpus "x"}`: ":cpus: got ", `{:cpu 1}`: "want one of :cpus :name :volume"} {
		if _, err := read(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s in it", src, err, want)
		}
	}
}
