package waking_test

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// TestAnInterruptedDreamIsTheSameDream proves decision 3 for interruptions: the same seed, memory and model, woken in
// a phase and resumed, makes the same items at the same prices as an undisturbed dream. What differs is times, the
// journal entry of the wake, what the interrupted call had cost, and the mood: each stretch moves it by what that
// stretch has kept.
func TestAnInterruptedDreamIsTheSameDream(t *testing.T) {
	t.Parallel()
	server := temporal.Start(t, temporal.InMemory(),
		temporal.WithNamespaces("night-0", "night-1", "night-2", "night-3", "night-4", "night-5", "night-6"))
	nights := 0
	apart := func() *temporal.Server { // of one name, in separate namespaces
		one := *server
		one.Namespace = fmt.Sprintf("night-%d", nights)
		nights++
		return &one
	}
	undisturbed := describeDream(t, apart())
	require.Contains(t, undisturbed, "nrem")
	for name, at := range map[string][]wakeMoment{
		"before the first cycle": {{dream.Onset, "induction", provider.HangMiddle}},
		"in a cycle":             {{dream.Onset, "1/partial-2", provider.HangMiddle}},
		"between cycles":         {{dream.Onset, "2/partial-3", provider.HangMiddle}},
		"in replay":              {{dream.NREM, "forward", provider.HangMiddle}},
		"in imagination":         {{dream.REM, "branch-2", provider.HangMiddle}},
		"in every phase": {
			{dream.Onset, "1/judge-all", provider.HangMiddle},
			{dream.NREM, "backward", provider.HangMiddle},
			{dream.REM, "weigh", provider.HangMiddle},
			{dream.Integration, "consolidate", provider.HangMiddle},
			{dream.Return, "surface", provider.HangMiddle},
		},
	} {
		there := apart()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, undisturbed, describeDream(t, there, at...))
		})
	}
}

// describeDream runs one dream on a deployment of its own, wakes and resumes it at these moments, and describes all
// of it except times.
func describeDream(t *testing.T, server *temporal.Server, at ...wakeMoment) string {
	t.Helper()
	r := openScene(t, options{server: server})
	agent, err := r.deployment.AddAgent(r.ctx, 1, "same")
	require.NoError(t, err)
	id := first(agent)
	for i, wakeMoment := range at {
		moment := r.await(wakeMoment.fault, id, wakeMoment.phase, wakeMoment.activity)
		if i == 0 {
			r.begin(agent)
		} else {
			r.release(agent)
			r.resume(agent)
		}
		r.receive(moment)
		r.recorded(r.connect(agent))
	}
	if len(at) == 0 {
		r.begin(agent)
	} else {
		r.release(agent)
		r.resume(agent)
	}
	r.requireOutcome(id, dream.Completed)
	r.audit(len(at))
	return r.describe(agent, id)
}

// describe writes out what a dream left behind, without what depends on the clock and without its wakes.
func (r *scene) describe(agent dream.Agent, id string) string {
	r.t.Helper()
	items, err := r.deployment.Store.Find(r.ctx, memory.Query{Agent: agent.ID, Dream: id, Sort: memory.HighestScore})
	require.NoError(r.t, err)
	var kept []dream.Item
	for _, item := range items {
		switch it := item.(type) {
		case *dream.Journal:
			if it.Interrupted {
				continue
			}
		case *dream.Record:
			it.Run = ""
			it.At = time.Time{}
			it.Ended = time.Time{}
			it.Spent = 0
			it.Stretches = 0
			it.Revision = 0
			it.Before = mood.PAD{}
			it.After = mood.PAD{}
			it.Felt = 0
			for i := range it.Phases {
				tally := &it.Phases[i]
				tally.Started, tally.Ended = time.Time{}, time.Time{}
				tally.Spent = 0
				tally.Calls = 0
				tally.Reused = 0
				tally.In = 0
				tally.Out = 0
				tally.Cached = 0
			}
		}
		kept = append(kept, item)
	}
	body, err := json.MarshalIndent(kept, "", " ")
	require.NoError(r.t, err)
	rows, err := r.deployment.Store.Ledger().Rows(r.ctx, spend.Query{Dream: id, States: []spend.State{spend.Settled}})
	require.NoError(r.t, err)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines,
			fmt.Sprintf("%s %s %d in %d out %d", row.Step, row.Model, row.Counted, row.Tokens.In, row.Tokens.Out))
	}
	sort.Strings(lines)
	return fmt.Sprintf("%s\n%s", body, strings.Join(lines, "\n"))
}
