package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// telling is a partial that scores 0.2 for its length and 0.2 for its end; drawn memories and affect add to it.
var telling = strings.Repeat("the tide went out over glass and nobody was there to count it, ", 4) +
	"so the keeper slept."

// woken begins a dream, interrupts a call after these words, and wakes the agent.
func (r *rig) woken(n int, ttl time.Duration, words ...string) (activities.Stretch, activities.InterruptRequest) {
	r.t.Helper()
	ctx := context.Background()
	o := r.spec(n, tonight)
	o.ResumeTTL = ttl
	s := r.begin(o)
	for i, text := range words {
		body, err := json.Marshal(core.Snapshot{
			Step:    string(rune('a' + i)),
			Phase:   dream.Onset,
			Partial: text,
			Drawn:   2,
			Began:   tonight,
			Stopped: tonight.Add(time.Second),
		})
		require.NoError(r.t, err)
		_, err = r.store.PutNote(ctx, "a", s.Fence(), memory.LateNote+string(rune('a'+i)), body)
		require.NoError(r.t, err)
	}
	_, err := r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
		Lock:   time.Second,
	})
	require.NoError(r.t, err)
	return s, activities.InterruptRequest{
		Stretch: s,
		Number:  1,
		Phase:   dream.Onset,
		TTL:     ttl,
		Tallies: []dream.Tally{{Phase: dream.Onset, State: "running"}},
	}
}

func (r *rig) count(kind string, into any) int {
	r.t.Helper()
	all, err := r.store.Events(context.Background(), "a", 0, 0)
	require.NoError(r.t, err)
	n := 0
	for _, e := range all {
		if e.Type == kind {
			require.NoError(r.t, json.Unmarshal(e.Data, into))
			n++
		}
	}
	return n
}

func (r *rig) journals() []*dream.Journal {
	items, err := r.store.Find(context.Background(), memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindJournal}})
	require.NoError(r.t, err)
	return memory.As[*dream.Journal](items)
}

// The most significant partial becomes the only entry of the wake, the others are erased, and a repetition changes
// nothing.
func TestAStretchIsRecordedOnceWithItsMostSignificantPartial(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s, request := r.woken(1, time.Hour, "nothing much", telling, telling+" And then again, differently: "+telling)
	at := tonight
	request.Cuts = []activities.CutCall{{
		At:         at,
		Raised:     at.Add(2 * time.Millisecond),
		ReceivedAt: at.Add(3 * time.Millisecond),
		Stopped:    at.Add(5 * time.Millisecond),
		Saved:      at.Add(9 * time.Millisecond),
	}}
	for range 2 {
		paused, err := r.dreamRun().Interrupt(ctx, request)
		require.NoError(t, err)
		require.Equal(t, presence.Connect, paused.Wake.Cause)
		require.Equal(t, int64(1), paused.Wake.Epoch)
		require.NotZero(t, paused.Until)
	}
	var result event.DreamInterrupted
	require.Equal(t, 1, r.count(result.EventType(), &result))
	require.Equal(t, 3, result.Partials)
	require.Equal(t, []float64{2, 3, 4}, []float64{result.Receipt, result.Stop, result.Preserve})
	entries := r.journals()
	require.Len(t, entries, 1)
	require.Equal(t, result.Journal, entries[0].ID)
	require.Contains(t, entries[0].Content, "differently")
	require.True(t, entries[0].Interrupted)
	require.Equal(t, 3*time.Millisecond, entries[0].Wake.Stop)
	require.InDelta(t, result.Significance, entries[0].Significance, 1e-9)
	notes, err := r.store.Notes(ctx, "a", s.Dream, memory.LateNote)
	require.NoError(t, err)
	require.Empty(t, notes, "a partial is kept until it is judged")
	record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
	require.NoError(t, err)
	require.True(t, record.Resumable())
	slots, err := r.store.Slots(ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
	_, err = r.store.Commit(ctx, memory.Write{Agent: "a", Fence: s.Fence(), Events: nil})
	require.ErrorIs(t, err, memory.ErrWoken, "a call that fails now must not end the dream")
}

func TestAnInsignificantPartialIsErased(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, request := r.woken(1, time.Hour, "mm")
	_, err := r.dreamRun().Interrupt(context.Background(), request)
	require.NoError(t, err)
	require.Empty(t, r.journals())
	var result event.DreamInterrupted
	require.Equal(t, 1, r.count(result.EventType(), &result))
	require.Empty(t, result.Journal)
	require.Equal(t, 1, result.Partials)
}

// A signal of any Temporal client may name no epoch: recording the stretch raises it.
func TestRecordingAStretchRaisesAMissingEpoch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	s := r.begin(o)
	paused, err := r.dreamRun().Interrupt(ctx, activities.InterruptRequest{Stretch: s, Number: 1, TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, presence.Operator, paused.Wake.Cause)
	require.Equal(t, int64(1), paused.Wake.Epoch)
	status, err := r.store.Status(ctx, "a", time.Now())
	require.NoError(t, err)
	require.Len(t, status.Leases, 1)
}

// A signal to the dream itself raises the epoch when the stretch is recorded, and holds as long as one to the agent.
func TestAWakeSignalledToTheDreamUsesTheHoldSettings(t *testing.T) {
	t.Parallel()
	holds := &activities.Holds{Alarm: 7 * time.Minute, Client: 3 * time.Minute, Lock: 9 * time.Minute}
	for name, c := range map[string]struct {
		wake  activities.Wake
		holds *activities.Holds
		lease time.Duration
		lock  time.Duration
	}{
		"an alarm":    {activities.Wake{Cause: presence.Alarm}, holds, 7 * time.Minute, 9 * time.Minute},
		"a client":    {activities.Wake{Cause: presence.Connect}, holds, 3 * time.Minute, 9 * time.Minute},
		"an operator": {activities.Wake{}, holds, time.Minute, 9 * time.Minute},
		"an alarm that names a time": {
			activities.Wake{Cause: presence.Alarm, Hold: time.Second},
			holds, time.Second,
			9 * time.Minute,
		},
		"a spec without holds": {activities.Wake{Cause: presence.Alarm}, nil, time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			o := r.spec(1, tonight)
			o.ResumeTTL, o.Holds = time.Hour, c.holds
			s := r.begin(o)
			_, err := r.dreamRun().Interrupt(t.Context(),
				activities.InterruptRequest{Stretch: s, Wake: c.wake, Number: 1, TTL: time.Hour})
			require.NoError(t, err)
			status, err := r.store.Status(t.Context(), "a", tonight)
			require.NoError(t, err)
			require.Len(t, status.Leases, 1)
			lease := status.Leases[0]
			require.Equal(t, c.lease, lease.Until.Sub(lease.Since))
			require.Equal(t, c.lock, status.Lock.Sub(lease.Since))
		})
	}
}

