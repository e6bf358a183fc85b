package fairqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALoadTellsWhoHeldPlacesAndWhoWasRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Places: 2, Waiting: 1, Wait: 10 * time.Second})
		join := func(key string) *Ticket {
			ticket, err := q.Join(Request{Key: key})
			require.NoError(t, err)
			return ticket
		}
		before := join("heavy") // before anybody asks
		time.Sleep(time.Hour)
		require.Equal(t, Load{Since: time.Now()}, q.Load(), "it begins with the first call")
		light := join("light")
		time.Sleep(3 * time.Second)
		light.Leave()
		join("heavy")
		began := time.Now()
		waiting := join("light")
		_, err := q.Join(Request{Key: "light"})
		refused, _ := AsRefused(err)
		require.Equal(t, Full, refused.Reason)
		time.Sleep(4 * time.Second)
		before.Leave()
		require.NoError(t, waiting.Wait(t.Context()))
		late := join("heavy")
		require.Error(t, late.Wait(t.Context()))
		load := q.Load()
		require.Equal(t, Load{
			Since:   began.Add(-3 * time.Second),
			Refused: 2,
			Waited:  3,
			Longest: 10 * time.Second,
			Held:    map[string]time.Duration{"heavy": 21 * time.Second, "light": 13 * time.Second},
		}, load)
		require.InDelta(t, 21./34, load.Shares()["heavy"], 1e-9)
		time.Sleep(time.Second)
		require.Equal(t, Load{
			Since: began.Add(14 * time.Second),
			Held:  map[string]time.Duration{"heavy": time.Second, "light": time.Second},
		}, q.Load(), "of a second")
		require.Empty(t, Load{}.Shares())
	})
}
