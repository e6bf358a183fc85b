package deploy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
)

// full is a store that knows its agents and takes no writes.
type full struct {
	memory.DreamStore
	presence.Store
}

func (full) Agent(context.Context, string) (dream.Agent, error) {
	return dream.Agent{ID: "agent-iris", Handle: "iris"}, nil
}

func (full) Arrive(context.Context, presence.Visit) (presence.Arrival, error) {
	return presence.Arrival{}, &memory.UnwritableError{Why: memory.Full, Err: errors.New("OOM")}
}

// A command that wakes an agent ends before a wake could be recorded later, so it promises nothing.
func TestACommandDoesNotPromiseToRecordAWakeLater(t *testing.T) {
	t.Parallel()
	s := &starter.Starter{Memory: full{}, Presence: full{}, Now: time.Now}
	t.Cleanup(s.Close)
	w := &waker{engine: &engine{starter: s}}
	_, err := w.Wake(t.Context(), starter.Connection{Agent: "iris", Client: "operator"})
	require.ErrorIs(t, err, memory.ErrUnwritable)
	require.EqualError(t, err, "nothing is recorded: the store takes no writes (full): OOM")
}
