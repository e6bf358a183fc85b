package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

var dusk = time.Date(2026, 3, 12, 23, 0, 0, 0, time.UTC)

type log interface {
	fabric.Log
	memory.Store
}

func fresh(t *testing.T, agents ...string) log {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	record(t, s, agents...)
	return s
}

func record(t *testing.T, s memory.Store, agents ...string) {
	t.Helper()
	for _, agent := range agents {
		require.NoError(t, s.PutAgent(t.Context(), dream.Agent{
			ID:      agent,
			Handle:  agent,
			Zone:    "UTC",
			Tier:    dream.Core,
			Created: dusk,
		}))
	}
}

// announce adds n events to an agent's log, one per minute from dusk on.
func announce(ctx context.Context, s log, agent, writer string, from, n int) error {
	for i := from; i < from+n; i++ {
		e := event.New(fmt.Sprintf("%s-%d", writer, i), agent, "", dusk.Add(time.Duration(i)*time.Minute),
			event.AgentAsleep{Epoch: int64(i)})
		if _, err := s.Commit(ctx, memory.Write{Agent: agent, Cause: "test", Events: []event.Event{e}}); err != nil {
			return err
		}
	}
	return nil
}

func archiver(s log, b archive.Bucket) *archive.Archive {
	return &archive.Archive{Log: s, Bucket: b, Now: time.Now}
}

// archived reads an agent's archive: every line of every object, in the order of their numbers.
func archived(t *testing.T, b archive.Bucket, agent string) []event.Event {
	t.Helper()
	names, err := b.Names(t.Context(), "events/"+agent+"/")
	require.NoError(t, err)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	var all []event.Event
	for _, name := range names {
		body, err := b.Read(t.Context(), name)
		require.NoError(t, err)
		for row := range bytes.Lines(body) {
			var e event.Event
			require.NoError(t, json.Unmarshal(row, &e))
			require.Equal(t, e.At.Format(time.DateOnly), filepath.Base(filepath.Dir(name)),
				"the event belongs to the day of its folder")
			all = append(all, e)
		}
	}
	return all
}

// whole requires that an archive equals the log, event by event, without gaps or duplicates.
func whole(t *testing.T, s log, b archive.Bucket, agent string) {
	t.Helper()
	want, err := s.Events(t.Context(), agent, 0, 0)
	require.NoError(t, err)
	require.NotEmpty(t, want)
	got := archived(t, b, agent)
	for i := range got {
		require.EqualValues(t, i+1, got[i].Seq)
	}
	require.Equal(t, want, got)
}

func TestAnArchiveContainsTheLogByAgentAndDay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		s, b := fresh(t, "echo", "vega"), opened(t, address)
		a := archiver(s, b)
		done, err := a.Once(t.Context())
		require.NoError(t, err)
		require.Zero(t, done)
		require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 90))
		require.NoError(t, announce(t.Context(), s, "vega", "w", 0, 3))
		done, err = a.Once(t.Context())
		require.NoError(t, err)
		require.Equal(t, archive.Report{Objects: 3, Events: 93}, done,
			"an hour of the first day and half of one of the next")
		names, err := b.Names(t.Context(), "events/")
		require.NoError(t, err)
		require.Equal(t, []string{
			"events/echo/2026-03-12/000000000001.jsonl", "events/echo/2026-03-13/000000000061.jsonl",
			"events/vega/2026-03-12/000000000001.jsonl",
		}, names)
		done, err = a.Once(t.Context())
		require.NoError(t, err)
		require.Zero(t, done, "there are no new events")
		require.NoError(t, announce(t.Context(), s, "echo", "w", 90, 2))
		done, err = archiver(s, b).Once(t.Context()) // a new archiver
		require.NoError(t, err)
		require.Equal(t, archive.Report{Objects: 1, Events: 2}, done)
		for _, agent := range []string{"echo", "vega"} {
			whole(t, s, b, agent)
		}
	})
}

func TestAnObjectHoldsAThousandEvents(t *testing.T) {
	t.Parallel()
	s, b := fresh(t, "echo"), opened(t, t.TempDir())
	var events []event.Event
	for i := range 2500 {
		events = append(events, event.New(fmt.Sprint("e", i), "echo", "", dusk, event.AgentAsleep{Epoch: 1}))
	}
	_, err := s.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "test", Events: events})
	require.NoError(t, err)
	done, err := archiver(s, b).Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, archive.Report{Objects: 3, Events: 2500}, done)
	whole(t, s, b, "echo")
}

func TestConcurrentArchiversArchiveEachEventOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		s := fresh(t, "echo")
		const writers, n, keepers = 3, 60, 4
		written, kept := make(chan error, writers), make(chan error, keepers)
		over, finish := context.WithCancel(t.Context())
		for w := range writers {
			go func() { written <- announce(t.Context(), s, "echo", fmt.Sprint("w", w), 0, n) }()
		}
		for range keepers {
			a := archiver(s, opened(t, address))
			go func() {
				var err error
				for over.Err() == nil && err == nil {
					_, err = a.Once(t.Context())
				}
				kept <- err
			}()
		}
		for range writers {
			require.NoError(t, <-written)
		}
		finish()
		for range keepers {
			require.NoError(t, <-kept)
		}
		_, err := archiver(s, opened(t, address)).Once(t.Context())
		require.NoError(t, err)
		whole(t, s, opened(t, address), "echo")
	})
}

// forgetful loses every second position, as a process does that is killed before writing it.
type forgetful struct {
	archive.Bucket
	n int
}

func (f *forgetful) Replace(ctx context.Context, name string, body []byte) error {
	f.n++
	if f.n%2 == 1 {
		return nil
	}
	return f.Bucket.Replace(ctx, name, body)
}

func TestAnOldOrLostPositionIsCorrected(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		s := fresh(t, "echo")
		b := &forgetful{Bucket: opened(t, address)}
		for i := range 7 {
			require.NoError(t, announce(t.Context(), s, "echo", "w", i*20, 20))
			_, err := archiver(s, b).Once(t.Context())
			require.NoError(t, err)
			whole(t, s, b, "echo")
		}
		p, err := archive.Find(t.Context(), b, "echo")
		require.NoError(t, err)
		require.EqualValues(t, 120, p.Seq, "the last position was lost")
		status, err := archiver(s, b).Status(t.Context(), "echo", 140)
		require.NoError(t, err)
		require.EqualValues(t, 20, status.Behind())
		require.Equal(t, dusk.Add(120*time.Minute), status.Waits)
		require.False(t, status.Late(status.Waits.Add(15*time.Minute), 5*time.Minute))
		require.True(t, status.Late(status.Waits.Add(16*time.Minute), 5*time.Minute))
		require.Empty(t, status.Fault)
	})
	root := t.TempDir()
	s, b := fresh(t, "echo"), opened(t, root)
	require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 90))
	never := &forgetful{Bucket: b}
	_, err := archiver(s, never).Once(t.Context())
	require.NoError(t, err)
	p, err := archive.Find(t.Context(), b, "echo")
	require.NoError(t, err)
	require.EqualValues(t, 90, p.Seq, "found from the objects")
	require.Equal(t, "events/echo/2026-03-13/000000000061.jsonl", p.Object)
}

// kept is a bucket whose old objects were deleted by its owner.
type kept struct {
	archive.Bucket
	from string
}

func (k kept) Names(ctx context.Context, prefix string) ([]string, error) {
	names, err := k.Bucket.Names(ctx, prefix)
	return slices.DeleteFunc(names, func(name string) bool { return filepath.Base(name) < k.from }), err
}

func (k kept) Read(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "events/") && filepath.Base(name) < k.from {
		return nil, archive.ErrMissing
	}
	return k.Bucket.Read(ctx, name)
}

func TestDeletedObjectsAreNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s, b := fresh(t, "echo"), opened(t, t.TempDir())
	require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 30))
	_, err := archiver(s, b).Once(t.Context())
	require.NoError(t, err)
	deleted := kept{b, "000000000031"}
	done, err := archiver(s, deleted).Once(t.Context())
	require.NoError(t, err)
	require.Zero(t, done)
	require.NoError(t, announce(t.Context(), s, "echo", "w", 30, 5))
	done, err = archiver(s, deleted).Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, done.Events)
}

func TestAnArchiveOfAnotherStoreIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		s, b := fresh(t, "echo", "vega"), opened(t, address)
		require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 5))
		_, err := archiver(s, b).Once(t.Context())
		require.NoError(t, err)
		for name, n := range map[string]int{"shorter": 3, "as long": 5, "longer": 9} {
			other := fresh(t, "echo", "vega")
			require.NoError(t, announce(t.Context(), other, "echo", "another", 0, n))
			require.NoError(t, announce(t.Context(), other, "vega", name, 0, 2))
			_, err := archiver(other, b).Once(t.Context())
			require.ErrorIs(t, err, archive.ErrOther, name)
			require.ErrorContains(t, err, "agent echo")
			status, err := archiver(other, b).Status(t.Context(), "echo", int64(n))
			require.NoError(t, err)
			require.Contains(t, status.Fault, "other events")
		}
		require.Len(t, archived(t, b, "echo"), 5)
		require.Len(t, archived(t, b, "vega"), 2, "an error of one agent does not stop another")
	})
}

