package psyche_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func TestARemovedAgentIsUnknownAtOnce(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, chat("My harbour pass is 4711.")))
	r.settle()
	_, err := r.store.Dismiss(t.Context(), r.agent.ID, r.clock.now())
	require.NoError(t, err)
	_, err = r.store.DropAgent(t.Context(), r.agent.ID, r.clock.now())
	require.NoError(t, err)
	r.Reread(presence.WakeNotice{Agent: r.agent.ID, Epoch: presence.EveryEpoch})
	_, err = r.Chat(t.Context(), turn(ann, chat("Are you there?")))
	faulty(t, err, 404, "agent_not_found")
	_, err = r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "harbour", Limit: 3})
	faulty(t, err, 404, "agent_not_found")
}

func TestAnAgentIsFoundInAnotherCaseByWhoReachesIt(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, name := range []string{"Echo", "ECHO", "Echo"} {
		q := turn(ann, chat("Good morning."))
		q.Agent = name
		_, report := r.talk(q)
		require.Equal(t, "echo", report.Agent)
		status, err := r.Status(t.Context(), ann, name)
		require.NoError(t, err)
		require.Equal(t, "echo", status.Agent)
	}
	elsewhere := ann
	elsewhere.Key.Agents = []string{"tally"}
	for _, name := range []string{"echo", "Echo"} {
		q := turn(elsewhere, chat("Good morning."))
		q.Agent = name
		_, err := r.Chat(t.Context(), q)
		faulty(t, err, 404, "agent_not_found")
	}
	q := turn(ann, chat("Good morning."))
	q.Agent = "Echoes"
	_, err := r.Chat(t.Context(), q)
	faulty(t, err, 404, "agent_not_found")
}

// A server that no wake notice has reached keeps a record for two seconds and a lease for longer: its writes are
// refused, and so is a new connection.
func TestARemovedAgentInTheCacheIsUnknownToANewConnection(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, chat("Good morning.")))
	r.settle()
	_, err := r.store.DropAgent(t.Context(), r.agent.ID, r.clock.now().Add(time.Hour))
	require.NoError(t, err)
	_, err = r.Chat(t.Context(), turn(caller("key_b", "bob"), chat("Are you there?")))
	faulty(t, err, 404, "agent_not_found")
	_, err = r.Remember(t.Context(), ann, "echo", "I moved to Porto.", .5)
	faulty(t, err, 404, "agent_not_found")
	_, err = r.Chat(t.Context(), turn(ann, chat("I moved to Porto.")))
	faulty(t, err, 404, "agent_not_found")
	r.settle()
	items, err := r.store.Find(t.Context(), memory.Query{Agent: r.agent.ID})
	require.NoError(t, err)
	require.Empty(t, items)
}
