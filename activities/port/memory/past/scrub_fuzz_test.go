package past_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// FuzzScrub removes ids from bodies that a damaged file might hold.
func FuzzScrub(f *testing.F) {
	f.Add(`{"id":"a","sources":["x","y"],"newer":"x","episodes":["x"]}`, "x")
	f.Add(`{"sources":null,"parent":7,"insights":{"x":1}}`, "x")
	f.Fuzz(func(t *testing.T, body, id string) {
		for _, kind := range dream.Kinds {
			scrubbed, changed, err := past.Scrub(kind, []byte(body), map[string]bool{id: true})
			if err != nil || !changed {
				continue
			}
			item, err := dream.Decode(kind, scrubbed)
			require.NoError(t, err)
			require.NotContains(t, item.Header().Sources, id)
			require.True(t, json.Valid(scrubbed))
		}
	})
}
