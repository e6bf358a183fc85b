package front_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// nobody discards a response.
type nobody struct{ header http.Header }

func (n nobody) Header() http.Header         { return n.header }
func (n nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n nobody) WriteHeader(int)             {}

// BenchmarkFront is what a request costs before and after its handler: key, role, rate, log. Of the added latency 0.2
// ms are meant for it.
func BenchmarkFront(b *testing.B) {
	var keys []access.Key
	var secret string
	for range 100 {
		k, s := access.New("bench", access.Client, nil, noon)
		keys, secret = append(keys, k), s
	}
	s, err := front.New(front.Options{
		Routes:  routesOfEachKind(),
		Keys:    accesstest.With(keys...),
		Limits:  front.Limits{Rate: 1 << 40},
		Log:     func(front.Entry) {},
		Observe: nil,
	})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader("hello"))
		r.Header.Set("Authorization", "Bearer "+secret)
		s.ServeHTTP(nobody{http.Header{}}, r)
	}
}
