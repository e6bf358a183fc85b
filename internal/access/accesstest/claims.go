package accesstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
)

func aClaim(now time.Time) access.Claim {
	return access.Claim{
		Scope:  "key_1",
		Name:   "order: 66%",
		Digest: "d",
		Now:    now,
		Hold:   time.Minute,
		Keep:   time.Hour,
	}
}

var done = access.StoredResponse{
	Status: 201, Type: "application/json", Body: []byte(`{"id":1}`),
	Header: map[string][]string{"Location": {"/1"}, "X-Oneiros-Agent": {"iris", "né \"x\""}},
}

func claim(t *testing.T, s access.Store, c access.Claim) *access.StoredResponse {
	t.Helper()
	answer, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	return answer
}

func answer(t *testing.T, s access.Store, c access.Claim, a *access.StoredResponse) {
	t.Helper()
	require.NoError(t, s.Answer(t.Context(), c, a))
}

func busy(t *testing.T, s access.Store, c access.Claim) {
	t.Helper()
	_, err := s.Claim(t.Context(), c)
	require.ErrorIs(t, err, access.ErrBusy)
}

func lost(t *testing.T, s access.Store, c access.Claim) {
	t.Helper()
	_, err := s.Claim(t.Context(), c)
	require.ErrorIs(t, err, access.ErrLost)
}

func answersBounded(t *testing.T, s access.Store) {
	at := func(scope, name string, n int) access.Claim {
		c := aClaim(noon.Add(time.Duration(n) * time.Second))
		c.Scope, c.Name, c.Most = scope, name, 2
		return c
	}
	for n := range 5 {
		for _, scope := range []string{"key_1", "key_2"} {
			c := at(scope, fmt.Sprint(n), n)
			require.Nil(t, claim(t, s, c))
			answer(t, s, c, &done)
		}
		begun := at("key_1", fmt.Sprint("begun-", n), n)
		require.Nil(t, claim(t, s, begun), "one that is not answered takes no room")
	}
	none := access.Dropped()
	for n := range 5 {
		want := &done
		if n < 3 {
			want = &none
		}
		for _, scope := range []string{"key_1", "key_2"} {
			require.Equal(t, want, claim(t, s, at(scope, fmt.Sprint(n), 10)), "%s %d", scope, n)
		}
		busy(t, s, at("key_1", fmt.Sprint("begun-", n), 10))
	}
	other := at("key_1", "0", 11)
	other.Digest = "e"
	_, err := s.Claim(t.Context(), other)
	require.ErrorIs(t, err, access.ErrOther, "the name stays taken")
}

func doneOnce(t *testing.T, s access.Store) {
	c := aClaim(noon)
	require.Nil(t, claim(t, s, c))
	busy(t, s, c)
	busy(t, s, aClaim(noon.Add(time.Second)))
	answer(t, s, c, &done)
	require.Equal(t, &done, claim(t, s, aClaim(noon.Add(2*time.Second))))
	other := done
	other.Status = 500
	answer(t, s, c, &other)
	answer(t, s, c, nil)
	require.Equal(t, &done, claim(t, s, aClaim(noon.Add(3*time.Second))), "the first answer stays")
}

func oneRequest(t *testing.T, s access.Store) {
	c := aClaim(noon)
	require.Nil(t, claim(t, s, c))
	other := c
	other.Digest = "e"
	_, err := s.Claim(t.Context(), other)
	require.ErrorIs(t, err, access.ErrOther)
	answer(t, s, c, &done)
	_, err = s.Claim(t.Context(), other)
	require.ErrorIs(t, err, access.ErrOther)
	for _, alter := range []func(*access.Claim){
		func(c *access.Claim) { c.Scope = "key_2" }, func(c *access.Claim) { c.Name = "order" },
		func(c *access.Claim) { c.Scope, c.Name = "key_1:order", " 66%" },
	} {
		elsewhere := c
		alter(&elsewhere)
		require.Nil(t, claim(t, s, elsewhere), "whose it is and its name make a request")
	}
}

