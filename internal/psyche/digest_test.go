package psyche_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// returned adds a dream whose digest names more than may be shown, and wakes the agent.
func (r *rig) returned() {
	r.t.Helper()
	entry := func(id, text string, significance float64, edit ...func(*dream.Journal)) *dream.Journal {
		j := &dream.Journal{Head: dreamtHead(id, dream.KindJournal), Content: text, Significance: significance}
		for _, e := range edit {
			e(j)
		}
		return j
	}
	record := &dream.Record{
		Head:      dreamtHead("dream/echo/0001", dream.KindRecord),
		Run:       "r",
		Workflow:  "dream/echo/0001",
		Tier:      dream.Core,
		AsOf:      dawn,
		Stretches: 1,
		Outcome:   dream.Completed,
		Ended:     dawn.Add(time.Minute),
		Insights:  []string{"jo_1", "jo_2", "jo_5"},
	}
	r.plant(
		record,
		entry("jo_1", "The vane remembers the wind.", .8), entry("jo_2", "A trifle.", journal.Threshold-.01),
		entry("jo_3", "What it was saying when", .9, func(j *dream.Journal) { j.Interrupted = true }),
		entry("jo_4", "Taken back.", .9, func(j *dream.Journal) { j.State = dream.Archived }),
		entry("jo_5", "The tide turns first.", journal.Threshold),
		&dream.Fragment{Head: dreamtHead("fr_1", dream.KindFragment), Content: "A raw thought."},
		&dream.Scenario{Head: dreamtHead("sc_1", dream.KindScenario), Content: "A scene."},
	)
	slot, err := r.store.TakeSlot(r.t.Context(), r.agent.ID,
		memory.Slot{Fence: memory.Fence{Dream: "dream/echo/0001", Run: "r"}, Since: r.clock.now()}, memory.Fence{})
	require.NoError(r.t, err)
	_, err = r.store.Commit(r.t.Context(), memory.Write{
		Agent: r.agent.ID, Fence: slot.Fence, OnWake: &memory.OnWake{Digest: []string{"fr_1", "sc_1", "jo_4", "jo_5"}},
	})
	require.NoError(r.t, err)
	_, err = r.store.Commit(r.t.Context(), memory.Write{
		Agent: r.agent.ID, Fence: slot.Fence, OnWake: &memory.OnWake{Digest: []string{"jo_3", "jo_2", "jo_1"}},
	})
	require.NoError(r.t, err)
	_, err = r.Open(r.t.Context(), ann, "echo", "mine", time.Hour)
	require.NoError(r.t, err)
}

// Role client gets significant insights, labelled and quoted, once, and nothing else of a dream.
func TestADigestHoldsWhatIsSignificantLabelledAndNothingElse(t *testing.T) {
	t.Parallel()
	result := func(id, text string, significance float64) psyche.Memory {
		return psyche.Memory{
			ID:      id,
			Kind:    dream.KindJournal,
			At:      dawn.Add(-time.Hour),
			Content: text,
			Taint:   dream.FromDream,
			Score:   significance,
			Dreamt:  true,
			Label:   "dream, unverified",
		}
	}
	off := false
	for name, c := range map[string]struct {
		change func(*psyche.Options)
		want   []psyche.Memory
	}{
		"as usual": {
			func(*psyche.Options) {},
			[]psyche.Memory{
				result("jo_5", "The tide turns first.", journal.Threshold),
				result("jo_1", "The vane remembers the wind.", .8),
			},
		},
		"as a header, which a status is no": {
			func(o *psyche.Options) { o.Digest = journal.DigestHeader },
			[]psyche.Memory{},
		},
		"nothing": {
			func(o *psyche.Options) { o.Digest = journal.DigestOff },
			[]psyche.Memory{},
		},
		"in private": {func(o *psyche.Options) { o.Private = true }, []psyche.Memory{}},
		"of this agent nothing": {
			func(o *psyche.Options) { o.Agents = map[string]psyche.Switches{"echo": {Digest: &off}} },
			[]psyche.Memory{},
		},
		"of another agent nothing": {
			func(o *psyche.Options) { o.Agents = map[string]psyche.Switches{"vega": {Digest: &off}} },
			[]psyche.Memory{
				result("jo_5", "The tide turns first.", journal.Threshold),
				result("jo_1", "The vane remembers the wind.", .8),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { c.change(o) })
			r.returned()
			s, err := r.Status(t.Context(), ann, "echo")
			require.NoError(t, err)
			require.Equal(t, c.want, s.Digest)
		})
	}
}

func TestNoInsightOfAnExceptedAgentIsShown(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.returned()
	operator := psyche.Caller{Key: access.Key{ID: "key_o", Role: access.Operator}}
	for handle, want := range map[string]int{"echo": 0, "vega": 2} {
		d := &psyche.Dreams{
			Memory: r.store,
			Events: r.store,
			Now:    r.clock.now,
			Digest: journal.DigestMessage,
			Except: map[string]bool{handle: true},
		}
		found, err := d.Insights(t.Context(), ann, "dream_echo_0001")
		require.NoError(t, err)
		require.Len(t, found.Data, want, handle)
		for _, i := range found.Data {
			require.Equal(t, "dream, unverified", i.Label)
			require.Equal(t, dream.FromDream, i.Taint)
		}
		shown, err := d.Dream(t.Context(), ann, "dream_echo_0001")
		require.NoError(t, err)
		require.Equal(t, want > 0, shown.Insights > 0, "nor how many there are")
		found, err = d.Insights(t.Context(), operator, "dream_echo_0001")
		require.NoError(t, err)
		require.Len(t, found.Data, 2, "an operator reads the journal anyway")
	}
}
