package deploy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
)

func TestAServerReportsWhatItRefuses(t *testing.T) {
	t.Parallel()
	w := watched(t, t.TempDir(), "memory.db")
	s := &apiServer{}
	now := time.Now()
	held := map[string]time.Duration{"a": 6, "b": 3, "c": 1, "d": 1}
	load := fairqueue.Load{Since: now.Add(-loadEvery), Waited: 2, Longest: time.Second, Held: held}
	require.NoError(t, s.reportLoad(t.Context(), w.deployment, load, now))
	state, err := w.deployment.store.Swept(t.Context())
	require.NoError(t, err)
	require.Empty(t, state.Overloads, "waiting alone is not told")
	require.False(t, s.full(now))
	require.Equal(t, Well, lookForOverload(t.Context(), w.deployment.store).State)

	load.Refused = 1
	require.NoError(t, s.reportLoad(t.Context(), w.deployment, load, now))
	load.Since = now
	require.NoError(t, s.reportLoad(t.Context(), w.deployment, load, now.Add(loadEvery)))
	state, err = w.deployment.store.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, []memory.Overload{{
		Server:  "one",
		Since:   now.Add(-loadEvery).UTC(),
		Last:    now.Add(loadEvery).UTC(),
		Refused: 2,
		Waited:  4,
		Longest: time.Second,
		Heaviest: []memory.PlaceShare{
			{Principal: "a", Share: 6. / 11}, {Principal: "b", Share: 3. / 11}, {Principal: "c", Share: 1. / 11},
		},
	}}, state.Overloads)
	require.Equal(t, Ill, lookForOverload(t.Context(), w.deployment.store).State)
	require.Equal(t, Warning, overloadFinding(state.Overloads, now.Add(5*time.Minute)).State)
	require.Equal(t, Well, overloadFinding(state.Overloads, now.Add(time.Hour)).State)
	require.True(t, s.full(now.Add(time.Minute)))
	require.False(t, s.full(now.Add(5*time.Minute)))

	r := readyToTalk(&engine{api: s})
	require.Equal(t, partFull, r.places(t.Context()))
	require.NotContains(t, r.needs, partPlaces, "a full server is ready")
}
