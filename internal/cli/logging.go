package cli

import (
	"fmt"
	"log/slog"

	"github.com/reflection-dev/zeno/core/observe"
)

// logging are the flags of the log. Without any of them there is none: what a person must know is reported anyway.
type logging struct {
	LogFormat string `name:"log-format" placeholder:"text|json" help:"Write a log to stderr; as json, reports are lines of it too."`
	LogLevel  string `name:"log-level" placeholder:"LEVEL" help:"Write a log to stderr from this level on: debug, info (the default), warn, error."`
}

// logger is nil where no log is asked for.
func (l logging) logger(a *app) (*slog.Logger, error) {
	if l == (logging{}) {
		return nil, nil
	}
	log, err := observe.NewLogger(a.std.Err, l.LogFormat, l.LogLevel)
	if err != nil {
		return nil, usage(err)
	}
	return log, nil
}

// traces says where traces are sent: the standard variables of OpenTelemetry. What is wrong with them is reported.
func (a *app) traces() *observe.Export {
	conf, ok, err := observe.FromEnv(a.std.Getenv)
	if err != nil {
		fmt.Fprintf(a.std.Err, "zeno: no traces are sent: %v\n", err)
	}
	if !ok {
		return nil
	}
	return &conf
}
