package exchange

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestAConnectionRestsForLessThanItsServerWaits(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]time.Duration{
		"http://127.0.0.1:8080/v1":  4 * time.Second,
		"https://api.openai.com/v1": 30 * time.Second,
	} {
		c, err := New(Options{Name: "p", BaseURL: base, Catalog: inference.Table{}})
		require.NoError(t, err)
		require.Equal(t, want, c.transport.(*http.Transport).IdleConnTimeout, base)
	}
}
