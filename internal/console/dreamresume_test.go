package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

// A dream that was interrupted and may be resumed has not ended.
func TestWatchingGoesOnAcrossAWakeAndEndsWithTheDream(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{false, true} {
		s := &sleeper{}
		d := newFixture(t).furnish().asleep(s, 0)
		n := d.interrupt(now.Add(8 * time.Hour))
		s.going = func() { d.goOn(n) }
		args := []string{"watch", "2", "-a", "echo"}
		if json {
			args = append(args, "--json")
		}
		require.Equal(t, exit.OK, d.run(0, args...), d.err.String())
		if json {
			require.Equal(t, 1, strings.Count(d.out.String(), `{"report":`))
			require.Contains(t, d.out.String(), `"type":"AgentAsleep"`)
			continue
		}
		d.golden("watch-across-a-wake")
	}
}

func TestATerminalShowsWhereTheDreamWasWoken(t *testing.T) {
	t.Parallel()
	s := &sleeper{fault: errors.New("gone")}
	d := newFixture(t).furnish().asleep(s, 0)
	d.interrupt(now.Add(8 * time.Hour))
	d.terminal = true
	require.Equal(t, exit.Unreachable, d.run(80, "watch", "2", "-a", "echo"))
	require.Contains(t, d.out.String(), "|✶‖- ONSET")
	require.Contains(t, d.out.String(), "by a client in onset (deep), resumable to 14:00; 9.4 ms…\n06:00:00  awake",
		"what woke it stays while the dream waits")
}

func TestADreamThatNobodyMayResumeIsOver(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	d.interrupt(now.Add(-time.Second))
	require.Equal(t, exit.Unfinished, d.run(0, "watch", "2", "-a", "echo"))
	require.Contains(t, d.err.String(), "the dream ended interrupted: somebody connected")
}

func TestAnInterruptedDreamIsResumedOrEndedForGood(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	require.Equal(t, exit.NotFound, d.run(0, "dreams", "resume", "-a", "echo"))
	require.Contains(t, d.err.String(), "no dream of echo waits to be resumed")
	require.Equal(t, exit.NotFound, d.run(0, "dreams", "resume", "1", "-a", "echo"))
	require.Contains(t, d.err.String(), "dream "+dreamID+" does not wait to be resumed (completed)")
	n := d.interrupt(now.Add(time.Hour))
	d.hall.now = presence.Status{
		Leases: []presence.Lease{{Client: "mara", Cause: presence.Connect, Until: now.Add(time.Minute)}},
	}
	require.Equal(t, exit.Refused, d.run(0, "dreams", "resume", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"echo is held awake by mara (connect) until 06:01:00: no dream begins before 06:01:00; oneiros sleep --agent echo --client mara ends that",
	)
	d.hall.now = presence.Status{}
	require.Equal(t, exit.OK, d.run(0, "dreams", "resume", "-a", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "Dream dream/echo/0002 goes on. Follow it: oneiros watch dream/echo/0002")
	require.Equal(t, []string{n.ID}, s.resumed)
	s.going = func() { d.goOn(n) }
	require.Equal(t, exit.OK, d.run(0, "dreams", "resume", "2", "-a", "echo", "--watch"), d.err.String())
	require.Contains(t, d.out.String(), "stretch 2, from onset, $0.488 left")

	d = newFixture(t).furnish().asleep(s, 0)
	n = d.interrupt(now.Add(time.Hour))
	s.refuse = fmt.Errorf("echo: %w: mara came first", starter.ErrAwake)
	require.Equal(t, exit.Refused, d.run(0, "dreams", "resume", "-a", "echo"))
	require.Equal(t, exit.OK, d.run(0, "dreams", "cancel", "last", "-a", "echo"), d.err.String())
	require.Equal(t, []string{n.ID}, s.ended)
}

// No dream begins while a client holds the agent awake.
func TestNoDreamBeginsWhileAClientHoldsTheAgentAwake(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	d.hall.now = presence.Status{Lock: now.Add(5 * time.Second)}
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"echo is held awake by the wake lock: no dream begins before 06:00:05; oneiros sleep --agent echo ends that",
	)
	require.Empty(t, s.begun)
	d.interrupt(now.Add(time.Hour))
	s.refuse = fmt.Errorf("echo: %w: mara came first", starter.ErrAwake)
	d.hall.now = presence.Status{}
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	require.Contains(t, d.err.String(),
		"Dream dream/echo/0002 was woken and waited to go on: this one takes its place.")
}

func TestADreamThatWasWokenIsResumedWithoutAnotherWorker(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return nil, deploy.ErrNoServer }
	n := d.interrupt(now.Add(time.Hour))
	d.hall.now = presence.Status{Lock: now.Add(5 * time.Second)}
	require.Equal(t, exit.Refused, d.run(0, "dream", "-a", "echo"))
	d.hall.now = presence.Status{}
	s.onResume = func() { d.goOn(n) }
	require.Equal(t, exit.OK, d.run(0, "dream", "-a", "echo"), d.err.String())
	require.Contains(t, d.err.String(), "echo was woken out of dream/echo/0002: it goes on.")
	require.Equal(t, []string{n.ID}, s.resumed)
	require.Empty(t, s.begun)
}

