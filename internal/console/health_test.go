package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// rehearsed is a rehearsal for screens.
func rehearsed(e starter.Estimate) starter.Rehearsal {
	return starter.Rehearsal{
		Estimate:  e,
		Seed:      7,
		Review:    dream.ReviewAsk,
		Loosening: hypnagogia.LooseningChoice{Way: "verbalised", Why: "it refuses temperature"},
		Gather: onset.Gathering{
			Episodes:      143,
			Knowledge:     20,
			Pieces:        402,
			Shown:         61,
			WithoutVector: 3,
			Bias:          mood.Broad,
		},
		Depth: &onset.DepthChoice{
			Aim: dream.Depth{Stage: dream.Transitional, Cycles: 2, Surprise: .31, Change: .12},
		},
		Hooks: []activities.HookRule{
			{Name: "guard", At: activities.Borders, Timeout: 5 * time.Second, Silent: activities.SilentAllow},
		},
		Policy: []string{"cap: leverage", "in words: no-advice"},
		Caps: []starter.CapLeft{
			{Scope: "dream", Limit: budget.Dollar / 2, Left: budget.Dollar / 2},
			{Scope: "day:echo/2026-11-20", Limit: 2 * budget.Dollar, Left: 50_000},
			{Scope: "fleet:2026-11-20", Limit: budget.Unlimited, Left: budget.Unlimited},
		},
		Against: []string{"echo is held awake"},
	}
}

// healthy is a fixture with one agent whose dreams match the records.
func healthy(t *testing.T, outcomes ...dream.Outcome) *fixture {
	t.Helper()
	d := newFixture(t)
	require.NoError(t, d.store.PutAgent(t.Context(), dream.Agent{
		ID:      "echo",
		Handle:  "echo",
		Persona: "Echo.",
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: now.AddDate(0, -1, 0),
	}))
	for i, outcome := range outcomes {
		d.dreamt(i+1, now.AddDate(0, 0, i-len(outcomes)), outcome)
	}
	return d
}

// dreamt writes a dream with one fragment, reported and kept when it kept something.
func (d *fixture) dreamt(number int, at time.Time, outcome dream.Outcome) {
	d.Helper()
	id := fmt.Sprintf("dream/echo/%04d", number)
	n := &dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: "echo",
			Kind:  dream.KindRecord,
			At:    at,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Run:     "r",
		Tier:    dream.Hardened,
		Outcome: outcome,
		Ended:   at.Add(time.Minute),
		AsOf:    at,
	}
	w := memory.Write{Agent: "echo", Cause: id, Add: []dream.Item{n}}
	switch outcome {
	case dream.Completed:
		f := &dream.Fragment{Head: dream.Head{
			ID:    id + "/onset/1",
			Agent: "echo",
			Kind:  dream.KindFragment,
			At:    at,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
			Phase: dream.Onset,
		}, Content: "A rope.", Status: dream.FragmentRaw}
		n.Phases = []dream.Tally{{Phase: dream.Onset, State: "ran", Made: 1, Kept: 1}}
		w.Add = append(w.Add, f)
		w.Events = append(w.Events, event.New(id+"/caught", "echo", id, at, event.FragmentCaptured{Fragment: f.ID}))
	case dream.Empty:
		n.Reason = "nothing was worth keeping"
	case dream.Aborted:
		n.Reason = "every call of onset failed: HTTP 500"
	}
	_, err := d.store.Commit(d.Context(), w)
	require.NoError(d, err)
}

// health reads the lines of the output by name.
func (d *fixture) health(code int, args ...string) map[string]string {
	d.Helper()
	require.Equal(d, code, d.run(0, append([]string{"health", "--json"}, args...)...), "%s %s", d.out.String(),
		d.err.String())
	var result struct {
		Lines []struct{ Agent, Name, State, Found string }
		Wrong int
	}
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &result))
	lines := map[string]string{}
	for _, l := range result.Lines {
		lines[l.Name] = l.State + ": " + l.Found
	}
	require.Equal(d, code == exit.Unwell, result.Wrong > 0)
	return lines
}