// claimWithoutAnswer: nobody knows whether a request that was begun was done, so that no other caller may do it.
func claimWithoutAnswer(t *testing.T, s access.Store) {
	require.Nil(t, claim(t, s, aClaim(noon)))
	busy(t, s, aClaim(noon.Add(time.Minute-1)))
	for _, later := range []time.Duration{time.Minute, 2 * time.Minute, time.Hour - 1} {
		lost(t, s, aClaim(noon.Add(later)))
		other := aClaim(noon.Add(later))
		other.Digest = "e"
		_, err := s.Claim(t.Context(), other)
		require.ErrorIs(t, err, access.ErrOther)
	}
	other := aClaim(noon.Add(time.Hour))
	other.Digest = "e"
	require.Nil(t, claim(t, s, other), "its time is over, for other requests too")
	busy(t, s, other)
}

func renewed(t *testing.T, s access.Store) {
	c := aClaim(noon)
	require.NoError(t, s.Renew(t.Context(), c, noon), "one that never was")
	require.Nil(t, claim(t, s, c))
	renew := func(after time.Duration) {
		t.Helper()
		require.NoError(t, s.Renew(t.Context(), c, noon.Add(after)))
	}
	renew(30 * time.Second)
	busy(t, s, aClaim(noon.Add(90*time.Second-1)))
	lost(t, s, aClaim(noon.Add(90*time.Second)))
	renew(2 * time.Minute)
	busy(t, s, aClaim(noon.Add(3*time.Minute-1)))
	for _, another := range []func(*access.Claim){
		func(c *access.Claim) { c.Now = c.Now.Add(1) },
		func(c *access.Claim) { c.Digest = "e" },
	} {
		other := c
		another(&other)
		require.NoError(t, s.Renew(t.Context(), other, noon.Add(30*time.Minute)))
		lost(t, s, aClaim(noon.Add(4*time.Minute)))
	}
	answer(t, s, c, &done)
	renew(5 * time.Minute)
	require.Equal(t, &done, claim(t, s, aClaim(noon.Add(time.Hour-1))))
	require.Nil(t, claim(t, s, aClaim(noon.Add(time.Hour))), "an answer is kept no longer for that")
	old := aClaim(noon)
	old.Name = "old"
	require.Nil(t, claim(t, s, old))
	require.NoError(t, s.Renew(t.Context(), old, noon.Add(time.Hour)))
	old.Now = noon.Add(time.Hour)
	require.Nil(t, claim(t, s, old), "it was gone")
	given := aClaim(noon)
	given.Name = "given up"
	require.Nil(t, claim(t, s, given))
	answer(t, s, given, nil)
	require.NoError(t, s.Renew(t.Context(), given, noon.Add(time.Second)))
	require.Nil(t, claim(t, s, given))
}

func keepRunsOut(t *testing.T, s access.Store) {
	c := aClaim(noon)
	require.Nil(t, claim(t, s, c))
	answer(t, s, c, &done)
	require.Equal(t, &done, claim(t, s, aClaim(noon.Add(time.Hour-1))))
	require.Nil(t, claim(t, s, aClaim(noon.Add(time.Hour))))
}

func givenUp(t *testing.T, s access.Store) {
	c := aClaim(noon)
	require.Nil(t, claim(t, s, c))
	answer(t, s, c, nil)
	next := aClaim(noon.Add(time.Second))
	next.Digest = "e"
	require.Nil(t, claim(t, s, next))
	busy(t, s, next)
}

