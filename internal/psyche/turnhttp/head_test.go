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
	synctest.Test(t, func(t *testing.T) { // its clock goes on at once when all wait
		hold := func() (*Head, *httptest.ResponseRecorder) {
			w := httptest.NewRecorder()
			return HoldHead(http.NewResponseController(w)), w
		}
		blocked := stuck{httptest.NewRecorder(), make(chan struct{})}
		slow := HoldHead(http.NewResponseController(blocked))
		first, late := hold()
		quick, early := hold()
		time.Sleep(headWithin / 2)
		quick.Release()
		require.False(t, late.Flushed)

		time.Sleep(headWithin / 2)
		synctest.Wait()
		require.True(t, late.Flushed, "a client that does not read holds no other up")
		require.False(t, early.Flushed, "its piece goes with it")
		first.Release()
		first.Release()
		close(blocked.until)
		slow.Release()
	})
}
