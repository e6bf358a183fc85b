package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// hall is one agent's presence, with its leases.
type hall struct {
	presence.Store
	now   presence.Status
	fault error
}

func (h *hall) Status(_ context.Context, agent string, now time.Time) (presence.Status, error) {
	if agent != "echo" {
		return presence.Status{}, h.fault
	}
	s := h.now
	s.Leases = nil
	for _, l := range h.now.Leases {
		if l.Until.After(now) {
			s.Leases = append(s.Leases, l)
		}
	}
	return s, h.fault
}

// porter wakes the agent of a hall.
type porter struct {
	fixture     *fixture
	wake        presence.Wake // the wake found by a connection; its client and cause are the connection's
	again       bool          // the agent was awake already
	worse       string        // what is degraded
	fault       error         // of Wake
	missed      error         // of Recorded
	agentState  workflows.AgentState
	lost        error // of AgentState
	connections []starter.Connection
	stopped     int
	removed     []string // agents whose removal was requested
	left        bool     // a workflow of an agent that is already removed
	unended     string   // why workflows of a removed agent still run
}

func (p *porter) Wake(_ context.Context, k starter.Connection) (starter.WakeResult, error) {
	if p.fault != nil {
		return starter.WakeResult{}, p.fault
	}
	p.connections = append(p.connections, k)
	if k.For == 0 {
		k.For = time.Minute
	}
	if !p.again {
		p.wake.Client, p.wake.Cause = k.Client, k.Cause
	}
	h := &p.fixture.hall.now
	last := p.wake
	h.Epoch, h.Last = last.Epoch, &last
	h.Seen, h.Lock = now, now.Add(5*time.Second)
	h.Leases = append(h.Leases, presence.Lease{Client: k.Client, Cause: k.Cause, Since: now, Until: now.Add(k.For)})
	return starter.WakeResult{Wake: p.wake, Raised: !p.again, Degraded: p.worse, Took: 1240 * time.Microsecond}, nil
}

func (p *porter) Recorded(context.Context, string, int64) (workflows.WakeAnswer, error) {
	return workflows.WakeAnswer{
			Epoch: p.wake.Epoch,
			State: "awake",
			Dream: p.wake.Dream,
			Until: now.Add(8 * time.Hour),
		},
		p.missed
}

func (p *porter) Leave(_ context.Context, _, client string) error {
	var stay []presence.Lease
	for _, l := range p.fixture.hall.now.Leases {
		if l.Client != client {
			stay = append(stay, l)
		}
	}
	p.fixture.hall.now.Leases, p.fixture.hall.now.Lock = stay, now.Add(5*time.Second)
	return p.fault
}

func (p *porter) Sleep(context.Context, string) error {
	p.fixture.hall.now.Leases, p.fixture.hall.now.Lock = nil, time.Time{}
	return p.fault
}

func (p *porter) AgentState(context.Context, string) (workflows.AgentState, error) {
	return p.agentState, p.lost
}

func (p *porter) Remove(ctx context.Context, name string) (starter.RemovalResult, error) {
	p.removed = append(p.removed, name)
	a, err := p.fixture.store.Agent(ctx, name)
	if errors.Is(err, memory.ErrRemoved) && p.left {
		return starter.RemovalResult{Agent: name, Ended: []string{workflows.AgentID(name)}, Earlier: true}, nil
	}
	if err != nil {
		return starter.RemovalResult{}, err
	}
	dropped, err := p.fixture.store.DropAgent(ctx, a.ID, now)
	ended := []string{workflows.AgentID(a.Handle)}
	return starter.RemovalResult{RemovalResult: dropped, Agent: a.Handle, Ended: ended, Running: p.unended}, err
}

func (p *porter) Stop() error { p.stopped++; return nil }

// guarded gives a fixture a waker.
func (d *fixture) guarded(p *porter) *fixture {
	p.fixture = d
	d.dream.Waker = func(context.Context, *deploy.Deployment) (deploy.Waker, error) { return p, nil }
	return d
}

