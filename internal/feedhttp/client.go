// Package feedhttp is the HTTP side of feeds: it fetches readings from a URL, and accepts readings and alarms that
// are pushed.
package feedhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Limits of one exchange.
const (
	Document = 1 << 20 // bytes of a response, uncompressed
	// FetchTimeout bounds one response with its redirects; two of them fit into the activity's 20 s, so that the
	// error is this package's.
	FetchTimeout = 8 * time.Second
	follows      = 3 // redirects, to the same host only
)

// Client fetches feeds. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	agent string
}

// NewClient makes a client. agent is the User-Agent, such as "oneiros/1.2"; patience 0 is FetchTimeout.
func NewClient(agent string, patience time.Duration) *Client {
	if patience <= 0 {
		patience = FetchTimeout
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxResponseHeaderBytes = 1, 64<<10
	return &Client{agent: agent, http: &http.Client{Transport: transport, Timeout: patience, CheckRedirect: checkRedirect}}
}

// errRefused is an error in this package's own words: of a URL it holds nothing but the host.
type errRefused string

func (e errRefused) Error() string { return string(e) }

// checkRedirect follows redirects within the same host, and never from https to http: secrets in the URL are for that
// host only.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case !strings.EqualFold(r.URL.Host, first.Host):
		return errRefused(
			"it redirects to another host, " + hostOf(r.URL) +
				", which is not followed; give the address that it moved to")
	case first.Scheme == "https" && r.URL.Scheme != "https":
		return errRefused("it redirects from https to " + r.URL.Scheme + ", which is not followed")
	case len(via) > follows:
		return errRefused(fmt.Sprintf("it redirects more than %d times", follows))
	}
	return nil
}

// Check checks a feed's URL and path without a request.
func Check(f dream.Feed) error {
	if f.URL == "" {
		return nil
	}
	_, err := address(f.URL)
	_, wrong := expression(f.Path)
	return errors.Join(err, wrong)
}

func address(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the url of the feed cannot be read; it must be like https://host/path")
	}
	return u, nil
}

// Fetch gets a JSON document from the feed's URL and reads the readings at its path. Readings without a time are of
// now. Its errors name the host, never the rest of the URL, and quote nothing of the response.
func (c *Client) Fetch(ctx context.Context, f dream.Feed) ([]dream.Reading, error) {
	u, err := address(f.URL)
	if err != nil {
		return nil, err
	}
	body, err := c.get(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hostOf(u), err)
	}
	readings, err := Read(body, f.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hostOf(u), err)
	}
	return readings, nil
}

func (c *Client) get(ctx context.Context, u *url.URL) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errRefused("its url cannot be requested")
	}
	r.Header.Set("User-Agent", c.agent)
	r.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, safeError(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // so that the connection can be reused
		return nil, errRefused(fmt.Sprintf("it answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, Document+1))
	if err != nil {
		return nil, safeError(err)
	}
	if len(body) > Document {
		return nil, errRefused(fmt.Sprintf("its answer is longer than %d KiB", Document>>10))
	}
	return body, nil
}

// safeError describes a failed exchange without quoting the URL or the response.
func safeError(err error) error {
	var (
		refused errRefused
		lookup  *net.DNSError
		dial    *net.OpError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		late    net.Error
	)
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &late) && late.Timeout():
		return errRefused("it did not answer in time")
	case errors.As(err, &lookup):
		return errRefused("its name is not known")
	case errors.As(err, &cert), errors.As(err, &unknown):
		return errRefused("its certificate is not trusted")
	case errors.As(err, &dial):
		return errRefused("the connection failed: " + dial.Op + ": " + dial.Err.Error())
	}
	return errRefused("the exchange broke off")
}

func hostOf(u *url.URL) string {
	if len(u.Host) > 255 {
		return u.Host[:255]
	}
	return u.Host
}
