package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// call begins the span of a call to a provider.
func (t *Tracing) call(ctx context.Context, operation, model string,
	more ...attribute.KeyValue,
) (context.Context, trace.Span) {
	return t.Tracer.Start(ctx, operation+" "+model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(
			more, attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.request.model", model),
			attribute.String("gen_ai.provider.name", providerOf(model)),
		)...))
}

func providerOf(model string) string {
	name, _, _ := strings.Cut(model, "/")
	return name
}

// fail marks a span as failed. It records the kind of the error only, because a provider's message may quote the
// request.
func fail(span trace.Span, err error) {
	kind := kindOf(err)
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}

// unnamedError is the kind of an unnamed error (OpenTelemetry's error.type).
const unnamedError = "_OTHER"

// kindOf returns the kind of an error: a name from code, never text from a message.
func kindOf(err error) string {
	var named interface{ Type() string } // as Temporal's application errors have
	switch f, failed := inference.AsFailure(err); {
	case failed:
		return string(f.Kind)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &named) && named.Type() != "":
		return named.Type()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		// skip types that only wrap or carry text
		if name := fmt.Sprintf("%T", err); !strings.HasPrefix(name, "*fmt.") && !strings.HasPrefix(name, "*errors.") {
			return name
		}
	}
	return unnamedError
}

// StartSpan begins a span that records only the kind of an error. Code that traces the work of others, such as
// Temporal's interceptor, would otherwise record the error's text.
func StartSpan(ctx context.Context, t trace.Tracer, name string, o ...trace.SpanStartOption) trace.Span {
	_, span := t.Start(ctx, name, o...)
	return kindOnlySpan{span}
}

type kindOnlySpan struct{ trace.Span }

// RecordError records the kind of an error.
func (r kindOnlySpan) RecordError(err error, _ ...trace.EventOption) {
	if err != nil {
		r.SetAttributes(attribute.String("error.type", kindOf(err)))
	}
}

// SetStatus drops the description.
func (r kindOnlySpan) SetStatus(code codes.Code, _ string) { r.Span.SetStatus(code, "") }

// Relay wraps a relay with a span for each call, from the request to the last byte of the response.
func (t *Tracing) Relay(via inference.Relay) inference.Relay {
	if t == nil {
		return via
	}
	return tracedRelay{t, via}
}

type tracedRelay struct {
	t   *Tracing
	via inference.Relay
}

// Relay passes a request on.
func (r tracedRelay) Relay(ctx context.Context, q inference.RelayRequest) (*inference.RelayResponse, error) {
	operation := "chat"
	if q.Path == "/embeddings" {
		operation = "embeddings"
	}
	ctx, span := r.t.call(ctx, operation, q.Model)
	header := propagation.HeaderCarrier{}
	for name, values := range q.Header {
		header[name] = values
	}
	carrier.Inject(ctx, header)
	q.Header = header
	res, err := r.via.Relay(ctx, q)
	if err != nil {
		fail(span, err)
		span.End()
		return nil, err
	}
	if res.Status >= 400 {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(res.Status)))
		span.SetStatus(codes.Error, "")
	}
	body := &tracedBody{ReadCloser: res.Body, span: span, res: res}
	passed := *res
	passed.Body = body
	return &passed, nil
}

// tracedBody ends its span when it is closed.
type tracedBody struct {
	io.ReadCloser
	span trace.Span
	res  *inference.RelayResponse
	once sync.Once
}

// Read passes bytes on.
func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		fail(b.span, err)
	}
	return n, err
}

// Close ends the span with the observed usage.
func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() {
		seen := b.res.Seen()
		b.span.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", seen.Tokens.In),
			attribute.Int64("gen_ai.usage.output_tokens", seen.Tokens.Out))
		if seen.Finish != "" {
			b.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{seen.Finish}))
		}
		b.span.End()
	})
	return err
}

// Model wraps a model with a span for each call of a dream.
func (t *Tracing) Model(via inference.Model) inference.Model {
	if t == nil {
		return via
	}
	return tracedModel{t, via}
}

type tracedModel struct {
	t   *Tracing
	via inference.Model
}

// Generate calls the model.
func (m tracedModel) Generate(ctx context.Context, r inference.Request,
	token func(string) bool,
) (inference.Answer, error) {
	ctx, span := m.t.call(ctx, "chat", r.Model, attribute.Int("gen_ai.request.max_tokens", r.MaxTokens))
	defer span.End()
	a, err := m.via.Generate(ctx, r, token)
	span.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", a.Tokens.In),
		attribute.Int64("gen_ai.usage.output_tokens", a.Tokens.Out))
	if a.Finish != "" && a.Finish != inference.Cut { // Cut is our own reason, not the model's
		span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(a.Finish)}))
	}
	if err != nil {
		fail(span, err)
	}
	return a, err
}

// Embed calls the embedder.
func (m tracedModel) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	ctx, span := m.t.call(ctx, "embeddings", model, attribute.Int("oneiros.texts", len(texts)))
	defer span.End()
	v, err := m.via.Embed(ctx, model, texts, key)
	span.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", v.Tokens.In))
	if err != nil {
		fail(span, err)
	}
	return v, err
}