// woken is a connection during a dream of echo with two entries for the digest, one of them too slight.
func (d *fixture) woken() presence.Wake {
	d.Helper()
	slight := &dream.Journal{
		Head: head(dream.KindJournal, dreamID+"/j2", now, true), Content: "Trifles.",
		Significance: .2,
	}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: dreamID, Add: []dream.Item{slight}})
	require.NoError(d, err)
	return presence.Wake{
		Agent:  "echo",
		Epoch:  3,
		At:     now,
		Dream:  "dream/echo/0002",
		Affect: mood.PAD{Pleasure: .21, Arousal: .34, Dominance: -.1},
		Delta:  .05,
		Digest: []string{dreamID + "/j1", dreamID + "/j2"},
	}
}

// interrupt adds a second dream of echo that was interrupted, with its events.
func (d *fixture) interrupt(until time.Time) *dream.Record {
	d.Helper()
	id := "dream/echo/0002"
	n := &dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: "echo",
			Kind:  dream.KindRecord,
			At:    now.Add(-time.Minute),
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Run:       "r2",
		Tier:      dream.Hardened,
		Budget:    500_000,
		Outcome:   dream.Interrupted,
		Reason:    "somebody connected",
		Ended:     now.Add(-time.Second),
		Until:     until,
		Stretches: 1,
		Phases: []dream.Tally{{
			Phase:  dream.Onset,
			State:  "stopped",
			Calls:  5,
			Spent:  12_000,
			Cap:    50_000,
			Made:   4,
			Kept:   3,
			Cycles: 1,
		}},
	}
	tell := func(i int, p event.Payload) event.Event {
		return event.New(
			fmt.Sprintf("%s/%d", id, i),
			"echo",
			id,
			now.Add(time.Duration(i)*time.Second-time.Minute),
			p,
		)
	}
	_, err := d.store.Commit(d.Context(),
		memory.Write{Agent: "echo", Cause: id, Add: []dream.Item{n}, Events: []event.Event{
			tell(1, event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: 500_000}),
			tell(2, event.Spent{Tally: dream.Tally{
				Phase:  dream.Onset,
				State:  "running",
				Calls:  5,
				Spent:  12_000,
				Cap:    50_000,
				Made:   4,
				Kept:   3,
				Cycles: 1,
			}}),
			tell(3, event.DreamInterrupted{
				Cause:    "connect",
				Epoch:    3,
				Stretch:  1,
				Phase:    dream.Onset,
				Cycle:    1,
				Receipt:  .62,
				Stop:     1.1,
				Preserve: 1.44,
				Switch:   6.2,
				Partials: 2,
				Until:    until,
			}),
			event.New("awake/3", "echo", id, now, event.AgentAwake{Epoch: 3, Cause: "connect", Dream: id}),
		}})
	require.NoError(d, err)
	return n
}

// goOn resumes that dream and ends it.
func (d *fixture) goOn(n *dream.Record) {
	d.Helper()
	fresh, err := memory.One[*dream.Record](d.Context(), d.store, "echo", n.ID)
	require.NoError(d, err)
	fresh.Outcome, fresh.Reason, fresh.Stretches = dream.Completed, "", 2
	fresh.Until, fresh.Ended = time.Time{}, now.Add(time.Minute)
	_, err = d.store.Commit(d.Context(),
		memory.Write{Agent: "echo", Cause: n.ID, Change: []dream.Item{fresh}, Events: []event.Event{
			event.New("asleep", "echo", "", now, event.AgentAsleep{Epoch: 3}),
			event.New(n.ID+"/again", "echo", n.ID, now,
				event.DreamResumed{Stretch: 2, Phase: dream.Onset, Left: 488_000}),
			event.New(n.ID+"/end", "echo", n.ID, now.Add(time.Minute),
				event.DreamEnded{Outcome: dream.Completed, Kept: 3}),
		}})
	require.NoError(d, err)
}

func TestAConnectIsAnsweredAtOnceWithWhatItMayGoOnWith(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		d := newFixture(t).furnish()
		p := &porter{wake: d.woken()}
		d.guarded(p)
		require.Equal(t, exit.OK, d.run(width, "wake", "-a", "echo", "--for", "5m"), d.err.String())
		d.golden(fmt.Sprintf("wake-%d", width))
		require.Equal(
			t,
			[]starter.Connection{
				{Agent: "echo", Client: "operator", Cause: presence.Connect, For: 5 * time.Minute},
			},
			p.connections,
		)
		require.Equal(t, 1, p.stopped)
	}
}