func TestHealthIsReportedWithAndWithoutTemporal(t *testing.T) {
	t.Parallel()
	d := healthy(t, dream.Empty, dream.Completed)
	for _, width := range []int{80, 200} {
		d.ok(width, "health")
		d.golden(fmt.Sprintf("health-%d", width))
	}
	require.Contains(t, d.health(exit.OK)["temporal"], "look: not checked: no Temporal server is configured")
	d.asleep(&sleeper{}, 0)
	require.Equal(t, "fine: it answers, 127.0.0.1:7233", d.health(exit.OK)["temporal"])
	unknown := newFixture(t)
	require.Equal(t, exit.NotFound, unknown.run(80, "health", "-a", "nobody"))
	unknown.closed = errors.New("the disk is gone")
	require.Equal(t, exit.Unwell, unknown.run(80, "health"))
	unknown.golden("health-store-80")
}

// A dream that ran while the store lost writes may report more than the store has. That is told, and is not wrong.
func TestHealthKnowsWhatALossTook(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	record, err := memory.One[*dream.Record](t.Context(), d.store, "echo", "dream/echo/0001")
	require.NoError(t, err)
	const short = "dream/echo/0001 says that its onset kept 5"
	for name, after := range map[string]time.Duration{"wrong": -48 * time.Hour, "look": 0} {
		at := record.At.Add(after)
		_, err := d.store.ChangeSwept(t.Context(), func(s memory.SweepState) (memory.SweepState, error) {
			s.Continuity.Losses = []memory.Loss{{Since: at.Add(-time.Minute), Last: at, Noticed: at.Add(time.Second)}}
			return s, nil
		})
		require.NoError(t, err)
		require.Contains(t, d.health(exit.Unwell, "-a", "echo")["record"], name+": "+short)
	}
	_, err = d.store.ChangeSwept(t.Context(), func(s memory.SweepState) (memory.SweepState, error) {
		s.Continuity.Losses = nil // an archive was put back, in which they are not
		return s, nil
	})
	require.NoError(t, err)
	require.Contains(t, d.health(exit.Unwell, "-a", "echo")["record"], "wrong: "+short)
	lost := event.New("lost/1", "echo", "", record.At.Add(time.Minute), event.WritesLost{
		Since: record.At.Add(-time.Minute), Last: record.At, Noticed: record.At.Add(time.Second),
	})
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Events: []event.Event{lost}})
	require.NoError(t, err)
	require.Contains(t, d.health(exit.Unwell, "-a", "echo")["record"], "look: "+short, "the agent's log tells of it")
}

// Servers that refuse requests are named, with who holds their places; one that did so within 15 minutes as well.
func TestHealthNamesServersThatAreFull(t *testing.T) {
	t.Parallel()
	d := healthy(t, dream.Completed)
	require.Contains(t, d.health(exit.OK)["overload"], "fine: no server refused requests within 15 minutes")
	report := func(ago time.Duration) {
		_, err := d.store.ChangeSwept(t.Context(), func(s memory.SweepState) (memory.SweepState, error) {
			last := time.Now().Add(-ago)
			s.Overloads = []memory.Overload{{
				Server:   "front/7/abcdef",
				Since:    last.Add(-time.Minute),
				Last:     last,
				Refused:  12,
				Waited:   40,
				Longest:  30 * time.Second,
				Heaviest: []memory.PlaceShare{{Principal: "team", Share: .61}, {Share: .2}},
			}}
			return s, nil
		})
		require.NoError(t, err)
	}
	report(time.Minute)
	const found = "server front/7/abcdef refused 12 of 40 requests that found no place"
	for _, flags := range [][]string{nil, {"--problems"}} {
		line := d.health(exit.Unwell, flags...)["overload"]
		require.Contains(t, line, "wrong: "+found)
		require.Contains(t, line, "the longest wait was 30s")
		require.Contains(t, line, "most places were held by team 61 %, clients without a key 20 %")
	}
	report(5 * time.Minute)
	require.Contains(t, d.health(exit.OK)["overload"], "look: over for now: "+found)
	report(20 * time.Minute)
	require.Contains(t, d.health(exit.OK)["overload"], "fine: ")
}