func TestALaterStretchBeginsUnderTheNewEpoch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s, request := r.woken(1, time.Hour)
	_, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	again := activities.BeginRequest{
		Spec:     o,
		Workflow: o.Dream,
		Run:      s.Run,
		Stretch:  2,
		Now:      time.Now(),
		Phase:    dream.NREM,
	}
	_, err = r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    time.Now(),
		For:    time.Hour,
	})
	require.NoError(t, err)
	lain, err := r.dreamRun().Begin(ctx, again)
	require.NoError(t, err)
	require.True(t, lain.Awake, "a client is connected")
	_, err = r.store.Dismiss(ctx, "a", time.Now())
	require.NoError(t, err)
	again.Now = time.Now()
	for range 2 {
		lain, err = r.dreamRun().Begin(ctx, again)
		require.NoError(t, err)
		require.Empty(t, lain.Refused, lain.Reason)
	}
	status, err := r.store.Status(ctx, "a", time.Now())
	require.NoError(t, err)
	require.Equal(t, status.Epoch, lain.Epoch)
	var result event.DreamResumed
	require.Equal(t, 1, r.count(result.EventType(), &result))
	require.Equal(t, event.DreamResumed{Stretch: 2, Phase: dream.NREM, Left: result.Left}, result)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", o.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Dreaming, record.Outcome)
	require.Equal(t, 2, record.Stretches)
}

// A worker may die after it has begun a dream and before it says so; a client may have connected when another begins it
// again.
func TestADreamThatHasBegunIsNotRefusedForAWakeThatCameLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o := r.spec(1, tonight)
	s := r.begin(o)
	first, err := r.dreamRun().Begin(ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: s.Run})
	require.NoError(t, err)
	_, err = r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    time.Now(),
		For:    time.Hour,
	})
	require.NoError(t, err)
	again, err := r.dreamRun().Begin(ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: s.Run})
	require.NoError(t, err)
	require.Equal(t, first, again, "its next step finds the wake and records it")
	record, err := memory.One[*dream.Record](ctx, r.store, "a", o.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Dreaming, record.Outcome)
	slots, err := r.store.Slots(ctx)
	require.NoError(t, err)
	require.Len(t, slots, 1)
}

// A workflow task may be lost after the dream was closed in it. What led to the end is then repeated without the
// dream's notes, and the end that was recorded first stands.
func TestTheEndThatWasRecordedFirstStands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s := r.begin(r.spec(1, tonight))
	mark := activities.Mark{Phase: dream.Onset, Name: "done", State: "done"}
	report := activities.ProgressRequest{Stretch: s, Marks: []activities.Mark{mark}}
	r.finish(s)
	_, err := (&dreamrun.Progress{Ports: r.ports}).Record(ctx, report)
	require.NoError(t, err, "its notes are gone")
	result, err := r.dreamRun().Finish(ctx,
		activities.FinishRequest{Stretch: s, Ending: activities.Ending{Outcome: dream.Aborted, Reason: "a note is gone"}})
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, "the workflow ends as its record says")
	require.Empty(t, result.Reason)
	again, err := r.dreamRun().Finish(ctx,
		activities.FinishRequest{Stretch: s, Ending: activities.Ending{Outcome: dream.Completed, Reason: "a note is gone"}})
	require.NoError(t, err)
	require.Equal(t, dream.Completed, again.Outcome, "also where the outcome is the same and only the reason is not")
	require.Empty(t, again.Reason)
	record, err := memory.One[*dream.Record](ctx, r.store, "a", s.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, record.Outcome)
	var aborted event.DreamAborted
	require.Zero(t, r.count(aborted.EventType(), &aborted))
}

