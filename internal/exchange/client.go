// Package exchange makes requests to a provider of models over HTTP, each once, reads the streams that answer them, and
// reports what goes wrong without the provider's secrets. What a request says and what an event means belongs to the
// gateways of the wires, which share this package.
//
// The clients of the vendors' libraries are not used: they repeat requests, which a paid call must not be; they drop
// the headers with a delay; and some of them give io.EOF both for a finished and for a broken stream.
package exchange

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
	// How long a connection may rest, which is below the idle timeouts of common servers: a call that goes out while its
	// server closes the connection fails, and is never repeated. Without TLS that is a server of one's own, and the
	// usual ones close after five seconds: llama.cpp's (cpp-httplib), vLLM's and SGLang's (uvicorn), Node's. A new
	// connection to it takes well below a millisecond. With TLS it takes two or three round trips, and proxies of the
	// cloud wait for at least a minute.
	idlePlain   = 4 * time.Second
	idleTLS     = 30 * time.Second
	idlePerHost = 64
	headerLimit = 64 << 10
	// Size of each of a connection's two buffers, which it holds while a stream waits; larger reads and writes bypass
	// them.
	connBuffer    = 2 << 10
	errorLimit    = 64 << 10 // bytes read of an error body
	messageLimit  = 300      // characters of it that are reported
	defaultAnswer = 16 << 20 // one answer
	defaultUsage  = 2 * time.Second
	// drainWait is how long to wait for the end of the body after the last word, so that the connection is reused.
	drainWait = 25 * time.Millisecond
)

// EventLimit is the most bytes of one event of a stream.
const EventLimit = 1 << 20

// Options describe one provider.
type Options struct {
	Name      string            // the provider's name in the catalogue
	BaseURL   string            // such as "https://api.openai.com/v1"; no credentials and no query in it
	APIKey    string            // empty for servers without one
	KeyHeader string            // the header that holds the key; empty: Authorization, as a bearer token
	API       string            // what the server must offer, for errors: "an OpenAI-compatible API"
	Headers   map[string]string // sent with every request; treated as secrets
	Fixed     map[string]string // sent with a request that does not have them; not secret
	Pass      []string          // headers of callers that are passed on beside inference.PassedHeaders
	Catalog   inference.Catalog
	Proxy     func(*http.Request) (*url.URL, error) // nil for none: this package does not read the environment
	UsageWait time.Duration                         // for the usage, after the end of the answer; 0 for 2 s
	BodyLimit int64                                 // most bytes of one answer; 0 for 16 MiB
	Transport http.RoundTripper                     // nil for the tuned default
	Now       func() time.Time                      // nil for time.Now; reads a Retry-After that is a date
}

// Client is one provider. It is safe for concurrent use, keeps nothing between calls but connections, and never
// retries.
type Client struct {
	name      string
	base      string
	api       string
	key       string
	keyHeader string
	headers   map[string]string
	fixed     map[string]string
	passed    []string
	secrets   []string
	catalog   inference.Catalog
	transport http.RoundTripper
	usageWait time.Duration
	bodyLimit int64
	now       func() time.Time
}

// New checks the options and joins every error. No error contains a secret.
func New(o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Client{
		name:      o.Name,
		base:      strings.TrimRight(o.BaseURL, "/"),
		api:       o.API,
		key:       o.APIKey,
		keyHeader: o.KeyHeader,
		headers:   o.Headers,
		fixed:     o.Fixed,
		passed:    o.Pass,
		catalog:   o.Catalog,
		usageWait: o.UsageWait,
		bodyLimit: o.BodyLimit,
		now:       o.Now,
	}
	for _, s := range slices.AppendSeq([]string{o.APIKey}, maps.Values(o.Headers)) {
		if len(s) >= 8 { // shorter ones would blank out ordinary words
			c.secrets = append(c.secrets, s)
		}
	}
	if c.usageWait <= 0 {
		c.usageWait = defaultUsage
	}
	if c.bodyLimit <= 0 {
		c.bodyLimit = defaultAnswer
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.transport = o.Transport
	if c.transport == nil {
		c.transport = newTransport(o.Proxy, strings.HasPrefix(c.base, "https://"))
	}
	return c, nil
}

func newTransport(proxy func(*http.Request) (*url.URL, error), secure bool) *http.Transport {
	idle := idlePlain
	if secure {
		idle = idleTLS
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           4 * idlePerHost,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: headerLimit,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		DisableCompression:     true, // compression would delay a stream, and relayed bytes stay as they are
	}
}

// Close closes idle connections. Calls under way continue.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Name is the provider's name in the catalogue.
func (c *Client) Name() string { return c.name }

// BodyLimit is the most bytes of one answer.
func (c *Client) BodyLimit() int64 { return c.bodyLimit }

// String names the provider and nothing secret.
func (c *Client) String() string { return "provider " + c.name + " at " + c.base }

// GoString is String, so that no format prints the key.
func (c *Client) GoString() string { return c.String() }

// PricedModel finds a model of this provider that has a price.
func (c *Client) PricedModel(model string) (inference.Spec, error) {
	spec, err := c.catalog.Lookup(model)
	if err != nil {
		return spec, err
	}
	if spec.Provider != c.name {
		return spec, &inference.Failure{
			Kind:    inference.Unknown,
			Message: fmt.Sprintf("model %q belongs to provider %q, not to %q", model, spec.Provider, c.name),
		}
	}
	if spec.Price == nil {
		return spec, &inference.Failure{Kind: inference.Unpriced, Message: fmt.Sprintf(
			"model %q has no price; add price: {in, cached_in, out} in dollars per million tokens to its entry under providers.%s.models",
			model, c.name)}
	}
	return spec, nil
}

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
