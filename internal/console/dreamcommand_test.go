package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// sleeper is an engine whose dreams end at once: it writes what a dream writes.
type sleeper struct {
	fixture  *fixture
	outcome  dream.Outcome
	dead     bool   // the dream stops without an end
	refuse   error  // of Begin
	fault    error  // of Running
	missing  error  // of Cancel
	going    func() // called when Running is
	failed   chan error
	begun    []starter.DreamRequest
	ended    []string
	pushed   []dream.Reading
	resumed  []string
	onResume func() // called by Resume
	stopped  int
	settled  []dream.Agent
	calls    []triggers.Fire
	again    starter.RedreamRequest
}

func (s *sleeper) Workflows() deploy.Workflows { return s }
func (s *sleeper) Places() []deploy.Place {
	return []deploy.Place{
		{Name: "temporal", Where: "127.0.0.1:7233"},
		{Name: "worker", Where: "task queue oneiros"},
	}
}
func (s *sleeper) Ended() <-chan error { return s.failed }
func (s *sleeper) Stop() error         { s.stopped++; return nil }

func (s *sleeper) Begin(ctx context.Context, w starter.DreamRequest) (workflows.StartedDream, error) {
	if s.refuse != nil {
		return workflows.StartedDream{}, s.refuse
	}
	s.begun = append(s.begun, w)
	id := fmt.Sprintf("dream/echo/%04d", 1+len(s.begun))
	record := &dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: "echo",
			Kind:  dream.KindRecord,
			At:    now,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Tier:    dream.Hardened,
		Budget:  budget.Dollar / 2,
		Outcome: s.outcome,
		Ended:   now.Add(2 * time.Second),
		Models:  []string{"generator=builtin/associative"},
	}
	announce := func(n int, p event.Payload) event.Event {
		return event.New(fmt.Sprintf("%s/%d", id, n), "echo", id, now.Add(time.Duration(n)*time.Second), p)
	}
	events := []event.Event{
		announce(1, event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: budget.Dollar / 2}),
		announce(2, event.DaliInterrupt{Cycle: 1, Captured: 3, Partials: 4, Temperature: 1.5}),
		announce(3, event.Spent{Tally: dream.Tally{
			Phase:  dream.Onset,
			State:  "running",
			Calls:  5,
			Spent:  12_000,
			Cap:    50_000,
			Made:   4,
			Kept:   3,
			Cycles: 1,
		}}),
	}
	if s.dead {
		record.Outcome = dream.Dreaming
	} else {
		events = append(events, announce(4, event.DreamEnded{Outcome: s.outcome, Kept: 3}))
	}
	_, err := s.fixture.store.Commit(ctx,
		memory.Write{Agent: "echo", Cause: id, Add: []dream.Item{record}, Events: events})
	return workflows.StartedDream{Dream: id}, err
}

func (s *sleeper) Cancel(_ context.Context, id string) error {
	s.ended = append(s.ended, id)
	return s.missing
}

func (s *sleeper) ClusterID() string { return "default/two" }

func (s *sleeper) EnsureWorkflow(_ context.Context, a dream.Agent) error {
	s.settled = append(s.settled, a)
	return nil
}

func (s *sleeper) Call(_ context.Context, _ dream.Agent, f triggers.Fire) error {
	s.calls = append(s.calls, f)
	return nil
}

func (s *sleeper) Redream(_ context.Context, w starter.RedreamRequest) (workflows.StartedDream, error) {
	s.again = w
	return workflows.StartedDream{Dream: "dream/echo/0042"}, s.refuse
}

// Resume continues the newest dream that waits to be resumed.
func (s *sleeper) Resume(ctx context.Context, agent string) (workflows.StartedDream, error) {
	if s.refuse != nil {
		return workflows.StartedDream{}, s.refuse
	}
	found, err := s.fixture.store.Find(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}})
	for _, record := range memory.As[*dream.Record](found) {
		if record.Resumable() {
			s.resumed = append(s.resumed, record.ID)
			if s.onResume != nil {
				s.onResume()
			}
			return workflows.StartedDream{Dream: record.ID}, err
		}
	}
	return workflows.StartedDream{}, errors.Join(starter.ErrNothing, err)
}

func (s *sleeper) Running(context.Context, string) (bool, error) {
	if s.going != nil {
		s.going()
		s.going = nil
	}
	return !s.dead, s.fault
}