// What is wrong with the furnished deployment is found: its dream reports more than the store has.
func TestHealthFindsWhatWasReportedAndIsMissing(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().waiting()
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.Unwell, d.run(width, "health", "-a", "echo"))
		d.golden(fmt.Sprintf("health-wrong-%d", width))
	}
	lines := d.health(exit.Unwell, "-a", "echo")
	require.Contains(t, lines["record"], "wrong: dream/echo/0001 says that its onset kept 5, and the store has 4")
	require.Contains(t, lines["money"], "wrong: dream/echo/0001 reports $0.123456 and the ledger has")
	require.Contains(t, lines["reservations"],
		"wrong: $0.03 is set aside for 1 dream, which nobody dreams: dream/echo/0001")
	require.Contains(t, lines["review"], "look: 4 things to be accepted or rejected, 2 held fragments")
}

func TestAReservationOfATalkIsNoDreams(t *testing.T) {
	t.Parallel()
	d := healthy(t, dream.Completed)
	_, err := d.store.Ledger().Reserve(t.Context(), spend.Ask{
		Step:     "talk/echo/1",
		Agent:    "echo",
		Phase:    "talk",
		Model:    "house/small",
		Day:      "2026-11-20",
		Amount:   4000,
		Accounts: []budget.Account{{Scope: "day:echo/2026-11-20", Limit: budget.Dollar}},
		At:       now,
	})
	require.NoError(t, err)
	require.Equal(t, "fine: open only for requests under way", d.health(exit.OK)["reservations"])
	d.dreamt(2, now.Add(-time.Hour), dream.Dreaming)
	_, err = d.store.Ledger().Reserve(t.Context(), spend.Ask{
		Step:     "dream/echo/0002/1",
		Agent:    "echo",
		Dream:    "dream/echo/0002",
		Phase:    "onset",
		Model:    "house/small",
		Day:      "2026-11-20",
		Amount:   4000,
		Accounts: []budget.Account{{Scope: "day:echo/2026-11-20", Limit: budget.Dollar}},
		At:       now,
	})
	require.NoError(t, err)
	require.Contains(t, d.health(exit.OK)["reservations"],
		"fine: open only for requests under way and for 1 dream that goes on by its record")
}

func TestEmptyAndFailedNightsInARowAreAnAlarm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcomes []dream.Outcome
		code     int
		want     string
	}{
		{[]dream.Outcome{dream.Empty, dream.Empty, dream.Completed}, exit.OK, "fine: 1 completed, 2 empty"},
		{
			[]dream.Outcome{dream.Completed, dream.Empty, dream.Empty},
			exit.OK,
			"look: 2 empty, 1 completed; the last 2 kept nothing",
		},
		{
			[]dream.Outcome{dream.Completed, dream.Empty, dream.Empty, dream.Empty},
			exit.Unwell,
			"wrong: 3 empty, 1 completed; the last 3 kept nothing, and dream.empty_alarm is 3: nothing was worth keeping",
		},
		{
			[]dream.Outcome{dream.Empty, dream.Empty, dream.Aborted, dream.Empty, dream.Canceled},
			exit.Unwell,
			"the last 3 kept nothing",
		},
		{
			[]dream.Outcome{dream.Completed, dream.Aborted},
			exit.OK,
			"look: 1 aborted, 1 completed; the last failed: every call of onset failed: HTTP 500",
		},
		{[]dream.Outcome{dream.Aborted, dream.Aborted}, exit.Unwell, "the last 2 failed"},
		{nil, exit.OK, "fine: no dream has ended yet"},
	} {
		d := healthy(t, c.outcomes...)
		require.Contains(t, d.health(c.code)["outcomes"], c.want, c.outcomes)
	}
}

