// Package openaigw is a client of one OpenAI-compatible provider that can send what go-openai's own client cannot.
//
// Requests, usage, embeddings and errors are go-openai's types; the exchange is package exchange's, on an
// http.RoundTripper. The library's request is marshalled and the sampler fields are spliced into its JSON, because its
// struct loses a temperature of exactly 0 and knows no min_p. Its client is not used: it refuses fields by prefixes of
// model names where the catalogue must decide, drops the headers with a delay, and gives io.EOF both for a finished
// and for a broken stream. A provider that speaks OpenAI's Responses alone is asked for responses; what these say is
// read by internal/wire/responses, and a chat completion is translated on its way.
package openaigw

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// Options describe one provider.
type Options struct {
	Name      string            // the provider's name in the catalogue
	BaseURL   string            // such as "https://api.openai.com/v1"; no credentials and no query in it
	APIKey    string            // bearer token; empty for servers without one
	Headers   map[string]string // sent with every request; treated as secrets
	Pass      []string          // headers of callers that are passed on beside inference.PassedHeaders
	Profile   Profile
	Responses bool // it speaks OpenAI's Responses and no chat completions, which are translated
	Catalog   inference.Catalog
	Proxy     func(*http.Request) (*url.URL, error) // nil for none: this package does not read the environment
	UsageWait time.Duration                         // for the usage, after the end of the answer; 0 for 2 s
	BodyLimit int64                                 // most bytes of one answer; 0 for 16 MiB
	Transport http.RoundTripper                     // nil for the tuned default
	Now       func() time.Time                      // nil for time.Now; reads a Retry-After that is a date
}

// Gateway is one provider. It is safe for concurrent use, keeps nothing between calls but connections, and never
// retries.
type Gateway struct {
	*exchange.Client
	profile   Profile
	responses bool
	now       func() time.Time
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
		API:       "an OpenAI-compatible API",
		Headers:   o.Headers,
		Pass:      o.Pass,
		Catalog:   o.Catalog,
		Proxy:     o.Proxy,
		UsageWait: o.UsageWait,
		BodyLimit: o.BodyLimit,
		Transport: o.Transport,
		Now:       o.Now,
	})
	if fault := o.Profile.validate(); fault != nil {
		err = errors.Join(err, fmt.Errorf("provider %s: %w", o.Name, fault))
	}
	if err != nil {
		return nil, err
	}
	return &Gateway{Client: client, profile: o.Profile.named(), responses: o.Responses, now: o.Now}, nil
}
