package stdlib

import (
	"bytes"
	"context"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/reflection-dev/zeno/lisp/value"
)

// maxMarkdown bounds a text: some texts take the parser time by the square of their length, and it cannot be interrupted.
const maxMarkdown = 4 << 20

// markdownNS is joker.markdown.
func markdownNS() []value.Builtin {
	return []value.Builtin{
		def("convert-string", "([s] [s opts])", "The HTML of Markdown, as GitHub has it, with an id for each heading. Options, each true by default: :with-hard-wraps? makes <br> of the end of a line; :with-xhtml? closes tags as XHTML does; :with-unsafe? passes HTML and links of any kind through, so make it false for text of others.", markdown),
	}
}

type markdownOptions struct {
	HardWraps *bool `lisp:"with-hard-wraps?"`
	XHTML     *bool `lisp:"with-xhtml?"`
	Unsafe    *bool `lisp:"with-unsafe?"`
}

func markdown(t *Thread, s string, o *markdownOptions) Value {
	if o == nil {
		o = &markdownOptions{}
	}
	if len(s) > maxMarkdown {
		panic(value.ArgError("convert-string: got %d bytes, want at most %d; convert it in parts", len(s), maxMarkdown))
	}
	t.Steps(len(s))
	t.Charge(16 * len(s))
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(o.renderer()...))
	out, err := beside(t, func(context.Context) (string, error) {
		var b bytes.Buffer
		err := md.Convert([]byte(s), &b)
		return b.String(), err
	})
	check("convert-string", "convert", "the text", err)
	return str(t, out)
}

func (o *markdownOptions) renderer() []renderer.Option {
	var opts []renderer.Option
	add := func(on *bool, opt renderer.Option) {
		if on == nil || *on {
			opts = append(opts, opt)
		}
	}
	add(o.HardWraps, html.WithHardWraps())
	add(o.XHTML, html.WithXHTML())
	add(o.Unsafe, html.WithUnsafe())
	return opts
}