func late(t *testing.T, s access.Store) {
	first, second := aClaim(noon), aClaim(noon.Add(time.Hour))
	require.Nil(t, claim(t, s, first))
	require.Nil(t, claim(t, s, second))
	answer(t, s, first, nil)
	busy(t, s, aClaim(noon.Add(time.Hour+time.Second)))
	first.Keep = 2 * time.Hour
	answer(t, s, first, &done)
	require.Equal(t, &done, claim(t, s, aClaim(noon.Add(time.Hour+2*time.Second))),
		"it is the answer to the same request")
	silent := aClaim(noon)
	silent.Name = "silent"
	require.Nil(t, claim(t, s, silent))
	lost(t, s, func() access.Claim { c := silent; c.Now = noon.Add(2 * time.Minute); return c }())
	answer(t, s, silent, &done)
	require.Equal(t, &done, claim(t, s, silent), "a late response is stored after all")
	other := second
	other.Name, other.Digest = "other", "e"
	require.Nil(t, claim(t, s, other))
	other.Digest = "d"
	answer(t, s, other, &done)
	other.Digest = "e"
	busy(t, s, other)
	removed := aClaim(noon)
	removed.Name = "gone"
	answer(t, s, removed, &done)
	require.Equal(t, &done, claim(t, s, removed))
	removed.Name = "never"
	answer(t, s, removed, nil)
	require.Nil(t, claim(t, s, removed))
}

func bytesKept(t *testing.T, s access.Store) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, body := range map[string][]byte{"empty": {}, "all": all, "large": make([]byte, 1<<20)} {
		c := aClaim(noon)
		c.Name = name
		require.Nil(t, claim(t, s, c))
		stored := access.StoredResponse{Status: 204, Body: body} // without headers
		answer(t, s, c, &stored)
		require.Equal(t, &stored, claim(t, s, c))
	}
}

func wrongClaims(t *testing.T, s access.Store) {
	for _, alter := range []func(*access.Claim){
		func(c *access.Claim) { c.Scope = "" }, func(c *access.Claim) { c.Name = "" },
		func(c *access.Claim) { c.Name = "\xff" },
		func(c *access.Claim) { c.Digest = "" }, func(c *access.Claim) { c.Hold = 0 },
		func(c *access.Claim) { c.Keep = -1 },
		func(c *access.Claim) { c.Now = time.Time{} },
	} {
		c := aClaim(noon)
		alter(&c)
		_, err := s.Claim(t.Context(), c)
		require.Error(t, err)
		require.Error(t, s.Answer(t.Context(), c, nil))
		require.Error(t, s.Renew(t.Context(), c, noon))
	}
}

// ClaimConcurrently lets 32 goroutines claim a request at once through two stores of one deployment, several times
// over, and returns an error unless exactly one of them got it each time.
func ClaimConcurrently(ctx context.Context, here, there access.Store) error {
	const many = 32
	for round := range 5 {
		c := aClaim(noon.Add(time.Duration(round) * time.Hour))
		var all sync.WaitGroup
		faults := make([]error, many)
		for n := range many {
			all.Go(func() { _, faults[n] = []access.Store{here, there}[n%2].Claim(ctx, c) })
		}
		all.Wait()
		count := 0
		for _, err := range faults {
			if err == nil {
				count++
			} else if !errors.Is(err, access.ErrBusy) {
				return err
			}
		}
		if count != 1 {
			return fmt.Errorf("round %d: %d of %d got the claim", round, count, many)
		}
	}
	return nil
}

// MemoryAndAnswers is a store of memory and responses.
type MemoryAndAnswers interface {
	access.Store
	Forget(ctx context.Context, agent string, ids ...string) (int, error)
}

// AnswersAreErased checks that a store erases responses together with memories.
func AnswersAreErased(t *testing.T, s MemoryAndAnswers) {
	t.Helper()
	stored, waits := aClaim(noon), aClaim(noon)
	waits.Name = "waits"
	require.Nil(t, claim(t, s, stored))
	answer(t, s, stored, &done)
	require.Nil(t, claim(t, s, waits))
	_, err := s.Forget(t.Context(), "echo", "nobody")
	require.NoError(t, err)
	removed := access.Erased()
	require.Equal(t, &removed, claim(t, s, stored))
	busy(t, s, waits)
	answer(t, s, waits, &done)
	require.Equal(t, &done, claim(t, s, waits), "what is said from now on quotes nothing that was erased before")
}
