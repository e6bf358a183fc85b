package psyche

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Each kind of failure before a provider has answered, and what its client reads.
func TestAFailureOfTheProviderIsReportedAsWhatItIs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[inference.Kind]Fault{
		inference.BadRequest:   {Status: 400, Message: "why"},
		inference.Unauthorized: {Status: 503, Message: "cannot be used as it is configured"},
		inference.Unpriced:     {Status: 503, Message: "cannot be used as it is configured"},
		inference.Unknown:      {Status: 503, Message: "cannot be used as it is configured"},
		inference.NoMoney:      {Status: 502, Message: "account"},
		inference.RateLimited:  {Status: 502, Message: "could not be reached, or broke off", Retry: time.Second},
		inference.Unavailable:  {Status: 502, Message: "could not be reached, or broke off", Retry: time.Second},
		inference.Broken:       {Status: 502, Message: "could not be reached, or broke off", Retry: time.Second},
		inference.Malformed:    {Status: 502, Message: "why"},
	} {
		err := relayFault(t.Context(), &inference.Failure{Kind: kind, Status: http.StatusTeapot, Message: "why"})
		var f *Fault
		require.ErrorAs(t, err, &f, kind)
		require.Equal(t, want.Status, f.Status, kind)
		require.Contains(t, f.Message, want.Message, kind)
		require.Equal(t, want.Retry, f.Retry, kind)
	}
}
