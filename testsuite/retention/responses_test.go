package retention_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// respond keeps an answer that a later request may go on from.
func (w *world) respond() {
	w.Helper()
	r := memory.KeptResponse{
		ID:    fmt.Sprint("resp_", len(w.responses)),
		Scope: "principal:ada0",
		Agent: agentID(0),
		At:    w.now.UTC(),
		Body:  fmt.Appendf(nil, "the answer of %s", w.now),
	}
	if w.responsesFor > 0 {
		r.Until = r.At.Add(w.responsesFor)
	}
	require.NoError(w, w.store.PutResponse(w.Context(), r, 0))
	w.responses = append(w.responses, r)
}

// responsesAge checks that answers are there for half the time of other history, and not longer.
func (w *world) responsesAge(ctx context.Context) error {
	_, file := w.store.(*sqlitestore.Store)
	young := 0
	for _, r := range w.responses {
		until := r.At.Add(w.kept / 2)
		now := w.now
		if last := w.responses[len(w.responses)-1].At; file && !until.After(last) {
			now = r.At // its row has gone with a later answer
		}
		found, err := w.store.Response(ctx, r.Scope, r.ID, now)
		switch {
		case !w.now.Before(until):
			if !errors.Is(err, memory.ErrNotFound) {
				return fmt.Errorf("%s of %s is there at %s (%w)", r.ID, r.At, w.now, err)
			}
		case err != nil:
			return err
		case string(found.Body) != string(r.Body):
			return fmt.Errorf("%s is %q", r.ID, found.Body)
		default:
			young++
		}
	}
	if young == 0 || young == len(w.responses) {
		return fmt.Errorf("%d of %d answers are young", young, len(w.responses))
	}
	return nil
}

// A store that keeps answers for ever is found, and so is a sweep that takes those that are young.
func TestAnswersKeptForAnotherTimeAreFound(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		for name, spoil := range map[string]func(*world){
			"for ever":  func(w *world) { w.responsesFor = 0 },
			"too short": func(w *world) { w.responsesFor = time.Hour },
			"swept": func(w *world) {
				w.sweeps.Store = greedy{w.store, func(ctx context.Context, agent string, _ []string) ([]string, error) {
					_, err := w.store.Erase(ctx, agent, memory.Erasure{More: true})
					return nil, err
				}}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				require.ErrorContains(t, spoiled(t, kind, spoil), "answers to go on from are kept for their own time")
			})
		}
	})
}