// With --wait it reports the four phases of the wake.
func TestAConnectThatWaitsReportsTheFourPhases(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		d := newFixture(t).furnish()
		p := &porter{wake: d.woken()}
		d.guarded(p).interrupt(now.Add(8 * time.Hour))
		require.Equal(t, exit.OK,
			d.run(width, "wake", "-a", "echo", "--client", "mara", "--digest", "header", "--wait"), d.err.String())
		d.golden(fmt.Sprintf("wake-wait-%d", width))
		require.Equal(t, presence.Connect, p.connections[0].Cause)
		p.missed = context.DeadlineExceeded
		require.Equal(t, exit.Unreachable, d.run(width, "wake", "-a", "echo", "--wait"))
		require.Contains(
			t,
			d.err.String(),
			"echo is awake, but Temporal has not recorded it yet: context deadline exceeded; it will when a worker runs (oneiros up)",
		)
	}
}

func TestAConnectIsOneJSONDocument(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.guarded(&porter{wake: d.woken()}).interrupt(now.Add(8 * time.Hour))
	require.Equal(t, exit.OK, d.run(0, "wake", "-a", "echo", "--wait", "--json"), d.err.String())
	d.golden("wake-json")
}

// A digest is as long as is wanted and allowed, labelled and quoted.
func TestADigestIsAsLongAsIsWantedAndNeverTellsWhatIsPrivate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deployment, flag string
		private          bool
		text, untold     string
		label, header    bool
	}{
		{text: "> I dreamt of rope, and of what rope has forgotten.", untold: "Trifles", label: true},
		{flag: "header", text: "dream, unverified; entries=1; significance=0.41", untold: "rope", label: true},
		{deployment: "header", text: "entries=1", untold: "rope", label: true},
		{deployment: "off", text: "awake", untold: "dream, unverified"},
		{deployment: "off", flag: "message", text: "> I dreamt of rope", label: true},
		{private: true, flag: "message", text: "kept private (agent.private)", untold: "rope"},
	} {
		d := newFixture(t).furnish()
		d.digest, d.private = c.deployment, c.private
		p := &porter{wake: d.woken()}
		p.wake.Dream = ""
		args := []string{"wake", "-a", "echo"}
		if c.flag != "" {
			args = append(args, "--digest", c.flag)
		}
		require.Equal(t, exit.OK, d.guarded(p).run(0, args...), d.err.String())
		require.Contains(t, d.out.String(), c.text)
		if c.untold != "" {
			require.NotContains(t, d.out.String(), c.untold)
		}
		require.Equal(t, exit.OK, d.run(0, append(args, "--json")...))
		require.Equal(t, c.label, strings.Contains(d.out.String(), `"label": "dream, unverified"`))
	}
}

// Where nothing of dreams is shown, the ids of the digest's items are not shown either, and so not their number.
func TestWhereNothingOfDreamsIsShownNothingCountsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		private bool
		args    string
	}{
		{true, "wake -a echo --json --wait"},
		{true, "wake -a echo --json --digest message"},
		{true, "alarm -a echo --json"},
		{true, "sleep -a echo --json"},
		{true, "agents show echo --json"},
		{false, "wake -a echo --json --digest off"},
		{false, "alarm -a echo --json"},
	} {
		d := newFixture(t).furnish()
		d.private = c.private
		p := &porter{wake: d.woken()}
		last := p.wake
		d.hall.now = presence.Status{Epoch: 3, Last: &last}
		require.Equal(t, exit.OK, d.guarded(p).run(0, strings.Fields(c.args)...), d.err.String())
		require.NotContains(t, d.out.String(), "/j1", c.args)
		require.Contains(t, d.out.String(), `"digest": []`, c.args)
	}
}

