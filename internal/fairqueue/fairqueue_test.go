package fairqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// enter waits for a place; leave must be called.
func enter(ctx context.Context, q *Queue, r Request) (leave func(), err error) {
	t, err := q.Join(r)
	if err != nil {
		return nil, err
	}
	if err := t.Wait(ctx); err != nil {
		t.Leave()
		return nil, err
	}
	return t.Leave, nil
}

// load is what a deployment of one flooding key and some quiet ones sees.
type load struct {
	slowest map[string]time.Duration // wait of a request that was served, by key
	held    map[string]time.Duration // how long its requests held places, by key
	lost    map[string]int           // requests without a place, by key
}

const holdMost = 2 * time.Second

// play lets a key send 200 requests at once and again whenever they are through, for five minutes, beside three keys
// that send one request at a time, and two that keep 20 waiting.
func play(t *testing.T, seed uint64, alter func(*Queue)) load {
	t.Helper()
	l := load{map[string]time.Duration{}, map[string]time.Duration{}, map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Places: 8, Waiting: 300, Wait: time.Minute})
		alter(q)
		var mu sync.Mutex
		var over sync.WaitGroup
		end := time.Now().Add(5 * time.Minute)
		send := func(key string, dice *rand.Rand, pause time.Duration) {
			over.Go(func() {
				for time.Now().Before(end) {
					began := time.Now()
					leave, err := enter(t.Context(), q, Request{Key: key})
					mu.Lock()
					if err != nil {
						l.lost[key]++
					} else {
						l.slowest[key] = max(l.slowest[key], time.Since(began))
					}
					mu.Unlock()
					if err != nil {
						time.Sleep(time.Second)
						continue
					}
					hold := time.Duration(dice.Int64N(int64(holdMost)))
					time.Sleep(hold)
					leave()
					mu.Lock()
					l.held[key] += hold
					mu.Unlock()
					time.Sleep(pause)
				}
			})
		}
		for i := range 200 {
			send("flood", rand.New(rand.NewPCG(seed, uint64(i))), 0)
		}
		for i := range 40 {
			send(fmt.Sprintf("busy%d", i%2), rand.New(rand.NewPCG(seed, uint64(1000+i))), 0)
		}
		for i := range 3 {
			send(fmt.Sprintf("quiet%d", i), rand.New(rand.NewPCG(seed, uint64(2000+i))), 3*time.Second)
		}
		over.Wait()
		require.Zero(t, q.held)
		require.Empty(t, q.waiting)
		require.Empty(t, q.keys, "nothing is kept of a key that has gone")
	})
	return l
}

// faults are what is unfair in a load.
func faults(l load) (found []string) {
	for i := range 3 {
		key := fmt.Sprintf("quiet%d", i)
		// One of eight places becomes free within the longest time that one is held, and at most two other quiet keys
		// go first.
		if l.slowest[key] > holdMost {
			found = append(found, fmt.Sprintf("%s waited %v", key, l.slowest[key]))
		}
		if l.lost[key] > 0 {
			found = append(found, fmt.Sprintf("%s got no place %d times", key, l.lost[key]))
		}
	}
	for _, key := range []string{"busy0", "busy1"} { // eight places are not a multiple of three
		if share := float64(l.held[key]) / float64(l.held["flood"]); share < .7 || share > 1.4 {
			found = append(found, fmt.Sprintf("%s held %.2f of what the flood held", key, share))
		}
	}
	return found
}

func TestAKeyThatFloodsWaitsBehindItself(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		require.Empty(t, faults(play(t, seed, func(*Queue) {})), "seed %d", seed)
	}
}

// The control: in the order of arrival everybody waits behind the flood.
func TestFirstComeFirstServedIsUnfair(t *testing.T) {
	t.Parallel()
	found := faults(play(t, 1, func(q *Queue) { q.before = func(a, b *Ticket) bool { return false } }))
	require.Len(t, found, 5, "three quiet keys waited, and two busy ones got less than the flood: %v", found)
}

func TestPeopleGoBeforeProgramsAndDreamsLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Places: 1, Waiting: 9, Wait: time.Minute})
		leave, err := enter(t.Context(), q, Request{Key: "a"})
		require.NoError(t, err)
		var sequence []Class
		var over sync.WaitGroup
		for _, class := range []Class{Dream, Program, Person, Dream, Program, Person} {
			over.Go(func() {
				leave, err := enter(t.Context(), q, Request{Key: "b", Class: class})
				if err == nil {
					sequence = append(sequence, class) // one at a time has the place
					leave()
				}
			})
			synctest.Wait()
		}
		leave()
		over.Wait()
		require.Equal(t, []Class{Person, Person, Program, Program, Dream, Dream}, sequence)
	})
}

func TestDreamsLeaveAPlaceFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Places: 2, Dreams: 1, Waiting: 9, Wait: time.Minute})
		first, err := q.Join(Request{Class: Dream})
		require.NoError(t, err)
		second, err := q.Join(Request{Class: Dream})
		require.NoError(t, err)
		require.True(t, first.Placed())
		require.False(t, second.Placed())
		person, err := q.Join(Request{Class: Person})
		require.NoError(t, err)
		require.True(t, person.Placed(), "a person does not wait for a dream's call")
		first.Leave()
		require.True(t, second.Placed())
	})
}

func TestAFullQueueRefusesTheLongestKeysLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Places: 1, Waiting: 3, Wait: time.Minute})
		held, err := q.Join(Request{Key: "flood"})
		require.NoError(t, err)
		var floods []*Ticket
		for range 3 {
			f, err := q.Join(Request{Key: "flood"})
			require.NoError(t, err)
			floods = append(floods, f)
		}
		_, err = q.Join(Request{Key: "flood"})
		refusal, refused := AsRefused(err)
		require.True(t, refused, "its own newcomer is the last")
		require.Equal(t, Full, refusal.Reason)
		quiet, err := q.Join(Request{Key: "quiet"})
		require.NoError(t, err)
		refusal, refused = AsRefused(floods[2].Wait(t.Context()))
		require.True(t, refused, "the flood's newest made room")
		require.Equal(t, Full, refusal.Reason)
		_, err = q.Join(Request{Key: "program", Class: Program})
		require.Error(t, err, "a program makes no room among people")
		held.Leave()
		require.NoError(t, quiet.Wait(t.Context()))
		quiet.Leave()
		require.True(t, floods[0].Placed())
	})
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ends := map[Reason]time.Duration{}
		length := 0
		q := New(Options{
			Places: 1, Waiting: 9, Wait: 10 * time.Second, Length: func(n int) { length = n },
			Waited: func(waited time.Duration, why Reason) { ends[why] = waited },
		})
		for range 3 { // places are held for 4 s
			leave, err := enter(t.Context(), q, Request{Key: "a"})
			require.NoError(t, err)
			time.Sleep(4 * time.Second)
			leave()
		}
		held, err := q.Join(Request{Key: "a"})
		require.NoError(t, err)
		hasty, hangUp := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() {
			_, err := enter(hasty, q, Request{Key: "b"})
			require.ErrorIs(t, err, context.Canceled)
		})
		over.Go(func() {
			began := time.Now()
			_, err := enter(t.Context(), q, Request{Key: "c"})
			refusal, refused := AsRefused(err)
			require.True(t, refused)
			require.Equal(t, Refused{Late, 4 * time.Second}, *refusal, "the measured time that a place is held")
			require.Equal(t, 10*time.Second, time.Since(began))
		})
		synctest.Wait()
		require.Equal(t, 2, length)
		time.Sleep(time.Second)
		hangUp()
		synctest.Wait()
		require.Equal(t, 1, length, "who hangs up leaves at once")
		over.Wait()
		require.Zero(t, length)
		require.Equal(t, map[Reason]time.Duration{GaveUp: time.Second, Late: 10 * time.Second}, ends)
		held.Leave()
		leave, err := enter(t.Context(), q, Request{Key: "a"})
		require.NoError(t, err, "no place got lost")
		leave()
	})
}

func TestWithoutWaitingARequestIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	q := New(Options{Places: 2, Each: 1, Wait: 0, Waiting: 9})
	first, err := q.Join(Request{Key: "a"})
	require.NoError(t, err)
	_, err = q.Join(Request{Key: "a"})
	refusal, _ := AsRefused(err)
	require.Equal(t, &Refused{Owners, time.Second}, refusal)
	stream, err := q.Join(Request{Key: "b", Lasting: true})
	require.NoError(t, err)
	_, err = q.Join(Request{Key: "c"})
	refusal, _ = AsRefused(err)
	require.Equal(t, Full, refusal.Reason)
	first.Leave()
	stream.Leave()
	require.Empty(t, q.keys)
}