// asleep connects a fixture to Temporal.
func (d *fixture) asleep(s *sleeper, expected budget.Micros) *fixture {
	s.fixture, s.failed = d, make(chan error, 1)
	reach := func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return s, nil }
	up := func(context.Context, *deploy.Deployment, func(string, ...any)) (deploy.Engine, error) {
		return s, nil
	}
	d.dream = engines{
		Reach: reach,
		Work:  reach,
		Up:    up,
		Here:  up,
		Serve: up,
		Estimate: func(_ context.Context, w starter.DreamRequest) (starter.Estimate, error) {
			return starter.Estimate{
				Agent:    w.Agent,
				Tier:     dream.Hardened,
				Free:     expected == 0,
				Calls:    27,
				Expected: expected,
				Worst:    3 * expected,
				Cap:      budget.Dollar / 2,
				Models: map[dream.Role]string{
					dream.Generator: "builtin/associative",
					dream.Embedder:  "builtin/lexical",
				},
				Phases: []starter.PhaseEstimate{{
					Phase:    dream.Onset,
					Calls:    26,
					Expected: expected,
					Worst:    2 * expected,
					Cap:      budget.Dollar / 20,
				}, {Phase: dream.NREM, Calls: 1, Cap: budget.Dollar / 4}},
			}, nil
		},
	}
	return d
}

func TestADreamIsWatchedToItsReportAndItsOutcomeIsTheExitCode(t *testing.T) {
	t.Parallel()
	for outcome, code := range map[dream.Outcome]int{
		dream.Completed: exit.OK, dream.Empty: exit.Unfinished, dream.Exhausted: exit.Unfinished,
		dream.Aborted: exit.Unfinished, dream.Canceled: exit.Unfinished,
	} {
		s := &sleeper{outcome: outcome}
		d := newFixture(t).furnish().asleep(s, 0)
		require.Equal(t, code,
			d.run(0, "dream", "-a", "echo", "--watch", "--theme", "rope", "--tier", "core", "--budget", "$0.10",
				"--seed", "0x10"), d.err.String())
		require.Contains(t, d.out.String(), "Dali 1")
		require.Contains(t, d.out.String(), "dream/echo/0002")
		require.NotContains(t, d.out.String(), "A rope remembers", "the night before is not this one")
		require.Equal(t, 1, s.stopped)
		require.Equal(t, "rope", s.begun[0].Theme)
		require.Equal(t, dream.Core, s.begun[0].Tier)
		require.EqualValues(t, 100_000, *s.begun[0].Budget)
		require.EqualValues(t, 16, *s.begun[0].Seed)
	}
}

func TestWatchingAsJSONGivesALineAnEventAndThenTheReport(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{outcome: dream.Completed}, 0)
	require.Equal(t, exit.OK, d.run(0, "dream", "-a", "echo", "--watch", "--json"), d.err.String())
	lines := strings.Split(strings.TrimSpace(d.out.String()), "\n")
	require.Len(t, lines, 5)
	for i, line := range lines {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object))
		require.Equal(t, i == 4, object["report"] != nil)
	}
	require.Empty(t, d.err.String())
}

func TestOnATerminalTheTimelineIsRedrawnInPlace(t *testing.T) {
	t.Parallel()
	s := &sleeper{dead: true}
	d := newFixture(t).furnish().asleep(s, 0)
	d.terminal = true
	require.Equal(t, exit.Unfinished, d.run(80, "dream", "-a", "echo", "--watch"))
	require.Contains(t, d.out.String(), "ONSET")
	require.Contains(t, d.out.String(), "$0.012 / $0.05")
	require.Contains(t, d.out.String(), "\x1b[4A\x1b[J", "what was drawn is taken off again")
	require.Equal(t, 1, strings.Count(d.out.String(), "A\x1b[J"),
		"and only then: every other drawing is written over the last")
	require.Contains(t, flat(d.err.String()), "stopped without an end: its workflow was terminated or timed out")
}

