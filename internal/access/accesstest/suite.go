package accesstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// RunStore checks everything that access.Store promises. open returns a new, empty store and cleans up after it.
func RunStore(t *testing.T, open func(t *testing.T) access.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s access.Store)
	}{
		{"AKeyComesBackAsItWasPut", keyComesBack},
		{"KeysAreListedByCreation", listed},
		{"AHashOpensOnlyOneDoor", oneHash},
		{"AKeyIsReplacedWithItsHash", replaced},
		{"AKeyThatIsWrongIsNotKept", wrongKeys},
		{"KeysAreRequiredFromTheFirstOn", requiredFromTheFirst},
		{"AKeyThatIsRefusedRequiresNoKeys", refusedKeyRequiresNone},
		{"KeylessUseIsAllowedOnlyWithoutALiveKey", keylessWithoutALiveKey},
		{"ARequestIsDoneOnce", doneOnce},
		{"TheOldestAnswersOfAScopeMakeRoom", answersBounded},
		{"ANameIsOfOneRequest", oneRequest},
		{"WhoeverFellSilentIsNotDoneAgain", claimWithoutAnswer},
		{"AClaimIsRenewed", renewed},
		{"AnAnswerRunsOut", keepRunsOut},
		{"AClaimThatIsGivenUpIsAnothers", givenUp},
		{"WhatComesLateTakesNothingFromAnother", late},
		{"AnAnswerIsKeptByteForByte", bytesKept},
		{"AClaimThatIsWrongIsRefused", wrongClaims},
		{"ItDoesWhatTheModelDoes", likeTheModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
	t.Run("OfManyAtOnceOneIsToldToDoIt", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		require.NoError(t, ClaimConcurrently(t.Context(), s, s))
	})
}

var noon = time.Date(2026, 3, 20, 12, 0, 0, 123456789, time.UTC)

func aKey(n int) access.Key {
	return access.Key{
		ID:      fmt.Sprint("key_", n),
		Name:    fmt.Sprint("name ", n),
		Role:    access.Client,
		Hash:    access.Hash(fmt.Sprint(n)),
		Created: noon.Add(time.Duration(n) * time.Second),
	}
}

func keyComesBack(t *testing.T, s access.Store) {
	nothing, some := budget.Micros(0), budget.Micros(1<<60)
	first, second, third := aKey(1), aKey(2), aKey(3)
	second.Role = access.Operator
	second.Agents = []string{"echo", "né"}
	second.Rate, second.Tokens, second.Program = 60, 40_000, true
	second.Day = &some
	second.Expires, second.Revoked = noon.Add(time.Hour), noon.Add(time.Minute)
	third.Role, third.Day, third.Principal = access.Owner, &nothing, "anna@desk"
	local := second
	zone := time.FixedZone("", 3600)
	local.Created, local.Expires, local.Revoked = second.Created.In(zone), second.Expires.In(zone),
		second.Revoked.In(zone)
	for _, k := range []access.Key{first, local, third} {
		require.NoError(t, s.PutKey(t.Context(), k))
	}
	require.Equal(t, []access.Key{first, second, third}, list(t, s))
}

func list(t *testing.T, s access.Store) []access.Key {
	t.Helper()
	keys, err := s.Keys(t.Context())
	require.NoError(t, err)
	return keys
}

func listed(t *testing.T, s access.Store) {
	require.Empty(t, list(t, s))
	same := aKey(2)
	same.ID, same.Hash = "key_1b", access.Hash("1b")
	for _, k := range []access.Key{aKey(3), same, aKey(2), aKey(1)} {
		require.NoError(t, s.PutKey(t.Context(), k))
	}
	require.Equal(t, []access.Key{aKey(1), same, aKey(2), aKey(3)}, list(t, s))
}

func oneHash(t *testing.T, s access.Store) {
	require.NoError(t, s.PutKey(t.Context(), aKey(1)))
	thief := aKey(2)
	thief.Hash = aKey(1).Hash
	require.ErrorIs(t, s.PutKey(t.Context(), thief), memory.ErrTaken)
	require.Equal(t, []access.Key{aKey(1)}, list(t, s))
}

func replaced(t *testing.T, s access.Store) {
	k := aKey(1)
	require.NoError(t, s.PutKey(t.Context(), k))
	k.Revoked = noon
	require.NoError(t, s.PutKey(t.Context(), k))
	k.Hash = access.Hash("another")
	require.NoError(t, s.PutKey(t.Context(), k))
	require.Equal(t, []access.Key{k}, list(t, s))
	before := k
	before.Revoked, before.Rate = time.Time{}, 7
	require.ErrorIs(t, s.PutKey(t.Context(), before), access.ErrRevoked)
	require.Equal(t, []access.Key{k}, list(t, s), "a revoked key stays revoked")
	other := aKey(2)
	other.Hash = aKey(1).Hash
	require.NoError(t, s.PutKey(t.Context(), other), "nobody has the old hash any more")
}

