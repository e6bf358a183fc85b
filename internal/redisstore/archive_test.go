package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestAnArchivePreservesTheWholeStore(t *testing.T) {
	t.Parallel()
	empty := func(t *testing.T) memorytest.ArchiveStore { return fresh(t) }
	memorytest.RunArchive(t, empty, empty)
}

// When this environment variable names a server, the test binary fills the keys under a prefix there until it is
// killed.
const fillerOf = "ONEIROS_TEST_FILLER_OF"

func init() {
	if url := os.Getenv(fillerOf); url != "" {
		memorytest.ImportIfRequested(func(ctx context.Context) (memory.Movable, error) {
			return redisstore.Open(ctx, url, redisstore.Prefix(os.Getenv(fillerOf+"_PREFIX")), redisstore.Refill())
		})
	}
}

// few fills keys in several steps.
var few = memorytest.Size{
	Agents:   2,
	Items:    600,
	Events:   50,
	Attempts: 300,
	Dim:      8,
}

func TestAProcessKilledDuringAnImportLeavesTheKeysUnusable(t *testing.T) {
	t.Parallel()
	url, prefix := redis.Shared(t).URL, redis.Prefix(t)
	memorytest.KillWhileImporting(t, []string{fillerOf + "=" + url, fillerOf + "_PREFIX=" + prefix},
		func(t *testing.T) (memory.Movable, []memory.Record) {
			whole, err := redisstore.Open(t.Context(), url, redisstore.Prefix(prefix))
			if err == nil {
				t.Cleanup(func() { require.NoError(t, whole.Close()) })
				return whole, memorytest.Collect(t, whole.Export(t.Context()))
			}
			require.ErrorIs(t, err, redisstore.ErrUnfinished)
			return open(t, url, prefix, redisstore.Refill()), nil
		})
	_, err := redisstore.Open(t.Context(), url, redisstore.Prefix(prefix))
	require.NoError(t, err)
}

// tallied counts and hashes records: equal tallies mean equal records.
func tallied(t *testing.T, records memory.Records) memory.Tally {
	t.Helper()
	tally, err := archive.Count(records)
	require.NoError(t, err)
	return tally
}

// halfway yields records and calls do before the middle one.
func halfway(records []memory.Record, do func()) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		for i, r := range records {
			if i == len(records)/2 {
				do()
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// The server is killed in the middle. It restarts from its file and the import continues, each step once.
func TestAnImportSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(30*time.Second))
	made := memorytest.Deployment(7, few)
	given, err := s.Import(t.Context(), halfway(made, server.Restart))
	require.NoError(t, err)
	require.Equal(t, len(made), given.Records())
	server.Restart()
	require.Equal(t, tallied(t, memorytest.Fill(made)), tallied(t, s.Export(t.Context())))
}

func TestAnUnfinishedImportIsNotOpenedAfterTheServersReturn(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(2*time.Second))
	made := memorytest.Deployment(7, few)
	_, err := s.Import(t.Context(), halfway(made, server.Kill))
	require.ErrorContains(t, err, "unusable until the next import")
	server.Restart()
	_, err = redisstore.Open(t.Context(), server.URL)
	require.ErrorIs(t, err, redisstore.ErrUnfinished)
	_, err = s.Import(t.Context(), memorytest.Fill(made))
	require.ErrorIs(t, err, redisstore.ErrUnfinished, "a store opened without Refill takes nothing over")
	again := open(t, server.URL, "oneiros:", redisstore.Refill())
	_, err = again.Import(t.Context(), memorytest.Fill(made))
	require.NoError(t, err)
	require.Equal(t, tallied(t, memorytest.Fill(made)), tallied(t, open(t, server.URL, "oneiros:").Export(t.Context())))
}

// The second import takes the keys over, and nothing of the first remains.
func TestOneOfTwoConcurrentImportsSucceeds(t *testing.T) {
	t.Parallel()
	url, prefix := redis.Shared(t).URL, redis.Prefix(t)
	one, other := open(t, url, prefix), open(t, url, prefix)
	first, second := memorytest.Deployment(8, few), memorytest.Deployment(9, few)
	late := open(t, url, prefix, redisstore.Refill())
	_, err := one.Import(t.Context(), halfway(first, func() {
		_, err := other.Import(t.Context(), memorytest.Fill(second))
		require.ErrorIs(t, err, redisstore.ErrUnfinished)
		_, err = redisstore.Open(t.Context(), url, redisstore.Prefix(prefix))
		require.ErrorIs(t, err, redisstore.ErrUnfinished, "an incomplete import is not opened")
		_, err = late.Import(t.Context(), memorytest.Fill(second))
		require.NoError(t, err)
	}))
	require.ErrorContains(t, err, "taken these keys over")
	require.Equal(t, tallied(t, memorytest.Fill(second)), tallied(t, other.Export(t.Context())))
}

