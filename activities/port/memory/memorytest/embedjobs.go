package memorytest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

var embedJobs = []struct {
	name string
	run  func(*testing.T, memory.EmbedQueue)
}{
	{"AJobIsKeptUnderItsAgent", embedJobKept},
	{"AClaimHoldsUntilItExpiresOrIsReleased", embedJobClaimed},
	{"ARequestDuringAClaimKeepsTheJob", embedJobRequested},
	{"OneOfManyConcurrentClaimsHolds", embedJobRaced},
}

// RunEmbedJobs tests a store's queue of embedding jobs.
func RunEmbedJobs(t *testing.T, open func(t *testing.T) memory.EmbedQueue) {
	t.Helper()
	for _, c := range embedJobs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

func claimed(holder string, at time.Time) memory.EmbedJob {
	return memory.EmbedJob{
		Agent:     echo,
		Requested: dawn,
		Holder:    holder,
		Until:     at.Add(time.Minute),
		Began:     at,
		Total:     9,
	}
}

func embedJobKept(t *testing.T, s memory.EmbedQueue) {
	_, err := s.EmbedJob(t.Context(), echo)
	require.ErrorIs(t, err, memory.ErrNotFound)
	none, err := s.EmbedJobs(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = s.PutEmbedJob(t.Context(), memory.EmbedJob{}, dawn)
	require.Error(t, err, "a job needs an agent")

	want := claimed("a", dawn)
	want.Done, want.Next = 4, dawn.Add(time.Hour)
	want.Failure, want.Failed = "the \"embedder\" is away\n", 2
	kept, err := s.PutEmbedJob(t.Context(), want, dawn)
	require.NoError(t, err)
	require.Equal(t, want, kept)
	other := memory.EmbedJob{Agent: "agent-vega", Requested: dawn}
	_, err = s.PutEmbedJob(t.Context(), other, dawn)
	require.NoError(t, err)
	got, err := s.EmbedJob(t.Context(), echo)
	require.NoError(t, err)
	require.Equal(t, want, got)
	all, err := s.EmbedJobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []memory.EmbedJob{want, other}, all)

	ended, err := s.EndEmbedJob(t.Context(), want)
	require.NoError(t, err)
	require.True(t, ended)
	ended, err = s.EndEmbedJob(t.Context(), want)
	require.NoError(t, err)
	require.True(t, ended, "ending twice is no error")
	all, err = s.EmbedJobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []memory.EmbedJob{other}, all)
}

func embedJobClaimed(t *testing.T, s memory.EmbedQueue) {
	first := claimed("a", dawn)
	_, err := s.PutEmbedJob(t.Context(), first, dawn)
	require.NoError(t, err)
	soon := dawn.Add(59 * time.Second)
	kept, err := s.PutEmbedJob(t.Context(), claimed("b", soon), soon)
	require.ErrorIs(t, err, memory.ErrTaken)
	require.Equal(t, first, kept, "a refusal names the holder")
	ended, err := s.EndEmbedJob(t.Context(), claimed("b", soon))
	require.NoError(t, err)
	require.False(t, ended, "another holder's job is not ended")

	renewed := first
	renewed.Until, renewed.Done = soon.Add(time.Minute), 5
	_, err = s.PutEmbedJob(t.Context(), renewed, soon)
	require.NoError(t, err)
	_, err = s.PutEmbedJob(t.Context(), claimed("b", dawn.Add(time.Minute)), dawn.Add(time.Minute))
	require.ErrorIs(t, err, memory.ErrTaken)
	given := renewed
	given.Holder, given.Until = "", time.Time{}
	ended, err = s.EndEmbedJob(t.Context(), given)
	require.NoError(t, err)
	require.False(t, ended)
	lapsed := renewed.Until
	kept, err = s.PutEmbedJob(t.Context(), claimed("b", lapsed), lapsed)
	require.NoError(t, err, "the claim of a killed process expires")
	require.Equal(t, "b", kept.Holder)
	_, err = s.PutEmbedJob(t.Context(), renewed, lapsed)
	require.ErrorIs(t, err, memory.ErrTaken, "the slow process learns that it has lost its claim")
}

func embedJobRequested(t *testing.T, s memory.EmbedQueue) {
	held := claimed("a", dawn)
	_, err := s.PutEmbedJob(t.Context(), held, dawn)
	require.NoError(t, err)
	later := dawn.Add(time.Second)
	kept, err := s.PutEmbedJob(t.Context(), memory.EmbedJob{Agent: echo, Requested: later}, later)
	require.NoError(t, err)
	require.Equal(t, "a", kept.Holder)
	require.Equal(t, later, kept.Requested)
	ended, err := s.EndEmbedJob(t.Context(), held)
	require.NoError(t, err)
	require.False(t, ended, "the newer request is not done yet")
	kept, err = s.PutEmbedJob(t.Context(), held, later)
	require.NoError(t, err)
	require.Equal(t, later, kept.Requested, "a renewal keeps the time of the request")
	ended, err = s.EndEmbedJob(t.Context(), kept)
	require.NoError(t, err)
	require.True(t, ended)
}

func embedJobRaced(t *testing.T, s memory.EmbedQueue) {
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := s.PutEmbedJob(t.Context(), claimed(fmt.Sprint("process ", i), dawn), dawn); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, won.Load())
}