func TestEventsAreArchivedAfterTheBucketReturns(t *testing.T) {
	t.Parallel()
	server := newS3(t, false)
	s, b := fresh(t, "echo"), opened(t, server.address(""))
	a := archiver(s, b)
	require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 5))
	server.away.Store(true)
	_, err := a.Once(t.Context())
	require.ErrorContains(t, err, "archive the events of echo")
	require.NoError(t, announce(t.Context(), s, "echo", "w", 5, 5))
	server.away.Store(false)
	_, err = a.Once(t.Context())
	require.NoError(t, err)
	whole(t, s, b, "echo")
}

func TestAnAgentsNameCannotEscapeTheArchive(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"..", "../../x", "a/b", ".drafts", "a b"} {
		s, root := fresh(t, agent), t.TempDir()
		b := opened(t, filepath.Join(root, "archive"))
		require.NoError(t, announce(t.Context(), s, agent, "w", 0, 1))
		_, err := archiver(s, b).Once(t.Context())
		require.NoError(t, err, agent)
		names, err := b.Names(t.Context(), "events/")
		require.NoError(t, err)
		require.Len(t, names, 1)
		require.Len(t, strings.Split(names[0], "/"), 4, names[0])
		p, err := archive.Find(t.Context(), b, agent)
		require.NoError(t, err)
		require.EqualValues(t, 1, p.Seq)
	}
}

// When an agent's position is damaged, the objects contain the same information.
func TestADamagedPositionIsFoundFromTheObjects(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"", "{\"seq\":", "null", "{}\n", `{"seq":-3}`} {
		s, b := fresh(t, "echo", "vega"), opened(t, t.TempDir())
		require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 90))
		_, err := archiver(s, b).Once(t.Context())
		require.NoError(t, err)
		require.NoError(t, b.Replace(t.Context(), "position/echo.json", []byte(damage)))
		require.NoError(t, announce(t.Context(), s, "echo", "w", 90, 10))
		require.NoError(t, announce(t.Context(), s, "vega", "w", 0, 10))
		status, err := archiver(s, b).Status(t.Context(), "echo", 100)
		require.NoError(t, err, "%q", damage)
		require.EqualValues(t, 90, status.Seq, "%q", damage)
		done, err := archiver(s, b).Once(t.Context())
		require.NoError(t, err, "%q", damage)
		require.Equal(t, archive.Report{Objects: 2, Events: 20}, done, "%q", damage)
		for _, agent := range []string{"echo", "vega"} {
			whole(t, s, b, agent)
		}
	}
}

// A store may lose its newest events while an archiver runs, such as a Redis server that had not written them to disk
// yet.
func TestALogThatLostItsNewestEventsIsNoticed(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"shorter": 3, "longer": 9} {
		s, b := fresh(t, "echo"), opened(t, t.TempDir())
		require.NoError(t, announce(t.Context(), s, "echo", "w", 0, 5))
		a := archiver(s, b)
		_, err := a.Once(t.Context())
		require.NoError(t, err)
		other := fresh(t, "echo")
		require.NoError(t, announce(t.Context(), other, "echo", "another", 0, n))
		a.Log = other
		for range 2 {
			_, err = a.Once(t.Context())
			require.ErrorIs(t, err, archive.ErrOther, name)
		}
		require.Len(t, archived(t, b, "echo"), 5, name)
	}
}

func TestTheArchiveOfARecreatedAgentContinuesAfterTheOldEvents(t *testing.T) {
	t.Parallel()
	s := fresh(t, "echo")
	b := opened(t, t.TempDir())
	a := archiver(s, b)
	require.NoError(t, announce(t.Context(), s, "echo", "old", 1, 3))
	_, err := a.Once(t.Context())
	require.NoError(t, err)
	_, err = s.DropAgent(t.Context(), "echo", dusk)
	require.NoError(t, err)
	for _, each := range []*archive.Archive{a, archiver(s, b)} {
		_, err = each.Once(t.Context())
		require.NoError(t, err, "the agent was removed")
	}
	record(t, s, "echo")
	for _, each := range []*archive.Archive{a, archiver(s, b)} {
		_, err = each.Once(t.Context())
		require.NoError(t, err, "there is no new event yet")
	}
	require.NoError(t, announce(t.Context(), s, "echo", "new", 1, 2))
	for _, each := range []*archive.Archive{a, archiver(s, b)} {
		_, err = each.Once(t.Context())
		require.NoError(t, err)
	}
	var ids []string
	for _, e := range archived(t, b, "echo") {
		ids = append(ids, e.ID)
	}
	require.Equal(t, []string{"old-1", "old-2", "old-3", "new-1", "new-2"}, ids)
}