// Prefixes of deployments may begin alike, and other keys on the server are not ours.
func TestAnImportRemovesNothingOfOthers(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	inner := memorytest.Deployment(10, memorytest.Size{
		Agents:   2,
		Items:    20,
		Events:   3,
		Attempts: 9,
		Dim:      2,
	})
	var others []*redisstore.Store
	for _, p := range []string{"x:", "*"} {
		s := open(t, server.URL, prefix+p)
		_, err := s.Import(t.Context(), memorytest.Fill(inner))
		require.NoError(t, err, p)
		others = append(others, s)
	}
	c := server.Dial(t)
	require.NoError(t, c.Set(t.Context(), prefix+"somebody's", "own", 0).Err())
	s := open(t, server.URL, prefix)
	made := memorytest.Deployment(11, few)
	for range 2 {
		_, err := s.Import(t.Context(), memorytest.CutAfter(len(made)-1, made))
		require.ErrorIs(t, err, memorytest.ErrCut)
	}
	for _, other := range others {
		require.Equal(t, tallied(t, memorytest.Fill(inner)), tallied(t, other.Export(t.Context())))
	}
	require.Equal(t, "own", c.Get(t.Context(), prefix+"somebody's").Val())
	keys, err := c.Keys(t.Context(), prefix+"[^x*s]*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "the import leaves no key of its own")
}

func TestAnImportWhoseRepliesAreLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, redis.Shared(t))
	s := open(t, w.url, redis.Prefix(t), redisstore.Connections(1), redisstore.Timeout(20*time.Second))
	made := memorytest.Deployment(12, few)
	const losses = 3
	_, err := s.Import(t.Context(), halfway(made, func() {
		w.lost.Store(0)
		w.cuts.Store(losses)
	}))
	require.NoError(t, err)
	require.EqualValues(t, losses, w.lost.Load())
	require.Equal(t, tallied(t, memorytest.Fill(made)), tallied(t, s.Export(t.Context())))
}

func TestAFullServerRefusesAnImport(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:")
	c := server.Dial(t)
	made := memorytest.Deployment(13, few)
	_, err := s.Import(t.Context(),
		halfway(made, func() { require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1mb").Err()) }))
	require.ErrorContains(t, err, "OOM")
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	again := open(t, server.URL, "oneiros:", redisstore.Refill())
	_, err = again.Import(t.Context(), memorytest.Fill(made))
	require.NoError(t, err)
	require.Equal(t, tallied(t, memorytest.Fill(made)), tallied(t, again.Export(t.Context())))
}

// While others write, every agent is exported as of one moment: as many memories as events, each with its vector.
func TestAnExportIsConsistent(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for n := range 300 {
			id := fmt.Sprintf("e%06d", n)
			_, err := there.Commit(t.Context(), memory.Write{
				Agent: echo, Cause: "test", Add: []dream.Item{episode(id, id)},
				Vectors: []memory.Vector{{Item: id, Space: "flat/1", V: []float32{1}}},
				Events:  []event.Event{event.New(id, echo, "", noon, event.PatternFound{})},
			})
			if err != nil {
				done <- err
				return
			}
			<-tick.C
		}
		done <- nil
	}()
	whole, torn := 0, 0
	for writing := true; writing || whole == 0; {
		select {
		case err := <-done:
			require.NoError(t, err)
			writing = false
		default:
		}
		tally, err := archive.Count(here.Export(t.Context()))
		if errors.Is(err, memory.ErrTorn) {
			torn++
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tally.Items, tally.Events)
		require.Equal(t, tally.Items, tally.Vectors)
		whole++
	}
	t.Logf("%d exports came to their end, %d were torn", whole, torn)
}

// A store with writes without pause is not exported at all rather than inconsistently.
func TestAnExportUnderConstantWritesFails(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	_, err := s.Import(t.Context(), memorytest.Fill(memorytest.Deployment(1, few)))
	require.NoError(t, err)
	agents, err := s.Agents(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var restless sync.WaitGroup
	for range 4 {
		restless.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.NextDream(ctx, agents[0].ID)
			}
		})
	}
	for !errors.Is(err, memory.ErrTorn) {
		_, err = archive.Count(s.Export(ctx))
		require.True(t, err == nil || errors.Is(err, memory.ErrTorn), err)
	}
	stop()
	restless.Wait()
}

