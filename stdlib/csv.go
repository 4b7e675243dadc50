package stdlib

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// csvNS is joker.csv: tables as lines of fields.
func csvNS() []value.Builtin {
	return []value.Builtin{
		def("csv-seq", "([rdr] [rdr opts])", "A lazy seq of the records of rdr, a reader or a string, each a vector of strings. Options: :comma the character between fields, \\, by default; :comment one that starts lines to leave out; :fields-per-record how many there must be (0: as many as in the first record; below: any number, the default); :lazy-quotes and :trim-leading-space to be less strict.", csvSeq),
		def("write", "([f data] [f data opts])", "Writes records, a seq of seqs, to the writer f. Options: :comma; :use-crlf to end lines by \\r\\n.", csvWrite),
		def("write-string", "([data] [data opts])", "As write, but gives the text.", func(t *Thread, data Value, o *csvOut) Value {
			return str(t, csvText(t, "write-string", data, o))
		}),
	}
}

type csvIn struct {
	Comma            Value
	Comment          Value
	FieldsPerRecord  *int
	LazyQuotes       bool
	TrimLeadingSpace bool
}

type csvOut struct {
	Comma   Value
	UseCRLF bool `lisp:"use-crlf"`
}

func csvSeq(t *Thread, rdr Value, o *csvIn) Value {
	var src io.Reader
	if rdr.Kind() == value.KindString {
		src = strings.NewReader(rdr.Text())
	} else {
		src = readerOf(t, "csv-seq", rdr)
	}
	r := csv.NewReader(src)
	r.FieldsPerRecord = -1
	if o != nil {
		r.Comma = separator(t, "csv-seq", o.Comma, ',')
		r.Comment = separator(t, "csv-seq", o.Comment, 0)
		r.LazyQuotes, r.TrimLeadingSpace = o.LazyQuotes, o.TrimLeadingSpace
		if o.FieldsPerRecord != nil {
			r.FieldsPerRecord = *o.FieldsPerRecord
		}
	}
	atHand := rdr.Kind() == value.KindString
	return value.Seq(t, csvCell(&reading[[]string]{read: r.Read, ready: func() bool { return atHand }}, rdr))
}

func separator(t *Thread, who string, v Value, otherwise rune) rune {
	if v.IsNil() {
		return otherwise
	}
	return charOf(t, who, v)
}

// csvCell is the lazy seq of the records that are left.
func csvCell(src *reading[[]string], held Value) Value {
	var record []string // read, but not yet a value: kept for a second try
	return value.NewLazyGo(func(t *Thread) Value {
		if record == nil {
			r, err := src.next(t)
			if errors.Is(err, io.EOF) {
				return value.Nil
			}
			if err != nil {
				panic(csvError(err))
			}
			record = r
		}
		return value.Cons(t, strs(t, record), csvCell(src, held))
	}, held)
}

func csvError(err error) *value.Exception {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return value.ArgError("csv-seq: line %d, column %d: %s", p.Line, p.Column, p.Err)
	}
	return failed("csv-seq", "read", "the next record", err)
}

func csvWrite(t *Thread, f, data Value, o *csvOut) {
	text := csvText(t, "write", data, o)
	writing(t, "write", f, func(w io.Writer) {
		_, err := io.WriteString(w, text)
		check("write", "write", name(t, f), err)
	})
}

func csvText(t *Thread, who string, data Value, o *csvOut) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if o != nil {
		w.Comma, w.UseCRLF = separator(t, who, o.Comma, ','), o.UseCRLF
	}
	value.Each(t, data, func(row Value) bool {
		record := []string{}
		value.Each(t, row, func(x Value) bool {
			s := value.ToString(t, x)
			t.Charge(3*len(s) + 16)
			record = append(record, s)
			return true
		})
		if err := w.Write(record); err != nil {
			panic(value.ArgError("%s: %s", who, err))
		}
		return true
	})
	w.Flush()
	return b.String()
}