// A worker that was suspended for longer than a workflow task repeats what another one has already done.
func TestAnActivityOfAStretchThatIsOverChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s, request := r.woken(1, time.Hour)
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	lie := func(stretch int) activities.BeginResult {
		result, err := r.dreamRun().Begin(ctx, activities.BeginRequest{
			Spec:     o,
			Workflow: o.Dream,
			Run:      s.Run,
			Stretch:  stretch,
			Now:      time.Now(),
			Phase:    dream.NREM,
		})
		require.NoError(t, err)
		return result
	}
	stands := func(of int, outcome dream.Outcome, held bool) {
		record, err := memory.One[*dream.Record](ctx, r.store, "a", o.Dream)
		require.NoError(t, err)
		require.Equal(t, outcome, record.Outcome)
		require.Equal(t, of, record.Stretches)
		slots, err := r.store.Slots(ctx)
		require.NoError(t, err)
		require.Equal(t, held, len(slots) == 1, slots)
	}
	_, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	_, err = r.store.Dismiss(ctx, "a", time.Now())
	require.NoError(t, err)
	require.Contains(t, lie(1).Reason, "its workflow was reset to a point before it was woken")
	stands(1, dream.Interrupted, false)

	require.Empty(t, lie(2).Refused)
	_, err = r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	require.Equal(t, dream.Interrupted, lie(1).Refused)
	stands(2, dream.Dreaming, true)

	request.Number, request.Epoch = 2, 1
	_, err = r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    time.Now(),
		For:    time.Hour,
	})
	require.NoError(t, err)
	_, err = r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	_, err = r.store.Dismiss(ctx, "a", time.Now())
	require.NoError(t, err)
	require.Equal(t, dream.Interrupted, lie(2).Refused)
	stands(2, dream.Interrupted, false)
	require.Empty(t, lie(3).Refused)
	stands(3, dream.Dreaming, true)
}

func TestADreamWithoutMoneyIsNotResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	_, request := r.woken(1, time.Hour)
	o := r.spec(1, tonight)
	c := core.Call{Phase: dream.Onset, Limit: o.Budget, Step: "all"}
	run := newRun(r.ports, o, activities.Stretch{})
	charge := run.Charge(c, run.Key(c))
	_, err := r.ports.Guard.Ledger.Reserve(ctx, spend.Ask{
		Step:     charge.Step,
		Agent:    "a",
		Dream:    o.Dream,
		Phase:    charge.Phase,
		Model:    "p/w",
		Day:      o.Day,
		Amount:   o.Budget,
		Accounts: charge.Accounts,
		At:       tonight,
	})
	require.NoError(t, err)
	paused, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	require.Zero(t, paused.Until)
	require.Zero(t, paused.Left)
}

// The mood that a wake would leave follows the kept fragments, and is what the interrupted dream leaves.
func TestAConnectLeavesTheMoodOfTheKeptFragments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o := r.spec(1, tonight)
	o.ResumeTTL = time.Hour
	s := r.begin(o)
	joy := &dream.Episode{Head: dream.Head{
		ID:    "joy",
		Agent: "a",
		Kind:  dream.KindEpisode,
		At:    tonight.Add(-time.Hour),
		State: dream.Live,
		Taint: dream.FromHuman,
	}, Content: "joy", Affect: mood.PAD{Pleasure: 1}}
	f := &dream.Fragment{
		Head:    newRun(r.ports, o, activities.Stretch{}).Head(dream.Onset, dream.KindFragment, "1.1", []string{"joy"}),
		Content: "joyful",
		Status:  dream.FragmentRaw,
	}
	_, err := r.store.Commit(ctx, memory.Write{Agent: "a", Cause: "test", Add: []dream.Item{joy}})
	require.NoError(t, err)
	require.NoError(t, core.At(r.ports, s).Write(ctx, memory.Write{Add: []dream.Item{f}}))
	chronicle := dreamrun.Progress{Ports: r.ports}
	_, err = chronicle.Record(ctx,
		activities.ProgressRequest{
			Stretch: s, Now: tonight,
			Marks: []activities.Mark{{Phase: dream.Onset, Name: "cycle-1", State: "running", Dali: &activities.Dali{Cycle: 1}}},
		})
	require.NoError(t, err)
	arrival, err := r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
	})
	require.NoError(t, err)
	require.InDelta(t, o.Knobs.MoodShift, arrival.Affect.Pleasure, 1e-9)
	require.InDelta(t, o.Knobs.MoodShift, arrival.Delta, 1e-9)
}
