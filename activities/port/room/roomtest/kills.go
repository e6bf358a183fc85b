package roomtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// Furnish makes a room with a person and an agent, for Work.
func Furnish(t testing.TB, s room.Store) { furnish(t, s, echo) }

// Work posts a mention and answers whatever waits, as a process does that is killed somewhere in between. It calls done
// with the name of each step that the store has acknowledged.
func Work(ctx context.Context, s room.Store, id string, done func(step string)) error {
	if _, err := s.Post(ctx, draft(ada, id, id, echo), everybody); err != nil {
		return err
	}
	done("posted " + id)
	one := taking(echo, "worker")
	one.Limit, one.For = 1, time.Hour
	items, err := s.Take(ctx, one)
	if err != nil {
		return err
	}
	for _, i := range items {
		if _, err := s.Finish(ctx, answer(i, "answer to "+i.Key)); err != nil {
			return err
		}
		done("answered " + i.Key)
	}
	return nil
}

// Feed returns the offset of the newest event of the room of Work.
func Feed(t testing.TB, s room.Store) int64 {
	t.Helper()
	return get(t, s).Events
}

// AwaitFeed waits for events of the room of Work after an offset.
func AwaitFeed(t testing.TB, s room.Store, after int64) {
	t.Helper()
	require.NoError(t, s.Await(t.Context(), ada, hall, after))
}

// CheckWork answers what the killed processes left, and checks that every acknowledged step was made, that every
// mention was answered exactly once, and that it was paid for once.
func CheckWork(t testing.TB, d Deployment, steps []string) {
	t.Helper()
	s := d.Rooms()
	for {
		items := take(t, s, echo, "worker")
		if len(items) == 0 {
			break
		}
		for _, i := range items {
			_, err := s.Finish(t.Context(), answer(i, "answer to "+i.Key))
			require.NoError(t, err)
		}
	}
	mentions, replies := map[string]string{}, map[string]int{}
	for last := int64(0); ; {
		page, err := s.History(t.Context(), room.Query{Room: hall, As: ada, From: room.Oldest, After: last})
		require.NoError(t, err)
		for i, p := range page.Posts {
			require.EqualValues(t, last+int64(i)+1, p.Offset)
			if p.Author == ada {
				mentions["posted "+p.Body] = p.ID
			} else {
				replies[p.ReplyTo]++
			}
		}
		last += int64(len(page.Posts))
		if !page.More {
			break
		}
	}
	require.Len(t, replies, len(mentions))
	for _, id := range mentions {
		require.Equal(t, 1, replies[id], id)
	}
	answered := map[string]bool{}
	checkWakes(t, s, len(mentions), answered)
	for _, step := range steps {
		require.True(t, mentions[step] != "" || answered[step], step)
	}
	events := int64(2 + 3*len(mentions)) // created and joined, then posted, answered and resolved
	require.Equal(t, events, get(t, s).Events)
	sound(t, d)
}

func checkWakes(t testing.TB, s room.Store, n int, answered map[string]bool) {
	t.Helper()
	count := 0
	for last := int64(0); ; {
		page, err := s.Wakes(t.Context(), echo.ID, last, 0)
		require.NoError(t, err)
		for _, w := range page {
			require.Equal(t, room.Replied, w.Outcome, w.Key)
			require.EqualValues(t, 7, w.Cost, w.Key)
			answered[fmt.Sprint("answered ", w.Key)] = true
		}
		count += len(page)
		if len(page) == 0 {
			break
		}
		last = page[len(page)-1].Number
	}
	require.Equal(t, n, count)
}