func TestWhatIsOverdueIsFound(t *testing.T) {
	t.Parallel()
	d := healthy(t, dream.Completed)
	a, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	a.Auto, a.Feed = true, "quay"
	require.NoError(t, d.store.PutAgent(t.Context(), a))
	p := &dream.Prediction{
		Head: dream.Head{
			ID:    "p",
			Agent: "echo",
			Kind:  dream.KindPrediction,
			At:    now.AddDate(0, 0, -9),
			State: dream.Live,
		}, Claim: "It calms.",
		Status: dream.PredictionOpen, Horizon: now.Add(-time.Hour),
	}
	removed := event.New("lost", "echo", "dream/echo/0001", now.Add(-time.Hour),
		event.HypothesisStaged{Hypothesis: "dream/echo/0001/h"})
	_, err = d.store.Commit(t.Context(),
		memory.Write{Agent: "echo", Cause: "import", Add: []dream.Item{p}, Events: []event.Event{removed}})
	require.NoError(t, err)
	lines := d.health(exit.Unwell)
	require.Contains(t, lines["dreams"],
		"one was due at 2026-11-19 12:01 and did not begin: no Temporal server runs")
	require.Contains(t, lines["predictions"], "look: 1 open, 1 of them past their time")
	require.Contains(t, lines["feed quay"], "wrong: it is followed, and there is no such feed")
	require.Contains(t, lines["record"],
		"wrong: 1 of the 2 things that dreams reported are not in the store: dream/echo/0001/h")
	require.Contains(t, lines["temporal"], "look: not checked")

	d.dreamt(2, now.Add(-time.Hour), dream.Dreaming)
	require.Contains(t, d.health(exit.Unwell)["dreams"], "fine")
	d.asleep(&sleeper{dead: true}, 0)
	require.Contains(t, d.health(exit.Unwell)["dreams"],
		"wrong: recorded as still dreaming, but no workflow runs it: dream/echo/0002")
	d.movedFrom("default/one", "dream/echo/0002")
	require.Equal(t, "wrong: dream/echo/0002 is recorded as still dreaming on another Temporal cluster, default/one",
		d.health(exit.Unwell)["dreams"])
	require.Equal(t, exit.Unwell, d.run(0, "health"))
	require.Contains(t, strings.Join(strings.Fields(d.out.String()), " "),
		"If that cluster is gone for good, end the dream with oneiros dreams cancel dream/echo/0002 --abandon.")
}

// movedFrom records that a dream was begun on another cluster than the one that is asked.
func (d *fixture) movedFrom(cluster, id string) {
	d.Helper()
	record, err := memory.One[*dream.Record](d.Context(), d.store, "echo", id)
	require.NoError(d, err)
	record.Cluster = cluster
	_, err = d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: "test", Change: []dream.Item{record}})
	require.NoError(d, err)
}

