package matrix_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/testsuite/matrix/homeserver"
)

func TestABridgeTellsWhatItHasYetToSend(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	var away atomic.Bool
	r.scripted.Intercept = func(w http.ResponseWriter, _ *http.Request, user string) bool {
		if !away.Load() || user != r.user("echo") {
			return false
		}
		homeserver.Fail(w, http.StatusBadGateway, "M_UNKNOWN", nil)
		return true
	}
	queue := func() matrix.Queue {
		q, err := matrix.QueueOf(t.Context(), r.running)
		require.NoError(t, err)
		return q
	}
	r.start()
	hall := ada.opens("echo")
	native := r.native(hall)
	ada.says(hall, "@echo hello?")
	ada.receives(hall, "echo", "I hear you.")
	r.until("everything is sent", func() bool { return queue() == matrix.Queue{Accounts: 1, Connected: 1} })

	away.Store(true)
	_, err := r.rooms.Post(t.Context(), operator, rooms.PostRequest{Room: native, Body: "Is anybody there?"})
	require.NoError(t, err)
	r.until("a post waits", func() bool { return queue().Unsent > 0 })
	require.Equal(t, 1, queue().Connected, "it has answered lately")
	r.pass(3 * time.Minute)
	q := queue()
	require.Zero(t, q.Connected)
	require.GreaterOrEqual(t, q.Oldest, 3*time.Minute)

	away.Store(false)
	ada.receives(hall, "echo", "local: Is anybody there?")
	r.until("everything is sent again", func() bool { return queue() == matrix.Queue{Accounts: 1, Connected: 1} })
}
