package turnhttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// stuck is a client that does not read.
type stuck struct {
	http.ResponseWriter
	until chan struct{}
}

func (s stuck) Flush() { <-s.until }

func TestHeadsAreSentWhenTheirFirstPieceIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heads lateHeads
		hold := func() (*Head, *httptest.ResponseRecorder) {
			w := httptest.NewRecorder()
			return heads.hold(http.NewResponseController(w)), w
		}
		blocked := stuck{httptest.NewRecorder(), make(chan struct{})}
		slow := heads.hold(http.NewResponseController(blocked))
		first, late := hold()
		time.Sleep(HeadWithin / 2)
		second, beside := hold()
		quick, early := hold()
		quick.Release()
		require.False(t, late.Flushed)

		time.Sleep(HeadWithin / 2)
		synctest.Wait()
		require.True(t, late.Flushed, "a client that does not read holds no other up")
		require.True(t, beside.Flushed, "one timer serves all")
		require.False(t, early.Flushed, "its piece goes with it")
		first.Release()
		second.Release()

		third, next := hold()
		time.Sleep(HeadWithin)
		synctest.Wait()
		require.True(t, next.Flushed, "the timer runs again")
		third.Release()
		close(blocked.until)
		slow.Release()
	})
}
