package fairqueue

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// slow is a provider whose calls take ten seconds; it notes which begin.
type slow struct {
	mu    sync.Mutex
	begun []string
	now   int
	most  int
}

func (s *slow) call(ctx context.Context, name string) {
	s.mu.Lock()
	s.begun = append(s.begun, name)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

func (s *slow) Generate(ctx context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	s.call(ctx, r.Model)
	return inference.Answer{Text: "done"}, nil
}

func (s *slow) Embed(ctx context.Context, model string, _ []string, _ string) (inference.Vectors, error) {
	s.call(ctx, model)
	return inference.Vectors{}, nil
}

func (s *slow) Relay(_ context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	if r.Model == "broken" {
		return nil, errors.New("it broke")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, r.Model)
	return &inference.RelayResponse{Status: 200, Body: io.NopCloser(strings.NewReader("said"))}, nil
}

func TestCallsOfDreamsGiveWayToTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		m := Limit(s, New(Options{Places: 2, Dreams: 1, Waiting: 99, Wait: time.Minute}))
		var over sync.WaitGroup
		generate := func(ctx context.Context, name string) {
			over.Go(func() {
				answer, err := m.Generate(ctx, inference.Request{Model: name}, nil)
				require.NoError(t, err)
				require.Equal(t, "done", answer.Text)
			})
			synctest.Wait()
		}
		person := As(t.Context(), Request{Key: "ann"})
		for range 3 {
			generate(t.Context(), "dream")
		}
		require.Equal(t, []string{"dream"}, s.begun, "a place stays free")
		generate(person, "person")
		generate(As(t.Context(), Request{Key: "room", Class: Program}), "program")
		generate(As(person, Request{Class: Dream}), "person") // whom it is for was said before
		over.Go(func() {
			_, err := m.Embed(person, "person", nil, "")
			require.NoError(t, err)
		})
		over.Wait()
		require.Equal(t, []string{"dream", "person", "person", "person", "program", "dream", "dream"}, s.begun)
		require.Equal(t, 2, s.most)
	})
}

func TestARelayHoldsItsPlaceUntilItsResponseIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		q := New(Options{Places: 1, Waiting: 99, Wait: 5 * time.Second})
		m := Limit(s, q)
		via, ok := m.(inference.Relay)
		require.True(t, ok)
		person := As(t.Context(), Request{Key: "ann"})
		_, err := via.Relay(person, inference.RelayRequest{Model: "broken"})
		require.EqualError(t, err, "it broke")
		res, err := via.Relay(person, inference.RelayRequest{Model: "a"})
		require.NoError(t, err)

		_, err = via.Relay(person, inference.RelayRequest{Model: "b"})
		failure, failed := inference.AsFailure(err)
		require.True(t, failed)
		require.False(t, failure.Billed, "it was not sent")
		require.Equal(t, inference.RateLimited, failure.Kind)
		require.Positive(t, failure.RetryAfter)

		woken := errors.New("woken")
		ctx, wake := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { wake(woken) })
		answer, err := m.Generate(ctx, inference.Request{Model: "dream"}, nil)
		require.ErrorIs(t, err, woken)
		failure, failed = inference.AsFailure(err)
		require.True(t, failed)
		require.False(t, failure.Billed)
		require.Equal(t, inference.Cut, answer.Finish)

		require.NoError(t, res.Body.Close())
		require.NoError(t, res.Body.Close(), "once is enough")
		require.Empty(t, q.keys)
		require.Equal(t, []string{"a"}, s.begun)
	})
}

// onlyModel passes no bodies on.
type onlyModel struct{ inference.Model }

func TestAModelThatPassesNothingOnStaysOne(t *testing.T) {
	t.Parallel()
	_, relays := Limit(onlyModel{&slow{}}, New(Options{Places: 1})).(inference.Relay)
	require.False(t, relays)
}
