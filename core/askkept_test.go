package core

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reflection-dev/zeno/core/spawn"
	"github.com/reflection-dev/zeno/lisp/value"
)

// TestARequestIsKeptWhole: a field of spawn.Request that does not come back after a restart would make a resumed spawn
// another one. Those that cannot be kept are listed here, and asks.saved says what becomes of them.
func TestARequestIsKeptWhole(t *testing.T) {
	lost := map[string]bool{"Agent": true, "OnUsage": true, "APIKey": true, "Entry": true}
	var req spawn.Request
	v := reflect.ValueOf(&req).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !lost[name] {
			fill(t, name, v.Field(i), 0)
		}
	}
	req.Backend, req.Secrets = "omp", nil
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	sp := c.asks.saved(&askRun{askStart: &askStart{agent: value.Nil}, req: req}, nil)
	if sp.Lost != "" {
		t.Fatalf("got it lost: %s", sp.Lost)
	}
	var back spawn.Request
	if err := json.Unmarshal(sp.Request, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(req, back) {
		t.Errorf("got %+v, want %+v", back, req)
	}
}

// fill sets a value to something that is not its zero.
func fill(t *testing.T, name string, v reflect.Value, depth int) {
	t.Helper()
	if depth > 6 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x-" + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, name, v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, name, k, depth+1)
		fill(t, name, x, depth+1)
		v.SetMapIndex(k, x)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, name, v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // asks.saved looks at those
				fill(t, name, v.Field(i), depth+1)
			}
		}
	default:
		t.Errorf("%s: got a %s, which cannot be kept; see asks.saved", name, v.Kind())
	}
}
