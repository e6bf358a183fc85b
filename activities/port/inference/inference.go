// Package inference is the port to models: request, answer, usage, cost and the kinds of failure.
//
// A program implements Model and lists its models in a Catalog, such as a Table, each with a price: 0 for a local one,
// nil is refused. Prices are dollars per million tokens; token counts are the provider's own where it reports them
// (ByProvider), otherwise counted (ByCount), and then the whole reservation is billed. A model sends only what its Spec
// accepts, and reports what it really sent in Answer.Effective. It must not retry: Temporal does. Failures are
// *Failure, whose Kind says whether another attempt makes sense, and whose Billed whether it may have cost money.
// Vectors are units of one length, in the order of the texts; Space names embedder, version and length.
package inference

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Message is one turn of a prompt. Role is system, user or assistant.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Sampling is the requested sampling; nil fields are left to the provider. Temperature 0 means exactly 0.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	MinP        *float64 `json:"min_p,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

// String is a stable rendering such as "temperature=1.31 min_p=0.1 seed=7"; empty when nothing is set.
func (s Sampling) String() string {
	var parts []string
	add := func(name string, v *float64) {
		if v != nil {
			parts = append(parts, fmt.Sprintf("%s=%g", name, *v))
		}
	}
	add("temperature", s.Temperature)
	add("min_p", s.MinP)
	add("top_p", s.TopP)
	if s.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed=%d", *s.Seed))
	}
	return strings.Join(parts, " ")
}

// Schema requests an answer that is one JSON value of this JSON Schema.
type Schema struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"schema"`
}

// Request is one generation. It carries no tools: a dream cannot act.
type Request struct {
	Model     string // a name of the catalogue
	Messages  []Message
	Sampling  Sampling
	MaxTokens int // most tokens of the visible answer, > 0
	Reasoning int // allowance added for models that think first; reserved too
	Stop      []string
	Schema    *Schema
	Key       string        // idempotency key of this attempt, sent to the provider
	IdleToken time.Duration // longest silence between two tokens; 0 for none
	LogProbs  bool          // wants Answer.LogProb, where the model tells it
	Steering  *Steering     // nil for none; only for a model whose Spec.Steers is set
}

// Finish says why a generation ended.
type Finish string

// The ways to end.
const (
	Stopped Finish = "stop"   // the model was done
	Length  Finish = "length" // max tokens reached
	Halted  Finish = "halted" // the caller had enough: the stream was closed
	Cut     Finish = "cut"    // the context ended
)

// UsageFrom says who counted.
type UsageFrom string

// The counters. A counted usage is an estimate from what was sent and read; the spend guard then settles at the full
// reservation.
const (
	ByProvider UsageFrom = "provider"
	ByCount    UsageFrom = "counted"
)

// Answer is what a generation gave.
type Answer struct {
	Text      string        `json:"text"`
	Finish    Finish        `json:"finish"`
	Tokens    budget.Tokens `json:"tokens"`
	UsageFrom UsageFrom     `json:"usage_from"`
	Visible   int           `json:"visible"`   // tokens (stream pieces) read of the visible answer
	Effective string        `json:"effective"` // the sampling that was really sent, rendered by Sampling.String
	Provider  string        `json:"provider"`  // the provider's id of the answer
	Model     string        `json:"model"`     // as the provider named it

	// mean natural logarithm of the probabilities of the visible tokens; nil when not reported
	LogProb *float64 `json:"log_prob,omitempty"`
	Steered string   `json:"steered,omitempty"` // the steering that was really requested, rendered by Steering.String
}

// Vectors is what an embedding call gave: one unit vector per text, in order.
type Vectors struct {
	V         [][]float32
	Space     string // names embedder, version and dimension
	Tokens    budget.Tokens
	UsageFrom UsageFrom
}

// Model generates and embeds. It never retries, keeps nothing between calls, and is safe for concurrent use.
type Model interface {
	// Generate streams. token is called with each visible piece in order; false halts the stream at that piece
	// (Finish Halted). When ctx ends first, the answer holds the whole pieces read so far with Finish Cut, beside an
	// error that wraps context.Cause(ctx). Every other error is a *Failure; the answer then holds what was read.
	Generate(ctx context.Context, r Request, token func(piece string) bool) (Answer, error)
	// Embed gives one vector per text. Errors as above.
	Embed(ctx context.Context, model string, texts []string, key string) (Vectors, error)
}

// Kind groups failures by what to do about them.
type Kind string

// The kinds of failure.
const (
	BadRequest   Kind = "bad_request"   // 400, 404, 422: never again
	Unauthorized Kind = "unauthorized"  // 401, 403: never again
	NoMoney      Kind = "no_money"      // 402, or 429 with an exhausted quota: never again
	RateLimited  Kind = "rate_limited"  // 429, with the provider's own delay when it names one
	Unavailable  Kind = "unavailable"   // 408, 409, 5xx, or no answer
	Broken       Kind = "broken"        // the stream ended before its end, or fell silent
	Malformed    Kind = "malformed"     // an answer that cannot be parsed
	Unpriced     Kind = "unpriced"      // the model has no price: nothing was sent
	Unknown      Kind = "unknown_model" // the model is not in the catalogue: nothing was sent
)

// Failure is how a call fails.
type Failure struct {
	Kind       Kind
	Status     int           // HTTP status; 0 when there was none
	RetryAfter time.Duration // the provider's own delay; 0 when it names none
	Billed     bool          // whether the provider may have charged for it: false only when it certainly did not
	Message    string        // for people; never holds a secret
	Err        error

	Field  string // the request's field that the provider says it refuses; empty when it names none
	Remedy string // the line of configuration that would leave that field out; in our own words
}

// Error says the kind and the message.
func (f *Failure) Error() string {
	text := string(f.Kind)
	if f.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		text += ": " + f.Message
	}
	if f.Remedy != "" {
		text += "; " + f.Remedy
	}
	return text
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Again says whether another attempt could do better.
func (f *Failure) Again() bool {
	switch f.Kind {
	case RateLimited, Unavailable, Broken, Malformed:
		return true
	case BadRequest, Unauthorized, NoMoney, Unpriced, Unknown:
		return false
	}
	return false
}

// AsFailure finds a Failure in an error.
func AsFailure(err error) (*Failure, bool) {
	var f *Failure
	ok := errors.As(err, &f)
	return f, ok
}
