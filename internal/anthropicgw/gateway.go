// Package anthropicgw is a client of one provider that speaks Anthropic's Messages.
//
// The exchange is package exchange's, and what a stream says is read by internal/wire/messages. The client of
// Anthropic's own library is not used: it repeats requests that fail, which a paid call must not be, takes its key
// and address from the environment unasked, and reads a stream that breaks off like one that ended. Its types serve
// in the tests, as a check of what is sent and read here.
package anthropicgw

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// Version is the version of the API, which every request names.
const Version = "2023-06-01"

// Options describe one provider.
type Options struct {
	Name      string            // the provider's name in the catalogue
	BaseURL   string            // such as "https://api.anthropic.com/v1"; no credentials and no query in it
	APIKey    string            // sent as x-api-key; empty for servers without one
	Headers   map[string]string // sent with every request; treated as secrets
	Pass      []string          // headers of callers that are passed on beside inference.PassedHeaders
	Catalog   inference.Catalog
	Proxy     func(*http.Request) (*url.URL, error) // nil for none: this package does not read the environment
	UsageWait time.Duration                         // for the usage, after the end of the answer; 0 for 2 s
	BodyLimit int64                                 // most bytes of one answer; 0 for 16 MiB
	Transport http.RoundTripper                     // nil for the tuned default
	Now       func() time.Time                      // nil for time.Now
}

// Gateway is one provider. It is safe for concurrent use, keeps nothing between calls but connections, and never
// retries.
type Gateway struct {
	*exchange.Client
	now func() time.Time
}

var (
	_ inference.Model = (*Gateway)(nil)
	_ inference.Relay = (*Gateway)(nil)
)

// New checks the options and joins every error. No error contains a secret.
func New(o Options) (*Gateway, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	client, err := exchange.New(exchange.Options{
		Name:      o.Name,
		BaseURL:   o.BaseURL,
		APIKey:    o.APIKey,
		KeyHeader: "X-Api-Key",
		API:       "an API that speaks Anthropic's Messages",
		Headers:   o.Headers,
		Fixed:     map[string]string{"Anthropic-Version": Version},
		Pass:      o.Pass,
		Catalog:   o.Catalog,
		Proxy:     o.Proxy,
		UsageWait: o.UsageWait,
		BodyLimit: o.BodyLimit,
		Transport: o.Transport,
		Now:       o.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Gateway{Client: client, now: o.Now}, nil
}

// Generate streams one answer, with the same bounds as the gateway of chat completions: a provider that continues after
// its limit is cut off there, IdleToken bounds the wait for the first token, too, and the output is never counted below
// the pieces that were seen.
func (g *Gateway) Generate(ctx context.Context, r inference.Request,
	token func(piece string) bool,
) (inference.Answer, error) {
	spec, err := g.PricedModel(r.Model)
	if err != nil {
		return inference.Answer{}, err
	}
	w, err := write(spec, r)
	if err != nil {
		return inference.Answer{}, err
	}
	if ctx.Err() != nil {
		return inference.Answer{Finish: inference.Cut}, exchange.Interrupted(ctx)
	}
	l := &answerReader{Answer: g.Open(ctx, spec, r, token), client: g.Client}
	defer l.Close()
	res, err := g.Send(l.Context(), inference.RelayRequest{
		Method: http.MethodPost, Path: "/messages", Body: w.body, Key: r.Key,
		Header: map[string][]string{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}},
	})
	if err == nil {
		err = l.Read(res.Body, l)
		_ = res.Body.Close() // everything relevant has been read
	} else {
		noCredit(err)
		g.Remedy(err, spec, w.fields, lineAgainst)
	}
	l.Effective, l.Steered = w.sampling.String(), w.steered
	l.Tokens, l.UsageFrom = l.tokens(w.bytes)
	return l.Conclude(err)
}

// Embed refuses: Messages has no embeddings.
func (g *Gateway) Embed(_ context.Context, model string, _ []string, _ string) (inference.Vectors, error) {
	if _, err := g.PricedModel(model); err != nil {
		return inference.Vectors{}, err
	}
	return inference.Vectors{}, exchange.BadRequest(
		"model %q belongs to a provider that speaks Anthropic's Messages, which has no embeddings; "+
			"give the role embedder a model such as builtin/static",
		model)
}

// noCredit recognises an account without credit, which Anthropic reports as an invalid request.
func noCredit(err error) {
	if f, ok := inference.AsFailure(err); ok && f.Status == http.StatusBadRequest &&
		strings.Contains(f.Message, "credit balance is too low") {
		f.Kind = inference.NoMoney
	}
}

// lineAgainst is the setting of a model that keeps a field from being sent; empty when there is none.
func lineAgainst(field, message string) string {
	switch field {
	case "temperature":
		return exchange.NoTemperature(message)
	case "top_p":
		return "top_p: false"
	case "stop_sequences":
		return "stop: false"
	case "output_config":
		return "json: prompt"
	}
	return ""
}
