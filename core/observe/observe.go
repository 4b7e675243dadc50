// Package observe is how an operator sees from outside what an instance does: logs, metrics and traces.
//
// Metrics are counted from the journal's events, after they were recorded: no evaluation waits for a counter, and the two
// cannot tell different stories. Traces are spans of the OpenTelemetry API, sent by OTLP over HTTP where somebody asked for
// that. Logs are slog's.
//
// The invariant: nothing here holds a secret, and nothing here grows with what agents do. Labels and attributes are names
// that the program gave (roles, processes, capabilities), ids and kinds of outcomes, never code, arguments, values or
// messages; a label takes so many values and "other" for the rest; spans wait in a queue that drops when it is full.
//
// Start with Metrics and Traces; otlp.go is what goes over the wire, log.go the loggers. docs/guide/observability.md has
// the names.
package observe
