package redisstore_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	servers "github.com/seed-56a03226/oneiros/testsuite/redis"
)

const packingDream = "dream/echo/0001"

// fragmentOf returns a fragment of a dream with these sources.
func fragmentOf(number int, sources ...string) *dream.Fragment {
	return &dream.Fragment{
		Head: dream.Head{
			ID:      fmt.Sprintf("%s/onset/1.%d", packingDream, number),
			Agent:   echo,
			Kind:    dream.KindFragment,
			At:      noon,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   packingDream,
			Phase:   dream.Onset,
			Sources: sources,
		},
		Content: "glass",
	}
}

// dreamt writes what a dream writes: two items, an event and an attempt.
func dreamt(t *testing.T, s memory.Store, ledger spend.Ledger) {
	t.Helper()
	f := memory.Fence{Dream: packingDream, Run: "r"}
	_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Since: noon}, memory.Fence{})
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), memory.Write{
		Agent: echo, Fence: f, Add: []dream.Item{fragmentOf(1, "lived"), fragmentOf(2, fragmentOf(1).ID)},
		Events: []event.Event{event.New("v", echo, packingDream, noon, event.PatternFound{Prediction: "p"})},
	})
	require.NoError(t, err)
	for _, step := range []string{packingDream + "/onset/1", packingDream + "/onset/2"} {
		_, err = ledger.Reserve(t.Context(), spend.Ask{
			Step:     step,
			Agent:    echo,
			Dream:    packingDream,
			Phase:    "onset",
			Model:    "m",
			Day:      "2026-03-01",
			Amount:   3,
			At:       noon,
			Accounts: []budget.Account{{Scope: "fleet", Limit: 9}, {Scope: "dream:" + packingDream, Limit: 7}},
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.FreeSlot(t.Context(), echo, f))
}

// unpack rewrites keys as a program of schema 1 wrote them.
func unpack(t *testing.T, c *redis.Client, prefix string, items []dream.Item, e event.Event) {
	t.Helper()
	ctx, base := t.Context(), prefix+"a:"+echo+":"
	for _, item := range items {
		row, err := c.HGet(ctx, base+"items", item.Header().ID).Result()
		require.NoError(t, err)
		head, _, _ := strings.Cut(row[90:], "\n")
		body, err := json.Marshal(item)
		require.NoError(t, err)
		head = regexp.MustCompile(`,"b":"[0-9a-f]+"`).ReplaceAllString(head, "")
		require.NoError(t, c.HSet(ctx, base+"items", item.Header().ID, row[:90]+head+"\n"+string(body)).Err())
		require.NoError(t, c.SAdd(ctx, base+"cause:"+packingDream, item.Header().ID).Err())
		for _, of := range item.Header().Sources {
			require.NoError(t, c.SAdd(ctx, base+"refers:"+of, item.Header().ID).Err())
		}
	}
	data := string(e.Data)
	e.Data = nil
	envelope, err := json.Marshal(e)
	require.NoError(t, err)
	require.NoError(t, c.Del(ctx, base+"events").Err())
	require.NoError(t,
		c.XAdd(ctx, &redis.XAddArgs{Stream: base + "events", ID: "1-0", Values: []any{"e", envelope, "d", data}}).Err())
	for n := 1; n <= 2; n++ {
		row := fmt.Sprint(prefix, "m:row:", n)
		kept := c.HGetAll(ctx, row).Val()
		var ask map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.HGet(ctx, prefix+"m:asks", kept["asked"]).Val()), &ask))
		ask["step"], ask["model"], ask["at"] = kept["step"], kept["model"], kept["at"]
		whole, err := json.Marshal(ask)
		require.NoError(t, err)
		require.NoError(t, c.HSet(ctx, row, "ask", whole).Err())
		require.NoError(t, c.HDel(ctx, row, "asked", "model", "at").Err())
	}
	require.NoError(t, c.Del(ctx, prefix+"m:asks").Err())
	require.NoError(t, c.Set(ctx, prefix+"schema", "1", 0).Err())
}

func TestKeysOfSchema1AreReadAndWritten(t *testing.T) {
	t.Parallel()
	server, prefix := servers.Shared(t), servers.Prefix(t)
	s := open(t, server.URL, prefix)
	dreamt(t, s, s.Ledger())
	records := memorytest.Collect(t, s.Export(t.Context()))
	c := server.Dial(t)
	kept := c.HGet(t.Context(), prefix+"a:"+echo+":items", fragmentOf(1).ID).Val()
	require.NotContains(t, kept, `"glass"`)
	require.NotEmpty(t, c.HLen(t.Context(), prefix+"m:asks").Val())
	require.EqualValues(t, 1, c.HLen(t.Context(), prefix+"m:asks").Val(), "all attempts of a phase share one")

	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	unpack(t, c, prefix, []dream.Item{fragmentOf(1, "lived"), fragmentOf(2, fragmentOf(1).ID)}, events[0])
	s = open(t, server.URL, prefix)
	require.Equal(t, "8", c.Get(t.Context(), prefix+"schema").Val(), "an older program refuses them")
	require.Equal(t, records, memorytest.Collect(t, s.Export(t.Context())))

	same, err := s.Commit(t.Context(),
		memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{fragmentOf(1, "lived")}})
	require.NoError(t, err)
	require.Zero(t, same.Changed, "equal content adds no revision, packed or not")
	for n, step := range []string{packingDream + "/onset/1", packingDream + "/onset/2"} {
		require.NoError(t,
			s.Settle(t.Context(), spend.Hold{Step: step, Attempt: 1},
				spend.Bill{State: spend.Settled, Amount: budget.Micros(n + 1), At: noon}))
	}
	balance, err := s.Ledger().Balance(t.Context(), "fleet")
	require.NoError(t, err)
	require.Equal(t, spend.Balance{Spent: 3}, balance)
	undone, err := s.Undo(t.Context(), echo, packingDream)
	require.NoError(t, err)
	require.Equal(t, 2, undone.Archived)
}

// Items of one dream that name each other are not indexed one by one.
func TestReferencesWithinADreamAreScrubbed(t *testing.T) {
	t.Parallel()
	server, prefix := servers.Shared(t), servers.Prefix(t)
	s := open(t, server.URL, prefix)
	dreamt(t, s, s.Ledger())
	require.Zero(t, server.Dial(t).Exists(t.Context(), prefix+"a:"+echo+":refers:"+fragmentOf(1).ID).Val())
	for _, id := range []string{fragmentOf(1).ID, "lived"} {
		_, err := s.Forget(t.Context(), echo, id)
		require.NoError(t, err)
	}
	left, err := memory.One[*dream.Fragment](t.Context(), s, echo, fragmentOf(2).ID)
	require.NoError(t, err)
	require.Empty(t, left.Sources)
}
