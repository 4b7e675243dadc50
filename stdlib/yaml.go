package stdlib

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/reflection-dev/zeno/lisp/value"
)

// yamlNS is joker.yaml.
func yamlNS() []value.Builtin {
	return []value.Builtin{
		def("read-string", "([s] [s opts])", "The data of a YAML document: maps, with their keys as they are unless the option :keywords? is true, vectors, strings, numbers, booleans, nil and insts.", yamlRead),
		def("write-string", "([v])", "Data as YAML. Keywords and symbols become their names.", yamlWrite),
	}
}

type yamlIn struct {
	Keywords bool `lisp:"keywords?"`
}

func yamlRead(t *Thread, s string, o *yamlIn) Value {
	t.Steps(len(s))
	t.Charge(16 * len(s))
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(s), &doc)
	if err != nil {
		panic(value.ArgError("read-string: %s", strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	r := &yamlReader{t: t, keywords: o != nil && o.Keywords, done: map[*yaml.Node]Value{}}
	return r.value(&doc)
}

// yamlReader makes values of nodes. A node that several aliases name is one value: however often they multiply it, it is
// built once.
type yamlReader struct {
	t        *Thread
	keywords bool
	done     map[*yaml.Node]Value
	open     []*yaml.Node // anchored nodes being made, for aliases to themselves
}

func (r *yamlReader) value(n *yaml.Node) Value {
	r.t.Step()
	r.t.Enter()
	defer r.t.Leave()
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0])
	case yaml.AliasNode:
		return r.alias(n)
	case yaml.SequenceNode, yaml.MappingNode:
		return r.anchored(n)
	case yaml.ScalarNode:
		return r.scalar(n)
	}
	return value.Nil
}

func (r *yamlReader) alias(n *yaml.Node) Value {
	if v, ok := r.done[n.Alias]; ok {
		return v
	}
	for _, o := range r.open {
		if o == n.Alias {
			panic(value.ArgError("read-string: line %d: the alias *%s lies inside what it names", n.Line, n.Value))
		}
	}
	v := r.value(n.Alias)
	r.done[n.Alias] = v
	return v
}

func (r *yamlReader) anchored(n *yaml.Node) Value {
	if n.Anchor != "" {
		r.open = append(r.open, n)
		defer func() { r.open = r.open[:len(r.open)-1] }()
	}
	var v Value
	if n.Kind == yaml.MappingNode {
		v = r.mapping(n)
	} else {
		r.t.Charge(16 * len(n.Content))
		xs := make([]Value, len(n.Content))
		for i, c := range n.Content {
			xs[i] = r.value(c)
		}
		v = value.NewVectorOwned(r.t, xs)
	}
	if n.Anchor != "" {
		r.done[n] = v
	}
	return v
}

func (r *yamlReader) mapping(n *yaml.Node) Value {
	var merged, own []Value
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, x := n.Content[i], n.Content[i+1]
		r.t.Charge(64)
		if k.Tag == "!!merge" {
			merged = r.merge(merged, k, r.value(x))
			continue
		}
		own = append(own, r.key(k), r.value(x))
	}
	if value.Count(r.t, value.NewMap(r.t, own...)) < len(own)/2 {
		r.twice(n)
	}
	return value.NewMap(r.t, append(merged, own...)...)
}

// twice tells of a key that a map has twice, which YAML forbids: one of the two values would be lost.
func (r *yamlReader) twice(n *yaml.Node) {
	seen := value.EmptyMap
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := n.Content[i]
		if at.Tag == "!!merge" {
			continue
		}
		k := r.key(at)
		if value.Contains(r.t, seen, k) {
			panic(value.ArgError("read-string: line %d: got the key %s again, want each key of a map once", at.Line, value.Brief(r.t, k)))
		}
		seen = value.Assoc(r.t, seen, k, value.True)
	}
}

