package roomtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var shared = []struct {
	name string
	run  func(t *testing.T, one, other room.Store)
}{
	{"PostsOfManyWritersAreNumberedOnce", manyWriters},
	{"OneHolderTakesAnItem", oneHolder},
	{"OneCallerChangesAState", oneChange},
	{"EventsReachTheOtherProcess", eventsReach},
}

// manyWriters posts from both processes at once; some drafts are posted twice.
func manyWriters(t *testing.T, one, other room.Store) {
	const writers, each = 4, 10
	furnish(t, one, echo)
	var working sync.WaitGroup
	faults := make(chan error, 2*writers*each)
	for w := range writers {
		for _, s := range []room.Store{one, other} {
			working.Go(func() {
				for i := range each {
					_, err := s.Post(t.Context(), draft(ada, fmt.Sprint(w, "-", i), "hello", echo), func(m room.Situation) room.Decision {
						d := count("all")(m)
						d.Deliveries = everybody(m).Deliveries
						return d
					})
					faults <- err
				}
			})
		}
	}
	working.Wait()
	for range 2 * writers * each {
		require.NoError(t, <-faults)
	}
	require.EqualValues(t, writers*each, get(t, one).Posts)
	require.Len(t, events(t, other), 2+writers*each)
	require.Len(t, inbox(t, other, echo, true), writers*each)
	require.Len(t, wakes(t, one, echo), writers*each)
	var record []byte
	_, err := one.Post(t.Context(), draft(ada, "look", "look"), func(m room.Situation) room.Decision {
		record = m.Guard("all")
		return room.Decision{}
	})
	require.NoError(t, err)
	require.Len(t, within(record), writers*each, "no count was lost")
}

func oneHolder(t *testing.T, one, other room.Store) {
	furnish(t, one, echo)
	for i := range 10 {
		post(t, one, draft(ada, numbered(i), "hello", echo))
	}
	var working sync.WaitGroup
	answered := make([]int, 8)
	for h := range answered {
		s := one
		if h%2 == 1 {
			s = other
		}
		working.Go(func() {
			for {
				mine := taking(echo, fmt.Sprint("holder ", h))
				mine.Limit = 1
				items, err := s.Take(t.Context(), mine)
				if err != nil || len(items) == 0 {
					return
				}
				if _, err := s.Finish(t.Context(), answer(items[0], "yes")); err == nil {
					answered[h]++
				}
			}
		})
	}
	working.Wait()
	sum := 0
	for _, n := range answered {
		sum += n
	}
	require.Equal(t, 10, sum)
	require.EqualValues(t, 20, get(t, one).Posts)
	require.Empty(t, inbox(t, other, echo, true))
}

func oneChange(t *testing.T, one, other room.Store) {
	furnish(t, one)
	results := make(chan error, 8)
	for i := range cap(results) {
		s := one
		if i%2 == 1 {
			s = other
		}
		go func() {
			_, err := s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Level: "sleep", Now: noon})
			results <- err
		}()
	}
	made := 0
	for range cap(results) {
		err := <-results
		if err == nil {
			made++
		} else if !errors.Is(err, room.ErrStale) {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 1, made)
}

func eventsReach(t *testing.T, one, other room.Store) {
	furnish(t, one)
	received := make(chan error, 1)
	go func() { received <- other.Await(t.Context(), ada, hall, 1) }()
	post(t, one, draft(ada, "k", "hello"))
	require.NoError(t, <-received)
	found, err := other.Events(t.Context(), ada, hall, 1, 0)
	require.NoError(t, err)
	require.Equal(t, "hall/1", found[0].Post)
}
