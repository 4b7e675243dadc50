package observe

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// What goes over the wire: ExportTraceServiceRequest of OTLP 1.x in its JSON mapping, where ids are hexadecimal and 64-bit
// numbers are strings. The exporter of the SDK would bring gRPC and 13 MB with it.
type (
	traceRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resourceJSON `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resourceJSON struct {
		Attributes []attrJSON `json:"attributes"`
	}
	scopeSpans struct {
		Scope scopeJSON  `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	scopeJSON struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	spanJSON struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []attrJSON `json:"attributes,omitempty"`
		Dropped    int        `json:"droppedAttributesCount,omitempty"`
		Status     statusJSON `json:"status"`
	}
	statusJSON struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	attrJSON struct {
		Key   string    `json:"key"`
		Value valueJSON `json:"value"`
	}
	valueJSON struct {
		String *string  `json:"stringValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
)

// request is spans as one request. All of them have the resource and scope of the one provider.
func request(spans []sdk.ReadOnlySpan) traceRequest {
	out := make([]spanJSON, len(spans))
	for i, s := range spans {
		out[i] = spanOf(s)
	}
	first := spans[0]
	in := first.InstrumentationScope()
	return traceRequest{[]resourceSpans{{
		Resource:   resourceJSON{attrsOf(first.Resource().Attributes())},
		ScopeSpans: []scopeSpans{{Scope: scopeJSON{in.Name, in.Version}, Spans: out}},
	}}}
}

func spanOf(s sdk.ReadOnlySpan) spanJSON {
	sc := s.SpanContext()
	out := spanJSON{TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(), Flags: uint32(sc.TraceFlags()), Name: s.Name(),
		Kind: int(s.SpanKind()), Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: attrsOf(s.Attributes()), Dropped: s.DroppedAttributes()}
	if s.Parent().SpanID().IsValid() {
		out.Parent = s.Parent().SpanID().String()
	}
	switch st := s.Status(); st.Code { // OTLP numbers them otherwise than the API
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = statusJSON{2, st.Description}
	}
	return out
}

func attrsOf(in []attribute.KeyValue) []attrJSON {
	out := make([]attrJSON, len(in))
	for i, a := range in {
		out[i] = attrJSON{string(a.Key), valueOf(a.Value)}
	}
	return out
}

func valueOf(v attribute.Value) valueJSON {
	switch v.Type() {
	case attribute.BOOL:
		b := v.AsBool()
		return valueJSON{Bool: &b}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return valueJSON{Int: &n}
	case attribute.FLOAT64:
		f := v.AsFloat64()
		return valueJSON{Double: &f}
	}
	s := v.String() // text, and lists as text: zeno makes none
	return valueJSON{String: &s}
}