func TestProcessesThatListenOnTheServerAreCounted(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	count := func(s *redisstore.Store) int {
		n, err := s.Listeners(t.Context())
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count(here))
	_, err := there.Listen(func(presence.WakeNotice) {})
	require.NoError(t, err)
	require.Equal(t, 1, count(here))
	require.Zero(t, count(there), "this process does not count")
	_, err = here.Listen(func(presence.WakeNotice) {})
	require.NoError(t, err)
	require.Equal(t, 1, count(there))
}

func TestACancelledImportLeavesNothing(t *testing.T) {
	t.Parallel()
	url, prefix := redis.Shared(t).URL, redis.Prefix(t)
	s := open(t, url, prefix)
	ctx, stop := context.WithCancel(t.Context())
	_, err := s.Import(ctx, halfway(memorytest.Deployment(1, few), stop))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, memorytest.Collect(t, open(t, url, prefix).Export(t.Context())))
}

func TestAnUnfinishedImportIsNotExported(t *testing.T) {
	t.Parallel()
	url, prefix := redis.Shared(t).URL, redis.Prefix(t)
	s, reading := open(t, url, prefix), open(t, url, prefix)
	_, err := s.Import(t.Context(), halfway(memorytest.Deployment(1, few), func() {
		_, err := archive.Count(reading.Export(t.Context()))
		require.ErrorIs(t, err, redisstore.ErrUnfinished)
	}))
	require.NoError(t, err)
}

// Every new kind of key must be listed in archive.go: whether it lasts, and if so, which record of an archive holds it.
func TestEveryKeyIsArchivedOrTemporary(t *testing.T) {
	t.Parallel()
	server, prefix := redis.Shared(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	_, err := s.Import(t.Context(), memorytest.Fill(memorytest.Deployment(2, few)))
	require.NoError(t, err)
	memorytest.WriteEverything(t, s)
	_, err = s.Rooms().Create(t.Context(), room.Room{ID: "attic", By: room.PersonID("ada"), Created: noon},
		room.Member{Who: room.PersonID("ada"), Name: "Ada", Trust: "own"})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), access.Claim{
		Scope:  "key_0",
		Name:   "n",
		Digest: "d",
		Now:    noon,
		Hold:   time.Minute,
		Keep:   time.Hour,
	})
	require.NoError(t, err)
	c := server.Dial(t)
	keys, err := c.Keys(t.Context(), prefix+"*").Result()
	require.NoError(t, err)
	lasting := 0
	for _, key := range keys {
		name := strings.TrimPrefix(key, prefix)
		if name == "schema" || strings.HasPrefix(name, "done:") || strings.HasPrefix(name, "claim:") ||
			strings.HasPrefix(name, "response:") || strings.HasPrefix(name, "responses:") ||
			strings.HasPrefix(name, "m:closed:") || strings.HasPrefix(name, "m:change:") {
			continue
		}
		require.True(t, redisstore.Lasting(s, key), "archive.go does not say whether %s lasts", key)
		lasting++
	}
	require.Greater(t, lasting, 100)
	for hash, existing := range map[string]string{
		"a:*:life": "seq dreams space dim tide scrubs pulse fed tallied epoch told lock seen last by digest undofrom detailsfrom " +
			"unsettled scanned",
		"a:*:slot": "dream run epoch workflow cluster since mood",
		"m:row:*":  "step attempt token ask asked model at reserved counted state tokens finish ended latest mute",
	} {
		keys, err := c.Keys(t.Context(), prefix+hash).Result()
		require.NoError(t, err)
		require.NotEmpty(t, keys, hash)
		for _, key := range keys {
			fields, err := c.HKeys(t.Context(), key).Result()
			require.NoError(t, err)
			for _, field := range fields {
				require.Contains(t, strings.Fields(existing), field, "an archive does not know the field %s of %s",
					field, key)
			}
		}
	}
}