func TestAPaidDreamIsBegunOnlyWithConsent(t *testing.T) {
	t.Parallel()
	s := &sleeper{outcome: dream.Completed}
	d := newFixture(t).furnish().asleep(s, 40_000)
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"), "nobody is there to ask")
	require.Contains(t, d.err.String(), "may cost about $0.04 and never more than $0.50; add --yes to agree")
	d.terminal = true
	for answer, begun := range map[string]int{"\n": 0, "no\n": 0, "": 0, "y\n": 1} {
		d.in = answer
		d.run(80, "dream", "-a", "echo")
		require.Len(t, s.begun, begun, "%q: %s", answer, d.err.String())
		require.Contains(t, d.err.String(), "This dream of echo is paid for. Go on? [y/N] ",
			"what it costs stands above")
		s.begun = nil
	}
	require.Equal(t, exit.OK, d.run(0, "dream", "-a", "echo", "--yes", "--json"))
	require.JSONEq(t, `{"agent":"echo","dream":"dream/echo/0002"}`, d.out.String())
}

func TestThePriceIsShownBeforeAnythingIsSpent(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 40_000)
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "dream", "-a", "echo", "--estimate"))
		d.golden(fmt.Sprintf("estimate-%d", width))
	}
	d.asleep(s, 0)
	require.Equal(t, exit.OK, d.run(80, "dream", "-a", "echo", "--estimate"))
	d.golden("estimate-free-80")
	require.Empty(t, s.begun)
}

func TestWhatRunsIsListedAndStoppedWhenAPartOfItEnds(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	s.failed <- errors.New("the server fell over")
	require.Equal(t, exit.Failure, d.run(80, "up"))
	require.Contains(t, d.out.String(), "temporal  127.0.0.1:7233\nworker    task queue oneiros\n")
	require.Contains(t, d.err.String(), "a part of it did: the server fell over")
	require.Contains(t, d.err.String(), "Ctrl-C stops it; dreams under way go on next time.")
	require.Equal(t, 1, s.stopped)
	s.failed <- errors.New("its listener closed")
	require.Equal(t, exit.Failure, d.run(80, "serve"))
	require.Contains(
		t,
		d.err.String(),
		"Ctrl-C stops it, once answers under way have ended.",
		"it works on no dream",
	)
}

func TestADreamIsCancelledByItsNumber(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	s.dead = true
	begun, err := s.Begin(t.Context(), starter.DreamRequest{})
	require.NoError(t, err)
	id := begun.Dream
	require.Equal(t, exit.OK, d.run(80, "dreams", "cancel", "2", "-a", "echo"), d.err.String())
	require.Equal(t, []string{id}, s.ended)
	s.missing = memory.ErrNotFound
	require.Equal(t, exit.NotFound, d.run(80, "dreams", "cancel", "2", "-a", "echo"))
	require.Contains(t, d.err.String(), "a worker closes it within five minutes, and oneiros dreams cancel "+id+
		" --abandon at once")
	d.movedFrom("default/one", id)
	require.Equal(t, exit.NotFound, d.run(80, "dreams", "cancel", "2", "-a", "echo"))
	require.Contains(t, d.err.String(), "it was begun on another Temporal cluster, default/one: if that one is gone "+
		"for good, end the dream with oneiros dreams cancel "+id+" --abandon")
	require.Equal(t, exit.Refused, d.run(80, "dreams", "cancel", "2", "-a", "echo", "--abandon"), "it asks")
	require.Equal(t, exit.OK, d.run(80, "dreams", "list", "-a", "echo"))
	require.Regexp(t, `0002 +2026-11-20 06:00 .*dreaming +- +- +-`, d.out.String(), "its books are not closed")
	require.Equal(t, exit.NotFound, d.run(80, "dreams", "cancel", "1", "-a", "echo"))
	require.Contains(t, d.err.String(), "dream "+dreamID+" does not go on: it ended completed")
	require.Equal(t, exit.OK, d.run(80, "watch", "1", "-a", "echo"), "a dream that is over is reported")
	require.Contains(t, d.out.String(), "A rope remembers")
	require.Equal(t, exit.OK, d.run(80, "help", "exit-codes"))
	require.Contains(t, d.out.String(), "6  the dream ended empty")
}