// An alarm holds a sleeping agent and does not wake it.
func TestAnAlarmOverASleeperSaysThatItSleeps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client  presence.Cause
		missed  error
		code    int
		want    string
		sleeps  bool
		waits   bool
		dreamed string
	}{
		{want: "echo sleeps, and no dream begins before 06:01:00", sleeps: true},
		{want: "echo sleeps, and no dream begins before 06:01:00", sleeps: true, waits: true},
		{
			want:   "echo sleeps, and no dream begins before 06:01:00, but Temporal has not",
			sleeps: true,
			waits:  true,
			missed: context.DeadlineExceeded,
			code:   exit.Unreachable,
		},
		{want: "since 06:00:00", client: presence.Connect},
		{want: "since 06:00:00", dreamed: "dream/echo/0002"},
	} {
		d := newFixture(t).furnish()
		p := &porter{wake: d.woken(), missed: c.missed}
		p.wake.Digest, p.wake.Delta, p.wake.Dream = nil, 0, c.dreamed
		if c.client != "" {
			d.hall.now.Leases = []presence.Lease{{Client: "mara", Cause: c.client, Until: now.Add(time.Minute)}}
		}
		args := []string{"alarm", "-a", "echo"}
		if c.waits {
			args = append(args, "--wait")
		}
		require.Equal(t, c.code, d.guarded(p).run(0, args...))
		require.Contains(t, d.out.String()+d.err.String(), c.want)
		require.Equal(t, !c.sleeps, strings.Contains(d.out.String(), "woken by"))
		d.run(0, append(args, "--json")...)
		var result struct{ State, Sleeps string }
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
		require.Equal(t, map[bool]string{true: "sleeping", false: "awake"}[c.sleeps], result.State)
		require.Equal(t, c.sleeps, result.Sleeps != "")
	}
}

// A connection is answered although the store does not open.
func TestAStoreThatDoesNotOpenIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.stuck = make(chan struct{})
	defer close(d.stuck)
	for _, line := range []string{"wake -a echo", "alarm -a echo", "sleep -a echo"} {
		require.Equal(t, exit.Unreachable, d.run(0, strings.Fields(line)...), line)
		require.Contains(t, d.err.String(),
			"the store has not opened within 600ms; nobody was woken or let sleep, try again")
	}
}

func TestAConnectAtAnAgentThatIsAwakeSaysWhoWokeIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	p := &porter{wake: d.woken(), again: true}
	p.wake.Client, p.wake.Cause = "mara", presence.Connect
	p.wake.At = now.Add(-25 * time.Hour)
	p.wake.Dream, p.wake.Digest = "", nil
	require.Equal(t, exit.OK, d.guarded(p).run(0, "wake", "-a", "echo"), d.err.String())
	require.Contains(t, d.out.String(),
		"since 2026-11-19 05:00:00, epoch 3, woken by mara (connect) before this request, which\n")
	require.Contains(t, d.out.String(), "nothing; it only slept")
	require.Contains(t, d.out.String(), "nothing new worth telling")
}

// A client is answered whatever is broken, except the store.
func TestWithoutTemporalAConnectIsAnsweredAndWithoutTheStoreItIsNot(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	p := &porter{wake: d.woken(), worse: "Temporal does not answer; a worker records this wake when it does."}
	require.Equal(t, exit.OK, d.guarded(p).run(0, "wake", "-a", "echo"))
	require.Contains(t, d.err.String(), "a worker records this wake when it does")
	p.worse, p.missed = "", context.DeadlineExceeded
	require.Equal(t, exit.OK, d.guarded(p).run(0, "wake", "-a", "echo"))
	require.Contains(t, d.err.String(),
		"Temporal does not answer: the wake is recorded by the next worker that reaches it.")
	p.missed = deploy.ErrNoWorker
	require.Equal(t, exit.OK, d.guarded(p).run(0, "wake", "-a", "echo"))
	require.Contains(t, d.err.String(),
		"No worker has answered yet: the wake is recorded by the next one that runs.")
	p.fault = errors.New("the disk is gone")
	for _, line := range []string{"wake -a echo", "alarm -a echo", "sleep -a echo"} {
		require.Equal(t, exit.Unreachable, d.run(0, strings.Fields(line)...), line)
		require.Contains(t, d.err.String(), "the disk is gone")
	}
	d.hall.fault = errors.New("the disk is gone")
	require.Equal(t, exit.Unreachable, d.run(0, "sleep", "-a", "echo"))
	d.closed = &fs.PathError{Op: "open", Path: "oneiros.db", Err: fs.ErrPermission}
	require.Equal(t, exit.Unreachable, d.run(0, "wake", "-a", "echo"))
	require.Equal(t, exit.Failure, d.run(0, "agents", "list"), "of other commands it is a failure like any")
}

func TestAConnectNamesWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().guarded(&porter{})
	for line, why := range map[string]string{
		"wake -a echo --for 0s":                                     "--for 0s must be between 1s and 30d, as in 5m",
		"wake -a echo --for 999ms":                                  "must be between 1s and 30d",
		"wake -a echo --for 31d":                                    "must be between 1s and 30d",
		"wake -a echo --for 5":                                      "such as 90s, 30m, 12h or 7d",
		"wake -a echo --client=":                                    `--client "" is empty`,
		"sleep -a echo --client=":                                   `--client "" is empty`,
		"wake -a echo --digest loud":                                "--digest loud must be one of off, header, message",
		"alarm -a echo --trigger a/b/c":                             "--trigger \"a/b/c\" must be a name",
		"wake -a echo --client " + strings.Repeat("long", 100):      "at most 100 bytes",
		"alarm -a echo --trigger x" + strings.Repeat("y", 200) + "": "at most 100 bytes",
	} {
		require.Equal(t, exit.Usage, d.run(0, strings.Fields(line)...), line)
		require.Contains(t, d.err.String(), why)
	}
	require.Equal(t, exit.NotFound, d.run(0, "wake", "-a", "nobody"))
	require.Equal(t, exit.Usage, d.run(0, "wake"), "there are two agents")
}

func TestAnAlarmIsRaisedByHandAndLeavesTheMood(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	p := &porter{wake: d.woken()}
	p.wake.Digest, p.wake.Delta = nil, 0
	require.Equal(t, exit.OK, d.guarded(p).run(80, "alarm", "-a", "echo", "--trigger", "harbour/price"),
		d.err.String())
	d.golden("alarm-80")
	require.Equal(t,
		[]starter.Connection{
			{Agent: "echo", Client: "alarm/harbour/price", Cause: presence.Alarm, Trigger: "harbour/price"},
		}, p.connections)
}

func TestAnAgentMaySleepUnlessAClientIsConnected(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	p := &porter{}
	p.agentState = workflows.AgentState{
		State: "awake", LastActive: now,
		Settings: workflows.Settings{ResumeAfter: 5 * time.Minute},
	}
	d.guarded(p).interrupt(now.Add(time.Hour))
	p.lost = errors.New("away")
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo"))
	require.Contains(t, d.err.String(), "goes on after 5m of quiet, up to 1m later (agent.jitter); at once")
	p.lost, p.stopped = nil, 0
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo"))
	require.Contains(t, d.out.String(), "Nobody held echo awake.")
	require.Equal(t, 1, p.stopped, "only its life is asked, and that once")

	lease := func(client string, cause presence.Cause) presence.Lease {
		return presence.Lease{Client: client, Cause: cause, Since: now, Until: now.Add(5 * time.Minute)}
	}
	d.hall.now = presence.Status{
		Epoch:  3,
		Leases: []presence.Lease{lease("mara", presence.Connect), lease("operator", presence.Connect)},
		Lock:   now.Add(5 * time.Second),
	}
	require.Equal(t, exit.Refused, d.run(0, "sleep", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"echo is held awake by mara (connect) until 06:05:00; --force ends that too",
	)
	require.Equal(t, exit.NotFound, d.run(0, "sleep", "-a", "echo", "--client", "nobody"))
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo", "--client", "mara"))
	require.Contains(t, d.out.String(), "echo stays awake, held by operator (connect) until 06:05:00.")
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo", "--client", "operator"))
	require.Contains(t, d.out.String(), "The wake lock lasts: no dream begins before 06:00:05.")
	require.Contains(
		t,
		d.err.String(),
		"Dream dream/echo/0002 was interrupted and goes on at 06:05:00 or later, if nobody comes until then; at once with oneiros dreams resume dream/echo/0002",
	)
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo"))
	require.Contains(t, d.out.String(), "echo may sleep")
	d.hall.now.Leases = []presence.Lease{lease("mara", presence.Connect)}
	require.Equal(t, exit.OK, d.run(0, "sleep", "-a", "echo", "--force", "--json"))
	var result struct{ Awake bool }
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.False(t, result.Awake)
}
