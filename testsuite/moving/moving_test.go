// Package moving moves whole deployments between the two kinds of store and compares everything.
package moving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// deployment is everything that a store holds, by every port.
type deployment interface {
	memorytest.ArchiveStore
	fabric.Log
	presence.Store
}

type kept struct {
	deployment
	ledger spend.Ledger
}

func fileStore(t *testing.T) kept {
	t.Helper()
	s := onFile(t, filepath.Join(t.TempDir(), "oneiros.db"))
	return kept{s, s.Ledger()}
}

func redisStore(t *testing.T) kept {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)), redisstore.Timeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return kept{s, s.Ledger()}
}

func contents(t *testing.T, s memory.Movable) string {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(&b, s.Export(t.Context()))
	require.NoError(t, err)
	return b.String()
}

// The contract suite of moving also holds between two kinds of store.
func TestBothKindsOfStoreExchangeEverything(t *testing.T) {
	t.Parallel()
	file := func(t *testing.T) memorytest.ArchiveStore { return fileStore(t) }
	shared := func(t *testing.T) memorytest.ArchiveStore { return redisStore(t) }
	t.Run("ToRedis", func(t *testing.T) { t.Parallel(); memorytest.RunArchive(t, file, shared) })
	t.Run("ToAFile", func(t *testing.T) { t.Parallel(); memorytest.RunArchive(t, shared, file) })
}

func TestMoneyWakesAndEventsGoThereAndBack(t *testing.T) {
	t.Parallel()
	for name, open := range map[string][2]func(*testing.T) kept{
		"FromAFile": {fileStore, redisStore},
		"FromRedis": {redisStore, fileStore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, there, back := open[0](t), open[1](t), open[0](t)
			fillEveryTable(t, one)
			carry(t, one, there)
			require.Equal(t, contents(t, one), contents(t, there))
			requireSame(t, one, there)
			carry(t, there, back)
			require.Equal(t, contents(t, one), contents(t, back))
			requireSame(t, one, back)
			for _, s := range []kept{one, there, back} {
				requireWorks(t, s)
			}
			require.Equal(t, contents(t, one), contents(t, there), "both continue alike")
			require.Equal(t, contents(t, one), contents(t, back))
		})
	}
}

const echo, night = "agent-echo", "dream/echo/0001"

// fillEveryTable leaves data in every table.
func fillEveryTable(t *testing.T, s kept) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, s.PutAgent(ctx, dream.Agent{
		ID:     echo,
		Handle: "echo",
		Zone:   "UTC",
		Tier:   dream.Core,
		Feed:   "tides",
	}))
	require.NoError(t, s.PutFeed(ctx, dream.Feed{Name: "tides", URL: "https://example.org", Every: time.Minute}))
	_, err := s.NextDream(ctx, echo)
	require.NoError(t, err)
	f := memory.Fence{Dream: night, Run: "run"}
	_, err = s.TakeSlot(ctx, echo, memory.Slot{Fence: f, Workflow: night, Cluster: "c/default", Since: noon},
		memory.Fence{})
	require.NoError(t, err)
	_, err = s.Commit(ctx, memory.Write{
		Agent: echo, Fence: f, Add: []dream.Item{&dream.Episode{
			Head: dream.Head{
				ID:    "e1",
				Agent: echo,
				Kind:  dream.KindEpisode,
				At:    noon,
				State: dream.Live,
				Taint: dream.FromHuman,
			}, Content: "one",
		}},
		Affect: &dream.Affect{PAD: mood.PAD{Pleasure: .25}, Since: noon, Cause: night},
		Events: []event.Event{
			event.New("v1", echo, night, noon, event.PatternFound{Prediction: "p"}),
			event.New("v2", echo, night, noon, event.PatternFound{}),
		},
		OnWake: &memory.OnWake{Mood: &mood.PAD{Pleasure: .5, Arousal: 1. / 3}, Digest: []string{"j1", "j2"}},
	})
	require.NoError(t, err)
	_, err = s.PutNote(ctx, echo, f, memory.LateNote+"1", []byte{0, 255})
	require.NoError(t, err)
	spendSome(t, s)
	for n, client := range []string{"web", "alarm/tides"} {
		_, err = s.Arrive(ctx, presence.Visit{
			Agent:  echo,
			Client: client,
			Cause:  presence.Connect,
			Now:    noon.Add(time.Duration(n) * time.Second),
			For:    time.Hour,
			Lock:   time.Minute,
		})
		require.NoError(t, err)
	}
	_, err = s.Commit(ctx,
		memory.Write{
			Agent: echo, Fence: f, Late: true,
			Events: []event.Event{event.New("v3", echo, night, noon, event.PatternFound{})},
		})
	require.NoError(t, err)
	_, err = s.Arrive(ctx, presence.Visit{
		Agent:  "nobody",
		Client: "web",
		Cause:  presence.Operator,
		Now:    noon,
		For:    time.Second,
	})
	require.NoError(t, err)
	require.NoError(t, s.Recorded(ctx, "nobody", 1))
}