// An interrupted and resumable dream has the public status running, an aborted one failed, and others that ended
// completed with a reason.
func TestDreamsAreListedWithTheirPublicStatus(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, width := range []int{80, 200} {
		if width == 80 {
			d.interrupt(now.Add(time.Hour))
		}
		require.Equal(t, exit.OK, d.run(width, "dreams", "list", "-a", "echo"), d.err.String())
		d.golden(fmt.Sprintf("dreams-list-woken-%d", width))
	}
	require.Equal(t, exit.OK, d.run(80, "dreams", "show", "2", "-a", "echo"), d.err.String())
	d.golden("dreams-show-woken-80")
	for outcome, status := range map[dream.Outcome]string{
		dream.Dreaming: "running", dream.Interrupted: "completed", dream.Aborted: "failed", dream.Canceled: "canceled",
		dream.Completed: "completed", dream.Empty: "completed", dream.Exhausted: "completed",
	} {
		record, err := memory.One[*dream.Record](t.Context(), d.store, "echo", "dream/echo/0002")
		require.NoError(t, err)
		require.Equal(t, exit.OK, d.run(0, "dreams", "list", "-a", "echo", "--json"))
		var result []struct{ ID, Status, Outcome string }
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
		require.Len(t, result, 2)
		require.Equal(t, "completed", result[1].Status)
		if record.Outcome == dream.Interrupted && !record.Until.IsZero() {
			require.Equal(t, "running", result[0].Status)
		}
		record.Outcome, record.Until = outcome, time.Time{}
		_, err = d.store.Commit(
			t.Context(),
			memory.Write{Agent: "echo", Cause: "test", Change: []dream.Item{record}},
		)
		require.NoError(t, err)
		require.Equal(t, exit.OK, d.run(0, "dreams", "list", "-a", "echo", "--json"))
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
		require.Equal(t, status, result[0].Status, "%s", outcome)
		require.Equal(t, string(outcome), result[0].Outcome)
	}
}

func TestAResumedDreamThatGoesOnShowsWhatItHasCostUntilItWasWoken(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	n := d.interrupt(now.Add(time.Hour))
	fresh, err := memory.One[*dream.Record](t.Context(), d.store, "echo", n.ID)
	require.NoError(t, err)
	fresh.Outcome = dream.Dreaming
	fresh.Reason = ""
	fresh.Until = time.Time{}
	fresh.Ended = time.Time{}
	fresh.Stretches = 2
	fresh.Spent = 12_000
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: n.ID, Change: []dream.Item{fresh}})
	require.NoError(t, err)
	require.Equal(t, exit.OK, d.run(200, "dreams", "list", "-a", "echo"), d.err.String())
	require.Regexp(t, `0002 .*dreaming .* 3\+ +5\+ +\$0\.012\+ `, d.out.String())
}

func TestTheLastDreamToCancelIsTheNewestThatCanBeEnded(t *testing.T) {
	t.Parallel()
	s := &sleeper{}
	d := newFixture(t).furnish().asleep(s, 0)
	require.Equal(t, exit.NotFound, d.run(0, "dreams", "cancel", "last", "-a", "echo"))
	require.Contains(
		t,
		d.err.String(),
		"no dream of echo goes on or waits to; oneiros dreams list -a echo names them",
	)
	record := func(id string, at time.Time, change func(*dream.Record)) {
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
			Run:    "run",
			Tier:   dream.Core,
			Budget: 500_000,
		}
		change(n)
		_, err := d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: id, Add: []dream.Item{n}})
		require.NoError(t, err)
	}
	record("dream/echo/0003", now.Add(-3*time.Minute), func(*dream.Record) {})
	record("dream/echo/0004", now.Add(-2*time.Minute), func(n *dream.Record) {
		n.Run = ""
		n.Outcome = dream.Canceled
		n.Reason = "it was never begun: echo is already dreaming"
		n.Ended = now
	})
	// its spec was frozen for a start by hand
	record("dream/echo/0005", now.Add(-time.Minute), func(n *dream.Record) { n.Run = "" })
	require.Equal(t, exit.OK, d.run(0, "dreams", "cancel", "last", "-a", "echo"), d.err.String())
	require.Equal(t, []string{"dream/echo/0003"}, s.ended)
}
