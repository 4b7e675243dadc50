package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// NewLogger makes a logger that writes lines to w: format is "text" or "json", level debug, info, warn or error.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if level == "" {
		level = "info"
	}
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level: got %q, want debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("log format: got %q, want text or json", format)
}

// Redacting is log without secrets: clean takes them out of every text. Where log is off at a level nothing is looked at.
func Redacting(log *slog.Logger, clean func(string) string) *slog.Logger {
	return slog.New(redacting{log.Handler(), clean})
}

type redacting struct {
	slog.Handler
	clean func(string) string
}

// Handle implements slog.Handler.
func (h redacting) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.clean(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h redacting) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.clean(v.String()))
	case slog.KindAny: // an error, a panic's value, a list: as text, which can be looked at
		return slog.String(a.Key, h.clean(fmt.Sprint(v.Any())))
	case slog.KindGroup:
		in := v.Group()
		out := make([]slog.Attr, len(in))
		for i, x := range in {
			out[i] = h.attr(x)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(out...)}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h redacting) WithAttrs(as []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(as))
	for i, a := range as {
		out[i] = h.attr(a)
	}
	return redacting{h.Handler.WithAttrs(out), h.clean}
}

// WithGroup implements slog.Handler.
func (h redacting) WithGroup(name string) slog.Handler {
	return redacting{h.Handler.WithGroup(name), h.clean}
}