// A dream that was due and never began is found, whatever made it due, and hours that are closed now do not hide it.
func TestADueDreamThatNeverBeganIsFoundWhateverMadeItDue(t *testing.T) {
	t.Parallel()
	nightly := dream.Trigger{Name: "nightly", Kind: dream.OnSchedule, Schedule: "03:30"}
	late := dream.Trigger{Name: "late", Kind: dream.OnSchedule, Schedule: "05:30"}
	full := dream.Trigger{Name: "full", Kind: dream.OnEpisodes, Episodes: 2}
	waiting := &workflows.AgentState{
		State: "sleeping", LastDream: now.AddDate(0, 0, -1),
		Triggering: workflows.Triggering{
			Pending: &triggers.Fire{Trigger: "full", Kind: dream.OnEpisodes, At: now.Add(-9 * time.Hour)},
		},
	}
	tried := *waiting
	tried.LastTry, tried.LastReason = now.Add(-5*time.Hour), "the cap of its day is used up"
	missed := &workflows.AgentState{
		State: "sleeping", LastDream: now.AddDate(0, 0, -1),
		Triggering: workflows.Triggering{
			Appointments: []activities.Appointment{{Trigger: "nightly", At: now.Add(-150 * time.Minute)}},
		},
	}
	new := *missed
	new.Triggering.Appointments = []activities.Appointment{{Trigger: "nightly", At: now.Add(21 * time.Hour)}}
	for name, c := range map[string]struct { // it is six in the morning, and the last dream ended a day ago
		windows    []string
		triggers   []dream.Trigger
		lived      int
		agentState *workflows.AgentState
		want       string
	}{
		"idle, no hours": {
			want: "look: 1 dream within a week; one was due at 2026-11-19 12:01 and did not begin",
		},
		"idle, its hours are over": {
			windows: []string{"02:00-05:00"},
			want:    "look: 1 dream within a week; one was due at 2026-11-20 02:0",
		},
		"idle, its hours have only begun": {
			windows: []string{"05:30-07:00"},
			want:    "fine: 1 dream within a week; the next",
		},
		"idle, its hours have not come since": {
			windows: []string{"thu 05:00-11:00"},
			want:    "fine: 1 dream within a week; the next",
		},
		"only a schedule, whose time has passed": {
			triggers: []dream.Trigger{nightly},
			want:     "look: 1 dream within a week; one was due at 2026-11-20 03:3",
		},
		"only a schedule, whose time has just passed": {
			triggers: []dream.Trigger{late},
			want:     "fine: 1 dream within a week; the next",
		},
		"a schedule that has hours to wait for": {
			triggers: []dream.Trigger{nightly},
			windows:  []string{"05:30-07:00"}, want: "fine: 1 dream within a week; the next",
		},
		"enough has been lived, and nobody noticed": {
			triggers: []dream.Trigger{full}, lived: 3,
			want: "look: 1 dream within a week; one was due at ",
		},
		"not enough has been lived": {
			triggers: []dream.Trigger{full}, lived: 1,
			want: "fine: 1 dream within a week",
		},
		"a call waits, and is not answered": {
			triggers: []dream.Trigger{full}, agentState: waiting,
			want: "look: 1 dream within a week; one was due at 2026-11-19 21:0",
		},
		"a call waits, and was tried in vain": {
			triggers: []dream.Trigger{full}, agentState: &tried,
			want: "fine: 1 dream within a week; the next",
		},
		"an appointment was missed": {
			triggers: []dream.Trigger{nightly}, agentState: missed,
			want: "look: 1 dream within a week; one was due at 2026-11-20 03:3",
		},
		"a schedule of today: its life knows no earlier": {
			triggers: []dream.Trigger{nightly}, agentState: &new,
			want: "fine: 1 dream within a week; the next",
		},
		"no trigger at all": {
			triggers: []dream.Trigger{},
			want:     "fine: 1 dream within a week",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := healthy(t, dream.Completed)
			a, err := d.store.Agent(t.Context(), "echo")
			require.NoError(t, err)
			a.Auto, a.Triggers = true, c.triggers
			require.NoError(t, d.store.PutAgent(t.Context(), a))
			for i := range c.lived {
				_, err := d.store.Commit(t.Context(),
					memory.Write{Agent: "echo", Cause: "import", Add: []dream.Item{&dream.Episode{
						Head: dream.Head{
							ID:    fmt.Sprint("e", i),
							Agent: "echo",
							Kind:  dream.KindEpisode,
							At:    now.Add(-3 * time.Hour),
							State: dream.Live,
							Taint: dream.FromHuman,
						},
						Content: "a day", Salience: .5,
					}}})
				require.NoError(t, err)
			}
			d.windows = c.windows
			if c.agentState != nil {
				c.agentState.Settings = workflows.Settings{
					Auto:        true,
					IdleTimeout: 30 * time.Minute,
					MinGap:      6 * time.Hour,
					Zone:        "UTC",
					Windows:     c.windows,
					Triggers:    c.triggers,
				}
				d.guarded(&porter{agentState: *c.agentState})
			}
			found := d.health(exit.OK)["dreams"]
			require.Contains(t, found, c.want)
			if len(c.triggers) > 0 && strings.HasPrefix(c.want, "look") {
				require.Contains(t, found, " by its trigger "+c.triggers[0].Name+" and did not begin")
			}
		})
	}
}
