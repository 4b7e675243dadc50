package core

import (
	"encoding/json"

	"github.com/reflection-dev/zeno/lisp/bind"
	"github.com/reflection-dev/zeno/lisp/value"
	"github.com/reflection-dev/zeno/oci"
)

// ImageSpec is an oci.Spec as Lisp data. A key whose value is nil is as good as none.
type ImageSpec oci.Spec

// DecodeLisp implements bind.Decoder.
func (s *ImageSpec) DecodeLisp(t *value.Thread, v value.Value) error {
	if v.Kind().IsMap() {
		v = set(t, v)
	}
	return bind.Decode(t, v, (*oci.Spec)(s))
}

// set gives the map without keys whose value is nil.
func set(t *value.Thread, m value.Value) value.Value {
	var kvs []value.Value
	value.EachKV(t, m, func(k, v value.Value) bool {
		if v.Kind().IsMap() {
			v = set(t, v)
		}
		if !v.IsNil() {
			kvs = append(kvs, k, v)
		}
		return true
	})
	return value.NewMap(t, kvs...)
}

// imageForm is :image of a box: a name, a path, or an image spec, which goes on as JSON.
type imageForm string

// DecodeLisp implements bind.Decoder.
func (f *imageForm) DecodeLisp(t *value.Thread, v value.Value) error {
	switch {
	case v.IsNil():
		return nil
	case !v.Kind().IsMap():
		var s string
		err := bind.Decode(t, v, &s)
		*f = imageForm(s)
		return err
	}
	var spec ImageSpec
	if err := bind.Decode(t, v, &spec); err != nil {
		return err
	}
	text, err := json.Marshal(oci.Spec(spec))
	*f = imageForm(text)
	return err
}