// spendSome leaves an attempt of every kind.
func spendSome(t *testing.T, s kept) {
	t.Helper()
	ctx := t.Context()
	for n, state := range []spend.State{
		spend.Settled, spend.Partial, spend.Refused, spend.Lost, spend.Open,
		spend.Settled, spend.Open,
	} {
		ask := spend.Ask{
			Step:     fmt.Sprint(night, "/", []int{0, 1, 2, 3, 4, 1, 3}[n]),
			Agent:    echo,
			Dream:    night,
			Phase:    "onset",
			Model:    "m",
			Day:      "2026-10-01",
			Amount:   budget.Micros(100 + n),
			At:       noon,
			Accounts: []budget.Account{{Scope: "fleet", Limit: 1 << 60}, {Scope: "agent", Limit: budget.Unlimited}},
		}
		if n > 4 {
			ask.Dream = ""
		}
		h, err := s.ledger.Reserve(ctx, ask)
		require.NoError(t, err)
		if state == spend.Open {
			continue
		}
		bill := spend.Bill{
			State:  state,
			Amount: budget.Micros(40 + n),
			Tokens: budget.Tokens{In: 3, Out: 4},
			Finish: "stop",
			At:     noon.Add(time.Second),
		}
		if state == spend.Settled {
			bill.Answer = []byte("answer\xff")
		}
		require.NoError(t, s.ledger.Settle(ctx, h, bill))
	}
	require.NoError(t, s.ledger.Allow(ctx, echo, "2026-10-01", night, 500, 1000))
	require.NoError(t, s.ledger.Allow(ctx, echo, "2026-10-02", "dream/echo/0002", 500, 1000))
	require.NoError(t, s.ledger.GiveBack(ctx, "dream/echo/0002"))
}

// requireSame reads both stores by every port but memory's, which the suite reads.
func requireSame(t *testing.T, one, other kept) {
	t.Helper()
	ctx := t.Context()
	for name, ask := range map[string]func(kept) (any, error){
		"rows":       func(s kept) (any, error) { return s.ledger.Rows(ctx, spend.Query{}) },
		"of a dream": func(s kept) (any, error) { return s.ledger.Rows(ctx, spend.Query{Dream: night}) },
		"of a day": func(s kept) (any, error) {
			return s.ledger.Rows(ctx, spend.Query{Agent: echo, Day: "2026-10-01"})
		},
		"open":      func(s kept) (any, error) { return s.ledger.OpenDreams(ctx) },
		"fleet":     func(s kept) (any, error) { return s.ledger.Balance(ctx, "fleet") },
		"allowance": func(s kept) (any, error) { return s.ledger.Allowance(ctx, echo, "2026-10-01") },
		"answer":    func(s kept) (any, error) { a, _, err := s.ledger.Answer(ctx, night+"/0"); return a, err },
		"standing":  func(s kept) (any, error) { return s.Status(ctx, echo, noon) },
		"later":     func(s kept) (any, error) { return s.Status(ctx, "nobody", noon.Add(time.Hour)) },
		"epoch":     func(s kept) (any, error) { return s.Epoch(ctx, echo) },
		"untold":    func(s kept) (any, error) { return s.Unrecorded(ctx) },
		"events":    func(s kept) (any, error) { return s.Events(ctx, echo, 0, 0) },
		"slots":     func(s kept) (any, error) { return s.Slots(ctx) },
		"affect":    func(s kept) (any, error) { return s.Affect(ctx, echo) },
		"notes":     func(s kept) (any, error) { return s.Notes(ctx, echo, night, "") },
	} {
		want, err := ask(one)
		require.NoError(t, err, name)
		got, err := ask(other)
		require.NoError(t, err, name)
		require.Equal(t, spelled(t, want), spelled(t, got), name)
	}
}

// spelled writes an answer as text; a list without entries is none.
func spelled(t *testing.T, answer any) string {
	t.Helper()
	b, err := json.MarshalIndent(answer, "", " ")
	require.NoError(t, err)
	return strings.NewReplacer("[]", "null").Replace(string(b))
}

// requireWorks does on a moved store what it would have done on the original.
func requireWorks(t *testing.T, s kept) {
	t.Helper()
	ctx := t.Context()
	f := memory.Fence{Dream: night, Run: "run"}
	_, err := s.PutNote(ctx, echo, f, "k", nil)
	require.ErrorIs(t, err, memory.ErrWoken, "the fence came with it")
	_, err = s.TakeSlot(ctx, echo, memory.Slot{Fence: memory.Fence{Dream: "d2", Run: "r"}, Since: noon}, f)
	require.ErrorIs(t, err, memory.ErrAwake)
	require.NoError(t, s.Recorded(ctx, echo, 1))
	h, err := s.ledger.Reserve(ctx, spend.Ask{
		Step:     night + "/3",
		Agent:    echo,
		Dream:    night,
		Amount:   1,
		At:       noon,
		Accounts: []budget.Account{{Scope: "fleet", Limit: 1 << 60}},
	})
	require.NoError(t, err)
	require.Equal(t, 3, h.Attempt, "the attempts of a step are counted further")
	n, sum, err := s.ledger.Close(ctx, night, noon)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.EqualValues(t, 105, sum)
	require.NoError(t, s.ledger.Forget(ctx, night))
	_, found, err := s.ledger.Answer(ctx, night+"/0")
	require.NoError(t, err)
	require.False(t, found)
	r, err := s.Commit(ctx,
		memory.Write{
			Agent: echo,
			Events: []event.Event{
				event.New("v2", echo, "", noon, event.PatternFound{}),
				event.New("v4", echo, "", noon, event.PatternFound{}),
			},
		})
	require.NoError(t, err)
	require.EqualValues(t, 4, r.LastSeq, "old events are not announced again")
	a, err := s.Arrive(ctx, presence.Visit{
		Agent:  echo,
		Client: "web",
		Cause:  presence.Connect,
		Now:    noon.Add(48 * time.Hour),
		For:    time.Hour,
	})
	require.NoError(t, err)
	require.True(t, a.Raised)
	require.EqualValues(t, 2, a.Epoch)
}