func wrongKeys(t *testing.T, s access.Store) {
	for _, alter := range []func(*access.Key){
		func(k *access.Key) { k.ID = "" }, func(k *access.Key) { k.Name = "a\nb" },
		func(k *access.Key) { k.Role = "god" },
		func(k *access.Key) { k.Hash = "short" }, func(k *access.Key) { k.Rate = -1 }, func(k *access.Key) { k.Tokens = -1 },
		func(k *access.Key) { k.Principal = "two/parts" }, func(k *access.Key) { k.Principal = "loopback" },
	} {
		k := aKey(1)
		alter(&k)
		require.Error(t, s.PutKey(t.Context(), k))
	}
	require.Empty(t, list(t, s))
}

func required(t *testing.T, s access.Store) bool {
	t.Helper()
	is, err := s.KeysRequired(t.Context())
	require.NoError(t, err)
	return is
}

func requiredFromTheFirst(t *testing.T, s access.Store) {
	require.False(t, required(t, s))
	k := aKey(1)
	require.NoError(t, s.PutKey(t.Context(), k))
	require.True(t, required(t, s))
	k.Revoked = noon
	require.NoError(t, s.PutKey(t.Context(), k))
	require.True(t, required(t, s), "revoking the only key opens nothing")
}

func refusedKeyRequiresNone(t *testing.T, s access.Store) {
	wrong := aKey(1)
	wrong.Role = "god"
	require.Error(t, s.PutKey(t.Context(), wrong))
	require.False(t, required(t, s))
}

func keylessWithoutALiveKey(t *testing.T, s access.Store) {
	require.NoError(t, s.AllowKeyless(t.Context(), noon), "there was never a key")
	require.False(t, required(t, s))
	ends, revoked := aKey(1), aKey(2)
	ends.Expires = noon.Add(time.Hour)
	revoked.Revoked = noon
	require.NoError(t, s.PutKey(t.Context(), ends))
	require.NoError(t, s.PutKey(t.Context(), revoked))
	require.ErrorIs(t, s.AllowKeyless(t.Context(), noon.Add(time.Hour-1)), access.ErrLiveKey)
	require.True(t, required(t, s))
	require.NoError(t, s.AllowKeyless(t.Context(), noon.Add(time.Hour)))
	require.False(t, required(t, s))
	require.Equal(t, []access.Key{ends, revoked}, list(t, s), "they stay listed")
	require.NoError(t, s.PutKey(t.Context(), aKey(3)))
	require.True(t, required(t, s), "the next key closes again")
}

// likeTheModel does the same random operations on the store and on a Book and compares the results. Only the newest
// claim of a name is answered, and once: what a late answer finds depends on when the store swept.
func likeTheModel(t *testing.T, s access.Store) {
	model, r := &Book{}, rand.New(rand.NewPCG(1, 2))
	now := noon
	status := map[[2]string]access.Claim{}
	for step := range 600 {
		now = now.Add(time.Duration(r.Int64N(int64(30 * time.Second))))
		c := access.Claim{
			Scope: []string{"a", "b"}[r.IntN(2)], Name: []string{"x", "y"}[r.IntN(2)],
			Digest: []string{"d", "d", "e"}[r.IntN(3)], Now: now,
			Hold: time.Minute, Keep: 2 * time.Minute,
		}
		mine, claimed := status[[2]string{c.Scope, c.Name}]
		if r.IntN(2) == 0 || !claimed {
			want, wrong := model.Claim(t.Context(), c)
			got, err := s.Claim(t.Context(), c)
			require.Equal(t, want, got, step)
			for _, existing := range []error{nil, access.ErrBusy, access.ErrOther, access.ErrLost} {
				require.Equal(t, errors.Is(wrong, existing), errors.Is(err, existing),
					"step %d: %v, and the model says %v", step, err, wrong)
			}
			if got == nil && err == nil {
				status[[2]string{c.Scope, c.Name}] = c
			}
			continue
		}
		if r.IntN(3) == 0 {
			require.NoError(t, model.Renew(t.Context(), mine, now))
			require.NoError(t, s.Renew(t.Context(), mine, now))
			continue
		}
		delete(status, [2]string{c.Scope, c.Name})
		var answer *access.StoredResponse
		if r.IntN(3) > 0 {
			answer = &access.StoredResponse{Status: 200 + step, Type: "text/plain", Body: []byte(fmt.Sprint(step))}
		}
		require.NoError(t, model.Answer(t.Context(), mine, answer))
		require.NoError(t, s.Answer(t.Context(), mine, answer))
	}
}
