package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

const secret = "the plum jam is behind the barometer"

// provider responds and fails with fixed texts.
type provider struct {
	seen http.Header
	fail error
}

func (p *provider) Relay(_ context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	p.seen = r.Header
	if p.fail != nil {
		return nil, p.fail
	}
	return &inference.RelayResponse{
		Status: 200, Body: io.NopCloser(strings.NewReader(string(r.Body))),
		Seen: func() inference.RelayObserved {
			return inference.RelayObserved{Tokens: budget.Tokens{In: 7, Out: 3}, Finish: "stop", Ended: true}
		},
	}, nil
}

func (p *provider) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	return inference.Answer{Text: secret, Tokens: budget.Tokens{In: 5, Out: 2}, Finish: inference.Stopped}, p.fail
}

func (p *provider) Embed(_ context.Context, _ string, _ []string, _ string) (inference.Vectors, error) {
	return inference.Vectors{Tokens: budget.Tokens{In: 4}}, p.fail
}

func TestARequestIsTracedToItsProviderWithoutItsText(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracing, err := telemetry.TracingTo(t.Context(), spans, "test")
	require.NoError(t, err)
	behind := &provider{}
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "X-Kept": {"yes"}}
	ctx, over := tracing.Arrived(t.Context(), http.MethodPost, "/v1/chat/completions", header)
	res, err := tracing.Relay(behind).Relay(ctx,
		inference.RelayRequest{Path: "/chat/completions", Model: "talk/talker", Header: header, Body: []byte(secret)})
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, secret, string(body))
	require.NoError(t, res.Body.Close())
	require.NoError(t, res.Body.Close(), "a second Close changes nothing")
	over(200)
	require.Equal(t, "yes", behind.seen.Get("X-Kept"))
	require.Contains(t, behind.seen.Get("Traceparent"), "0af7651916cd43dd8448eb211c80319c",
		"the client's trace continues at the provider")
	require.Equal(t, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", header.Get("Traceparent"),
		"the client's own header is unchanged")

	behind.fail = &inference.Failure{Kind: inference.Unavailable, Message: secret, Err: errors.New(secret)}
	_, err = tracing.Relay(behind).Relay(ctx,
		inference.RelayRequest{Path: "/embeddings", Model: "talk/talker", Body: []byte(secret)})
	require.Error(t, err)
	_, err = tracing.Model(behind).Generate(ctx,
		inference.Request{Model: "night/script", Messages: []inference.Message{{Content: secret}}, MaxTokens: 80}, nil)
	require.Error(t, err)
	_, err = tracing.Model(behind).Embed(ctx, "night/vectors", []string{secret}, "")
	require.Error(t, err)
	require.NoError(t, tracing.Close())

	var names []string
	for _, s := range spans.Ended() {
		names = append(names, s.Name())
		require.Equal(t, "0af7651916cd43dd8448eb211c80319c", s.SpanContext().TraceID().String())
		require.NotContains(t, textOf(s), "plum")
	}
	require.Equal(t,
		[]string{
			"chat talk/talker", "POST /v1/chat/completions", "embeddings talk/talker", "chat night/script",
			"embeddings night/vectors",
		}, names)
	chat := textOf(spans.Ended()[0])
	for _, part := range []string{
		"gen_ai.operation.name=chat", "gen_ai.request.model=talk/talker",
		"gen_ai.provider.name=talk", "gen_ai.usage.input_tokens=7", "gen_ai.usage.output_tokens=3",
	} {
		require.Contains(t, chat, part)
	}
	require.Equal(t, codes.Error, spans.Ended()[2].Status().Code)
	require.Contains(t, textOf(spans.Ended()[2]), "error.type=unavailable")
}

// textOf returns all text of a span.
func textOf(s sdktrace.ReadOnlySpan) string {
	text := s.Name() + " " + s.Status().Description
	for _, a := range s.Attributes() {
		text += " " + string(a.Key) + "=" + a.Value.String()
	}
	for _, e := range s.Events() {
		text += " " + e.Name
	}
	return text
}

// named is an error with the name of its kind, as Temporal's application errors have.
type named struct{ error }

func (named) Type() string { return "WorkerStopping" }

func TestOnlyTheKindOfAnErrorIsRecorded(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"unavailable":    fmt.Errorf("ask: %w", &inference.Failure{Kind: inference.Unavailable, Message: secret}),
		"canceled":       fmt.Errorf("%s: %w", secret, context.Canceled),
		"timeout":        fmt.Errorf("%s: %w", secret, context.DeadlineExceeded),
		"WorkerStopping": fmt.Errorf("%s: %w", secret, named{errors.New(secret)}),
		"*fs.PathError": fmt.Errorf("%s: %w", secret,
			&fs.PathError{Op: "open", Path: secret, Err: errors.New(secret)}),
		"_OTHER": fmt.Errorf("%s: %w", secret, errors.New(secret)),
	} {
		spans := tracetest.NewSpanRecorder()
		tracing, fault := telemetry.TracingTo(t.Context(), spans, "test")
		require.NoError(t, fault)
		span := telemetry.StartSpan(t.Context(), tracing.Tracer, "RunActivity:Agent.CheckClients")
		span.RecordError(nil)
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		span.End()
		_, fault = tracing.Model(&provider{fail: err}).Generate(t.Context(), inference.Request{Model: "night/script"},
			nil)
		require.ErrorIs(t, fault, err)
		require.Len(t, spans.Ended(), 2)
		for _, s := range spans.Ended() {
			require.Contains(t, textOf(s), "error.type="+want)
			require.NotContains(t, textOf(s), "plum")
			require.Empty(t, s.Events())
			require.Equal(t, codes.Error, s.Status().Code)
		}
	}
}

func TestWithoutAnEndpointNothingIsTraced(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	tracing, err := telemetry.NewTracing(t.Context(), "test")
	require.NoError(t, err)
	require.Nil(t, tracing)
	behind := &provider{}
	require.Equal(t, inference.Relay(behind), tracing.Relay(behind))
	require.Equal(t, inference.Model(behind), tracing.Model(behind))
	require.NoError(t, tracing.Close())
}
