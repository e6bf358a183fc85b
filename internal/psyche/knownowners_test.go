package psyche_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// dreams adds an insight and a promoted heuristic, both made of what Ann had said, before the next client comes.
func (r *rig) dreams() {
	r.t.Helper()
	r.plant(
		&dream.Journal{
			Head:    dreamtHead("jo_1", dream.KindJournal),
			Content: "Ann's PIN is the year of the lighthouse, 4711.", Significance: .8,
		},
		&dream.Playbook{
			Head:    dreamtHead("pb_1", dream.KindPlaybook),
			Content: "Ask Ann for the lighthouse, whose PIN is 4711.", Confidence: .8, Hypothesis: "hy_1",
		},
	)
	slot, err := r.store.TakeSlot(r.t.Context(), r.agent.ID,
		memory.Slot{Fence: memory.Fence{Dream: "dream/echo/0001", Run: "r"}, Since: r.clock.now()}, memory.Fence{})
	require.NoError(r.t, err)
	_, err = r.store.Commit(r.t.Context(), memory.Write{
		Agent: r.agent.ID, Fence: slot.Fence, OnWake: &memory.OnWake{Digest: []string{"jo_1"}},
	})
	require.NoError(r.t, err)
}

// A dream reads the talks of all; what it says of one caller's talk reaches no other caller.
func TestWhatWasDreamtOfOneCallersTalkReachesNoOther(t *testing.T) {
	t.Parallel()
	ben := caller("key_b", "ben")
	operator := psyche.Caller{Key: access.Key{ID: "key_o", Role: access.Operator}}
	shared := func(_ *psyche.Ports, o *psyche.Options) { o.Shared = true }
	for _, c := range []struct {
		name   string
		who    psyche.Caller
		change []func(*psyche.Ports, *psyche.Options)
		maySee bool
	}{
		{"the only client that has talked", ann, nil, true},
		{"another", ben, nil, false},
		{"another user of the same key", caller("key_a", "amy"), nil, false},
		{"an operator, who may read the journal", operator, nil, true},
		{"another, where dreams are shared", ben, []func(*psyche.Ports, *psyche.Options){shared}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, c.change...)
			r.talk(turn(ann, chat("Remember that my PIN is 4711, the year in which the lighthouse was built.")))
			r.settle()
			r.clock.pass(time.Hour)
			r.dreams()
			r.talk(turn(c.who, chat("Tell me about the lighthouse and its PIN, please.")))
			status, err := r.Status(t.Context(), c.who, "echo")
			require.NoError(t, err)
			found, err := r.Recall(t.Context(), c.who, "echo", psyche.RecallRequest{Query: "lighthouse PIN", Limit: 10})
			require.NoError(t, err)
			if c.maySee {
				require.Contains(t, r.provider.last(t), "the year of the lighthouse, 4711")
				require.Contains(t, r.provider.last(t), "Ask Ann for the lighthouse")
				require.Len(t, status.Digest, 1)
				return
			}
			require.NotContains(t, r.provider.last(t), "4711")
			require.Empty(t, status.Digest)
			for _, m := range found {
				require.NotContains(t, m.Content, "4711")
			}
			// The digest waits for a client that may see it.
			r.talk(turn(operator, chat("Anything new about the lighthouse?")))
			require.Contains(t, r.provider.last(t), "the year of the lighthouse, 4711")
		})
	}
}

// The owner of a talk is noted before a word of it is stored, and noticed by a process that had looked before.
func TestASecondTalkerIsNoticedByEveryProcess(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, chat("Remember that my PIN is 4711, the year in which the lighthouse was built.")))
	r.settle()
	other := psyche.New(r.Ports, psyche.Options{Talker: "p/free"})
	t.Cleanup(func() { require.NoError(t, other.Close(context.Background())) })
	r.clock.pass(time.Hour)
	r.dreams()
	r.talk(turn(ann, chat("Good morning")))
	ben := caller("key_b", "ben")
	status, err := other.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Len(t, status.Digest, 1)
	_, err = r.Remember(t.Context(), ben, "echo", "Ben keeps bees.", .9)
	require.NoError(t, err)
	r.clock.pass(3 * time.Second)
	later, err := other.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Empty(t, later.Digest)
}

// However much nearer what others have said is, a caller recalls what is its own.
func TestMemoriesOfOthersCostNobodyARecall(t *testing.T) {
	t.Parallel()
	r := setup(t)
	placed, err := localmodel.New().Embed(t.Context(), localmodel.Lexical,
		[]string{"The lighthouse lantern is green.", "Ann's lighthouse burnt down in May."}, "")
	require.NoError(t, err)
	plant := func(from, to int, origin, text string, v []float32) {
		w := memory.Write{Agent: r.agent.ID, Cause: "import"}
		for i := from; i < to; i++ {
			e := lived(fmt.Sprintf("ep_%s_%d", origin, i), text)
			e.Agent = r.agent.ID
			e.At = dawn
			e.State = dream.Live
			e.Origin = "talk/" + origin
			w.Add = append(w.Add, e)
			w.Vectors = append(w.Vectors, memory.Vector{Item: e.ID, Space: placed.Space, V: v})
		}
		_, err := r.store.Commit(t.Context(), w)
		require.NoError(t, err)
	}
	for i := range 20 {
		plant(i*1000, (i+1)*1000, fmt.Sprint("key_b/", i), "The lighthouse lantern is green.", placed.V[0])
	}
	plant(0, 1, "key_a/ann", "Ann's lighthouse burnt down in May.", placed.V[1])
	found, err := r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "Is the lighthouse lantern green?", Limit: 5})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "Ann's lighthouse burnt down in May.", found[0].Content)
	_, report := r.talk(turn(ann, chat("Is the lighthouse lantern green?")))
	require.Equal(t, 1, report.Recalled, report.Skipped)
}
