// Package openaigw is a client of one OpenAI-compatible provider that can send what go-openai's own client cannot.
//
// Requests, usage, embeddings and errors are go-openai's types; the exchange is this package's own, on an
// http.RoundTripper. The library's request is marshalled and the sampler fields are spliced into its JSON, because its
// struct loses a temperature of exactly 0 and knows no min_p. Its client is not used: it refuses fields by prefixes of
// model names where the catalogue must decide, drops the headers with a delay, and gives io.EOF both for a finished and
// for a broken stream.
package openaigw

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Limits of one exchange.
const (
	dialTimeout = 10 * time.Second
	// idleConn is below the idle timeouts of common servers: a stale connection fails a call, which is never
	// repeated.
	idleConn    = 30 * time.Second
	idlePerHost = 64
	headerLimit = 64 << 10
	// Size of each of a connection's two buffers, which it holds while a stream waits; larger reads and writes bypass
	// them.
	connBuffer    = 2 << 10
	errorLimit    = 64 << 10 // bytes read of an error body
	messageLimit  = 300      // characters of it that are reported
	eventLimit    = 1 << 20  // one event of a stream
	defaultAnswer = 16 << 20 // one answer
	defaultUsage  = 2 * time.Second
	// drainWait is how long to wait for the end of the body after the last word, so that the connection is reused.
	drainWait = 25 * time.Millisecond
)

// Options describe one provider.
type Options struct {
	Name      string            // the provider's name in the catalogue
	BaseURL   string            // such as "https://api.openai.com/v1"; no credentials and no query in it
	APIKey    string            // bearer token; empty for servers without one
	Headers   map[string]string // sent with every request; treated as secrets
	Pass      []string          // headers of callers that are passed on beside inference.PassedHeaders
	Profile   Profile
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
	name      string
	base      string
	key       string
	headers   map[string]string
	passed    []string
	secrets   []string
	profile   Profile
	catalog   inference.Catalog
	transport http.RoundTripper
	usageWait time.Duration
	bodyLimit int64
	now       func() time.Time
}

var (
	_ inference.Model = (*Gateway)(nil)
	_ inference.Relay = (*Gateway)(nil)
)

// New checks the options and joins every error. No error contains a secret.
func New(o Options) (*Gateway, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	g := &Gateway{
		name:      o.Name,
		base:      strings.TrimRight(o.BaseURL, "/"),
		key:       o.APIKey,
		headers:   o.Headers,
		passed:    o.Pass,
		profile:   o.Profile.named(),
		catalog:   o.Catalog,
		usageWait: o.UsageWait,
		bodyLimit: o.BodyLimit,
		now:       o.Now,
	}
	for _, s := range slices.AppendSeq([]string{o.APIKey}, maps.Values(o.Headers)) {
		if len(s) >= 8 { // shorter ones would blank out ordinary words
			g.secrets = append(g.secrets, s)
		}
	}
	if g.usageWait <= 0 {
		g.usageWait = defaultUsage
	}
	if g.bodyLimit <= 0 {
		g.bodyLimit = defaultAnswer
	}
	if g.now == nil {
		g.now = time.Now
	}
	g.transport = o.Transport
	if g.transport == nil {
		g.transport = newTransport(o.Proxy)
	}
	return g, nil
}

func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           4 * idlePerHost,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleConn,
		MaxResponseHeaderBytes: headerLimit,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		DisableCompression:     true, // compression would delay a stream, and relayed bytes stay as they are
	}
}

// Close closes idle connections. Calls under way continue.
func (g *Gateway) Close() {
	if t, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// String names the provider and nothing secret.
func (g *Gateway) String() string { return "provider " + g.name + " at " + g.base }

// GoString is String, so that no format prints the key.
func (g *Gateway) GoString() string { return g.String() }

func (o Options) validate() error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if o.Name == "" {
		fault("provider name is empty; it must be the one its models carry in the catalogue")
	}
	if o.Catalog == nil {
		fault("provider %s has no catalogue", o.Name)
	}
	switch u, err := url.Parse(o.BaseURL); {
	case err != nil:
		fault("base_url of provider %s cannot be read; it must look like https://host/v1", o.Name)
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		fault("base_url of provider %s has scheme %q and host %q; it must look like https://host/v1", o.Name,
			u.Scheme, u.Host)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		fault("base_url of provider %s carries credentials, a query or a fragment; give the key apart from it", o.Name)
	}
	if !printable(o.APIKey) || strings.ContainsRune(o.APIKey, ' ') {
		fault("api_key of provider %s holds a space or an unprintable character; read it again from its source", o.Name)
	}
	for name, value := range o.Headers {
		if name == "" || !printable(name) || strings.ContainsAny(name, " :") || !printable(value) {
			fault("header %q of provider %s cannot be sent; names and values are printable ASCII", name, o.Name)
		}
	}
	for _, name := range o.Pass {
		if inference.IsPrivateHeader(name) {
			fault(
				"header %q of callers is not passed on to provider %s: it identifies a client, or belongs to a connection or a gateway",
				name, o.Name)
		}
	}
	if err := o.Profile.validate(); err != nil {
		fault("provider %s: %w", o.Name, err)
	}
	return errors.Join(faults...)
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