func TestAnInterruptedDreamIsResumedWithoutAnotherWorker(t *testing.T) {
	t.Parallel()
	s := &sleeper{outcome: dream.Completed}
	d := newFixture(t).furnish().asleep(s, 0)
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return nil, deploy.ErrNoServer }
	s.dead = true
	begun, err := s.Begin(t.Context(), starter.DreamRequest{})
	require.NoError(t, err)
	id := begun.Dream
	s.dead, s.begun = false, nil
	s.going = func() {
		record, err := memory.One[*dream.Record](t.Context(), d.store, "echo", id)
		require.NoError(t, err)
		record.Outcome = dream.Completed
		_, err = d.store.Commit(t.Context(),
			memory.Write{Agent: "echo", Cause: id, Change: []dream.Item{record}, Events: []event.Event{
				event.New("end", "echo", id, now, event.DreamEnded{Outcome: dream.Completed, Kept: 3}),
			}})
		require.NoError(t, err)
	}
	require.Equal(t, exit.OK, d.run(0, "dream", "-a", "echo"), d.err.String())
	require.Contains(t, d.err.String(), "echo is already dreaming "+id+": it goes on.")
	require.Contains(t, d.out.String(), "Dali 1")
	require.Empty(t, s.begun, "no other dream is begun")
}

func TestARefusalToDreamTwiceSaysHowToWatchAndHowToEndTheOther(t *testing.T) {
	t.Parallel()
	s := &sleeper{dead: true}
	d := newFixture(t).furnish().asleep(s, 0)
	begun, err := s.Begin(t.Context(), starter.DreamRequest{})
	require.NoError(t, err)
	id := begun.Dream
	s.dead, s.refuse = false, fmt.Errorf("echo: %w %s", starter.ErrDreaming, id)
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"watch it with oneiros watch "+id+", or end it with oneiros dreams cancel "+id,
	)
}

func TestAWatchThatLosesTemporalSaysSoAndHowTheDreamGoesOn(t *testing.T) {
	t.Parallel()
	for _, lose := range []func(*sleeper){
		func(s *sleeper) { s.fault = errors.New("connection refused") },
		func(s *sleeper) { s.failed <- errors.New("connection refused") },
	} {
		s := &sleeper{dead: true}
		d := newFixture(t).furnish().asleep(s, 0)
		lose(s)
		require.Equal(t, exit.Unreachable, d.run(0, "dream", "-a", "echo", "--watch"))
		require.Contains(t, d.err.String(), "Temporal is gone: connection refused")
		require.Contains(
			t,
			d.err.String(),
			"is kept, and it goes on when Temporal and a worker run again (oneiros up)",
		)
	}
}

func TestAnInterruptedDreamIsMentionedBeforeAPriceIsAgreed(t *testing.T) {
	t.Parallel()
	s := &sleeper{outcome: dream.Completed}
	d := newFixture(t).furnish().asleep(s, 40_000)
	d.terminal, d.in = true, "no\n"
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	require.NotContains(t, d.err.String(), "is not over")
	d.fall(descending...)
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"dream/echo/0002 is not over: where no oneiros up carries dreams, that one goes on with what is left of its own cap, and no other is begun.",
	)
	require.Empty(t, s.begun)
}

func TestTheLastDreamIsShownWhenNoneIsNamed(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(80, "dreams", "show", "last", "-a", "echo")
	last := d.out.String()
	d.ok(80, "dreams", "show", "-a", "echo")
	require.Equal(t, last, d.out.String())
	require.Equal(t, exit.NotFound, d.run(80, "scenarios", "show", "-a", "tally"))
	require.Contains(t, d.err.String(), "tally has not dreamt yet")
}

func TestWatchedThroughAPipeNothingIsCut(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{dead: true}, 0)
	reason := "all 4 partials of Dali cycle 1 failed: house/small: unavailable: it cannot be reached, although it was asked three times"
	d.fall(append(descending, event.DreamAborted{Phase: dream.Onset, Reason: reason})...)
	require.Equal(t, exit.Unfinished, d.run(0, "watch", "2", "-a", "echo"))
	require.Contains(t, d.out.String(), reason)
}

// Not parallel: systemd names its socket in the environment.
func TestSystemdIsToldWhatRunsAndWhatStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, socket.Close()) })
	t.Setenv("NOTIFY_SOCKET", path)
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	s.failed <- errors.New("the server fell over")
	require.Equal(t, exit.Failure, d.run(80, "up"))
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		message := make([]byte, 64)
		n, err := socket.Read(message)
		require.NoError(t, err)
		require.Equal(t, want, string(message[:n]))
	}
}
