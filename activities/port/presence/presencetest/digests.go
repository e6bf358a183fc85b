package presencetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

var digests = []clause{
	{"ADigestIsConsumedByTheWakeThatFindsIt", digestConsumed},
	{"ADigestKeepsTheNewest", digestKeepsNewest},
	{"ADigestNamesAnEntryOnce", digestNamesOnce},
	{"ADigestMayBeAddedToWhileAwake", digestAddedAwake},
	{"AnEmptyDigestIsNotNil", digestOfNothing},
}

func digestConsumed(t *testing.T, s Store) {
	for i, want := range [][]string{{"a", "b", "c"}, {"d"}} {
		f := sleep(t, s, fmt.Sprint("echo/", i), time.Duration(i)*time.Hour)
		for _, id := range want {
			foresee(t, s, f, nil, id)
		}
		require.NoError(t, s.FreeSlot(t.Context(), echo, f)) // the digest stays until the next wake
		w := raise(t, s, visit("web", time.Duration(i)*time.Hour))
		require.Equal(t, want, w.Digest, "in the order they were added")
		require.Equal(t, want, arrive(t, s, visit("app", time.Duration(i)*time.Hour)).Digest)
		require.Equal(t, want, status(t, s, time.Duration(i)*time.Hour).Last.Digest)
	}
	require.Empty(t, raise(t, s, visit("web", 3*time.Hour)).Digest)
}

func digestKeepsNewest(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	var ids []string
	for i := range presence.Digested + 3 {
		ids = append(ids, fmt.Sprint("entry ", i))
	}
	foresee(t, s, f, nil, ids[:2]...)
	foresee(t, s, f, nil)
	foresee(t, s, f, nil, ids[2:]...)
	require.Equal(t, ids[3:], raise(t, s, visit("web", 0)).Digest)
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
	f = sleep(t, s, "echo/0002", time.Hour)
	for _, id := range ids {
		foresee(t, s, f, nil, id)
	}
	require.Equal(t, ids[3:], raise(t, s, visit("web", time.Hour)).Digest)
}

// digestNamesOnce: a retried step adds its entries again, and they become the newest.
func digestNamesOnce(t *testing.T, s Store) {
	f := sleep(t, s, "echo/0001", 0)
	foresee(t, s, f, nil, "a", "b")
	foresee(t, s, f, nil, "a", "a")
	require.Equal(t, []string{"b", "a"}, raise(t, s, visit("web", 0)).Digest)
}

func digestAddedAwake(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	require.NoError(t,
		commit(t.Context(), s, memory.Write{Cause: "operator", OnWake: &memory.OnWake{Digest: []string{"noted"}}}))
	f := sleep(t, s, "echo/0001", hold)
	foresee(t, s, f, &joy)
	require.NoError(t,
		commit(t.Context(), s, memory.Write{Cause: "operator", OnWake: &memory.OnWake{Digest: []string{"noted too"}}}))
	w := raise(t, s, visit("web", hold))
	require.Equal(t, []string{"noted", "noted too"}, w.Digest)
	require.Equal(t, joy, w.Affect, "adding to the digest does not change the mood")
}

// digestOfNothing: an empty digest is an empty list in JSON, not null.
func digestOfNothing(t *testing.T, s Store) {
	require.Equal(t, []string{}, raise(t, s, visit("web", 0)).Digest)
	require.Equal(t, []string{}, arrive(t, s, visit("app", 0)).Digest)
	require.Equal(t, []string{}, status(t, s, 0).Last.Digest)
	untold, err := s.Unrecorded(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{}, untold[echo].Digest)
}