// merge adds the entries of what << names; of a list of maps, those of earlier ones win.
func (r *yamlReader) merge(kvs []Value, at *yaml.Node, v Value) []Value {
	maps := []Value{v}
	if v.Kind().IsVector() {
		maps = value.ToSlice(r.t, v)
	}
	for i := len(maps) - 1; i >= 0; i-- {
		if !maps[i].Kind().IsMap() {
			panic(value.ArgError("read-string: line %d: got %s to merge, want a map", at.Line, value.Brief(r.t, maps[i])))
		}
		value.EachKV(r.t, maps[i], func(k, x Value) bool {
			r.t.Charge(64)
			kvs = append(kvs, k, x)
			return true
		})
	}
	return kvs
}

func (r *yamlReader) key(n *yaml.Node) Value {
	k := r.value(n)
	if r.keywords && k.Kind() == value.KindString {
		return value.Kw(k.Text())
	}
	return k
}

func (r *yamlReader) scalar(n *yaml.Node) Value {
	switch n.ShortTag() {
	case "!!null":
		return value.Nil
	case "!!bool":
		return value.Bool(strings.EqualFold(n.Value, "true"))
	case "!!int":
		return r.integer(n)
	case "!!float":
		return value.Float(r.float(n))
	case "!!timestamp":
		var d time.Time
		if n.Decode(&d) == nil {
			return value.InstOf(d.UTC())
		}
	case "!!binary":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			panic(value.ArgError("read-string: line %d: got !!binary that is no base64", n.Line))
		}
		return str(r.t, string(b))
	}
	return str(r.t, n.Value)
}

func (r *yamlReader) integer(n *yaml.Node) Value {
	s := strings.ReplaceAll(n.Value, "_", "")
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return value.Int(i)
	}
	if i, ok := new(big.Int).SetString(s, 0); ok && len(s) < 1<<12 {
		return value.NewBigInt(i)
	}
	panic(value.ArgError("read-string: line %d: got the integer %.40s, want one of less than 4,096 digits", n.Line, n.Value))
}

func (r *yamlReader) float(n *yaml.Node) float64 {
	switch strings.ToLower(strings.TrimLeft(n.Value, "+-")) {
	case ".inf":
		if n.Value[0] == '-' {
			return math.Inf(-1)
		}
		return math.Inf(1)
	case ".nan":
		return math.NaN()
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		panic(value.ArgError("read-string: line %d: got %.40q, want a number", n.Line, n.Value))
	}
	return f
}

func yamlWrite(t *Thread, v Value) Value {
	n := yamlNode(t, v)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(value.ArgError("write-string: %s", err))
	}
	_ = e.Close()
	return str(t, b.String())
}

// yamlNode makes a node of data, charged for what it and its text take.
func yamlNode(t *Thread, v Value) *yaml.Node {
	t.Step()
	t.Charge(320)
	t.Enter()
	defer t.Leave()
	switch k := v.Kind(); {
	case k == value.KindNil:
		return yamlScalar("!!null", "null")
	case k == value.KindBool:
		return yamlScalar("!!bool", strconv.FormatBool(v.Truthy()))
	case k.IsInteger():
		return yamlScalar("!!int", value.ToString(t, v))
	case k == value.KindFloat:
		return yamlScalar("!!float", yamlFloat(v.Float()))
	case k == value.KindBigDec:
		return yamlScalar("!!float", value.ToString(t, v))
	case k == value.KindInst:
		return yamlScalar("!!timestamp", value.As[value.Inst](v).Time().Format(time.RFC3339Nano))
	case k == value.KindKeyword:
		return yamlText(t, value.As[value.Keyword](v).FullName())
	case k.IsMap():
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		value.EachKV(t, v, func(key, x Value) bool {
			n.Content = append(n.Content, yamlNode(t, key), yamlNode(t, x))
			return true
		})
		return n
	case k.IsSequential(), k.IsSet():
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		value.Each(t, v, func(x Value) bool {
			n.Content = append(n.Content, yamlNode(t, x))
			return true
		})
		return n
	case k <= value.KindSymbol, k == value.KindUUID:
		return yamlText(t, value.ToString(t, v))
	}
	panic(value.TypeError(t, "write-string", v, "data"))
}

func yamlScalar(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

func yamlText(t *Thread, s string) *yaml.Node {
	t.Charge(4 * len(s))
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func yamlFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	case math.IsNaN(f):
		return ".nan"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
