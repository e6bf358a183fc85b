package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestTheStoreKeepsTheContractOfAccess(t *testing.T) {
	t.Parallel()
	accesstest.RunStore(t, func(t *testing.T) access.Store { return fresh(t) })
}

func TestOneOfTwoProcessesClaimsARequest(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	require.NoError(t, accesstest.ClaimConcurrently(t.Context(), here, there))
}

func TestAClaimWhoseReplyWasLostBelongsToItsClaimant(t *testing.T) {
	t.Parallel()
	w := newWire(t, redis.Shared(t))
	s := open(t, w.url, redis.Prefix(t), redisstore.Connections(1), redisstore.Timeout(20*time.Second))
	c := access.Claim{
		Scope:  "key_1",
		Name:   "n",
		Digest: "d",
		Now:    noon,
		Hold:   time.Minute,
		Keep:   time.Hour,
	}
	w.lost.Store(0)
	w.cuts.Store(1)
	answer, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Nil(t, answer)
	require.EqualValues(t, 1, w.lost.Load())
	_, err = s.Claim(t.Context(), c)
	require.ErrorIs(t, err, access.ErrBusy)
}

func TestRecordedResponsesAreErasedWithMemories(t *testing.T) {
	t.Parallel()
	accesstest.AnswersAreErased(t, fresh(t))
}

func TestAClaimExpires(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	c := access.Claim{
		Scope:  "key_1",
		Name:   "n",
		Digest: "d",
		Now:    noon,
		Hold:   time.Minute,
		Keep:   time.Hour,
	}
	_, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	left := func() time.Duration { return server.Dial(t).PTTL(t.Context(), prefix+"claim:key_1:n").Val() }
	require.InDelta(t, (2 * time.Hour).Seconds(), left().Seconds(), 60,
		"an unanswered claim is kept as long as an answered one")
	require.NoError(t, s.Answer(t.Context(), c, &access.StoredResponse{Status: 200}))
	require.InDelta(t, (2 * time.Hour).Seconds(), left().Seconds(), 60)
}
