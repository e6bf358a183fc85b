package psyche_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// answering is a connection to a provider that answers each request at once with the same stream.
type answering string

// RoundTrip reads the request to its end.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(strings.NewReader(string(a))),
	}, err
}

// discarded counts the bytes of a response.
type discarded struct {
	header http.Header
	n      int
}

func (d *discarded) Header() http.Header              { return d.header }
func (d *discarded) Write(p []byte) (int, error)      { d.n += len(p); return len(p), nil }
func (d *discarded) WriteHeader(int)                  {}
func (d *discarded) Flush()                           {}
func (d *discarded) SetReadDeadline(time.Time) error  { return nil }
func (d *discarded) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkRequest is a streamed request on each wire, translated where it must be: everything that the server computes
// for it, without a network, a provider, a store that is asked, a log and metrics.
func BenchmarkRequest(b *testing.B) {
	profile, err := openaigw.ProfileOf("")
	require.NoError(b, err)
	g, err := openaigw.New(openaigw.Options{
		Name:      "p",
		BaseURL:   "http://localhost/v1",
		Catalog:   catalogue(),
		Profile:   profile,
		Transport: answering(chunk + final + done),
	})
	require.NoError(b, err)
	r := setup(b, func(p *psyche.Ports, o *psyche.Options) {
		p.Relay = inference.Relays{Catalog: catalogue(), Providers: map[string]inference.Relay{"p": g}}
	})
	turns := turnhttp.Turns{Talk: r.Service, Now: time.Now}
	routes := (&openaihttp.Handler{Turns: turns}).Routes()
	routes = append(routes, (&responseshttp.Handler{Turns: turns}).Routes()...)
	routes = append(routes, (&messageshttp.Handler{Turns: turns, Meter: r.Service}).Routes()...)
	s, err := front.New(front.Options{Routes: routes, Keys: keyless{}, Keyless: true})
	require.NoError(b, err)
	for _, size := range []struct {
		name   string
		filler int
	}{{"short", 0}, {"40kB", 850}} {
		for path, body := range map[string]string{
			"/chat/completions": `{"model":"echo","stream":true,"messages":[{"role":"user","content":"%s"}]}`,
			"/responses":        `{"model":"echo","stream":true,"store":false,"input":[{"role":"user","content":"%s"}]}`,
			"/messages":         `{"model":"echo","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`,
		} {
			filler := "Why?" + strings.Repeat("The lamp in the harbour flickered all evening. ", size.filler)
			b.Run(size.name+path, func(b *testing.B) {
				text := fmt.Appendf(nil, body, filler)
				b.ReportAllocs()
				for b.Loop() {
					q := httptest.NewRequest(http.MethodPost, "http://localhost/v1"+path,
						bytes.NewReader(text))
					q.RemoteAddr = "127.0.0.1:1"
					q.Header.Set("X-Oneiros-Recall", "off")
					q.Header.Set("X-Oneiros-Store", "off")
					w := &discarded{header: http.Header{}}
					s.ServeHTTP(w, q)
					require.Greater(b, w.n, 100)
				}
			})
		}
	}
}
