package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation, as collectors show it.
const scope = "github.com/reflection-dev/zeno"

// Traces are the spans of an instance: a run of a process holds its steps, a step the agents it spawns, an agent its
// evaluations, an evaluation its capability calls. The zero Traces is off, and costs a load of a pointer at each span. It
// is safe for concurrent use.
type Traces struct {
	on atomic.Pointer[sending]

	mu     sync.Mutex // of starting and stopping
	agents sync.Map   // spawn id -> *trace.SpanContext, of those that run
}

// sending is a Traces that is on.
type sending struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Start sends spans to where conf says, from now on; what is under way has none. A second Start replaces the first, whose
// spans are sent before.
func (t *Traces) Start(ctx context.Context, conf Export) error {
	exporter, err := newExporter(conf)
	if err != nil {
		return err
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = 256
	limits.AttributeCountLimit = 32
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(conf.resource()), sdk.WithRawSpanLimits(limits))
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.on.Swap(&sending{provider, provider.Tracer(scope, trace.WithInstrumentationVersion(conf.Version))})
	return end(ctx, old)
}

// Stop sends what waits, as long as ctx lasts, and is off then.
func (t *Traces) Stop(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return end(ctx, t.on.Swap(nil))
}

func end(ctx context.Context, s *sending) error {
	if s == nil {
		return nil
	}
	if err := s.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("traces: failed to send the last spans: %w", err)
	}
	return nil
}

// Flush sends what waits.
func (t *Traces) Flush(ctx context.Context) error {
	if s := t.on.Load(); s != nil {
		return s.provider.ForceFlush(ctx)
	}
	return nil
}

// On tells whether spans are made.
func (t *Traces) On() bool { return t.on.Load() != nil }

// Span is one that is under way. A nil one is that of a Traces that is off.
type Span struct {
	span trace.Span
	then func()
}

// End ends the span with an outcome: "ok", or the kind of an error.
func (s *Span) End(outcome string, more ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("zeno.outcome", outcome))
	s.span.SetAttributes(more...)
	if outcome != "ok" {
		s.span.SetStatus(codes.Error, outcome)
	}
	if s.then != nil {
		s.then()
	}
	s.span.End()
}

// EndEval ends the span of an evaluation.
func (s *Span) EndEval(outcome string, steps, bytes, calls int64) {
	if s != nil {
		s.End(outcome, attribute.Int64("zeno.steps", steps), attribute.Int64("zeno.bytes", bytes), attribute.Int64("zeno.calls", calls))
	}
}

// Process begins a run of a process.
func (t *Traces) Process(ctx context.Context, name string) (context.Context, *Span) {
	if !t.On() {
		return ctx, nil
	}
	return t.begin(ctx, "process "+name, attribute.String("zeno.process", name))
}

// Step begins a step of a tick.
func (t *Traces) Step(ctx context.Context, name string) (context.Context, *Span) {
	if !t.On() {
		return ctx, nil
	}
	return t.begin(ctx, "step "+name, attribute.String("zeno.step", name))
}

// Agent begins a run of an agent, and gives the W3C traceparent for its environment; "" where there is none.
func (t *Traces) Agent(ctx context.Context, role, spawn, backend string) (_ context.Context, s *Span, traceparent string) {
	if !t.On() {
		return ctx, nil, ""
	}
	ctx, s = t.begin(ctx, "spawn "+role, attribute.String("zeno.role", role), attribute.String("zeno.spawn", spawn), attribute.String("zeno.backend", backend))
	if s == nil {
		return ctx, nil, ""
	}
	sc := s.span.SpanContext()
	t.agents.Store(spawn, &sc)
	s.then = func() { t.agents.CompareAndDelete(spawn, &sc) }
	return ctx, s, Traceparent(ctx)
}

// TraceOf is the id of the trace that an agent which runs is in; "" where it is in none.
func (t *Traces) TraceOf(spawn string) string {
	if sc, ok := t.agents.Load(spawn); ok {
		return sc.(*trace.SpanContext).TraceID().String()
	}
	return ""
}

// Eval begins an evaluation by an agent, in the trace of its spawn. What the agent's request says of traces counts for
// nothing: an agent must not write into others'.
func (t *Traces) Eval(ctx context.Context, role, spawn string) (context.Context, *Span) {
	if !t.On() {
		return ctx, nil
	}
	parent := trace.SpanContext{}
	if sc, ok := t.agents.Load(spawn); ok {
		parent = *sc.(*trace.SpanContext)
	}
	ctx = trace.ContextWithSpanContext(ctx, parent)
	return t.begin(ctx, "eval", attribute.String("zeno.role", role), attribute.String("zeno.spawn", spawn))
}

// Call begins a capability call.
func (t *Traces) Call(ctx context.Context, capability string) (context.Context, *Span) {
	if !t.On() {
		return ctx, nil
	}
	return t.begin(ctx, "call "+capability, attribute.String("zeno.capability", capability))
}

func (t *Traces) begin(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, *Span) {
	s := t.on.Load()
	if s == nil {
		return ctx, nil
	}
	ctx, span := s.tracer.Start(ctx, name, trace.WithAttributes(attrs...))
	return ctx, &Span{span: span}
}

// Follow is ctx in the span of cause: what is begun now, and goes on when its cause has ended.
func Follow(ctx, cause context.Context) context.Context {
	if sc := trace.SpanContextFromContext(cause); sc.IsValid() {
		return trace.ContextWithSpanContext(ctx, sc)
	}
	return ctx
}

// Traceparent is the W3C header of the span that ctx is in; "" where it is in none.
func Traceparent(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags()&trace.FlagsSampled)
}
