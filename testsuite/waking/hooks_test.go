package waking_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// slowHook is a webhook that lets the first question of one border wait until whoever asked hangs up.
type slowHook struct {
	border activities.Border
	asking chan struct{}
	hungUp chan struct{}

	mu    sync.Mutex
	asked int
}

func (h *slowHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if activities.Border(r.Header.Get(governor.BorderHeader)) != h.border {
		return
	}
	h.mu.Lock()
	h.asked++
	first := h.asked == 1
	h.mu.Unlock()
	if first {
		// or the end of the connection is not seen
		_, _ = http.MaxBytesReader(w, r.Body, 1<<20).Read(make([]byte, 1<<20))
		close(h.asking)
		<-r.Context().Done()
		close(h.hungUp)
	}
}

// A wake waits for no hook: it cuts the question, which is asked again when the dream goes on.
func TestAConnectWhileAHookIsAskedWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	for _, border := range []activities.Border{activities.AtEntry, activities.AtCapture} {
		t.Run(string(border), func(t *testing.T) {
			t.Parallel()
			hook := &slowHook{border: border, asking: make(chan struct{}), hungUp: make(chan struct{})}
			server := httptest.NewServer(hook)
			t.Cleanup(server.Close)
			r := furnish(t, furniture{edit: func(p *testdeploy.Config) {
				p.Webhook = server.URL
				p.Rules = []activities.HookRule{
					{
						Name: testdeploy.WebhookName, At: activities.Borders, Timeout: activities.LongestHook,
						Silent: activities.SilentRefuse,
					},
				}
			}})
			agent := r.hire()
			id := first(agent)
			r.begin(agent)
			r.happens(hook.asking, "the hook is asked")
			woken := r.connect(agent)
			require.True(t, woken.Raised)
			r.happens(hook.hungUp, "the question is cut")
			require.Equal(t, id, r.recorded(woken).Dream)
			r.leave(agent)
			r.resume(agent)
			r.ends(id, dream.Completed)
			require.Equal(t, 2, r.night(agent, id).Stretches)
			require.Empty(t, r.events(agent, event.HookSilent{}), "it was cut, and not given up")
			hook.mu.Lock()
			require.Greater(t, hook.asked, 1, "and asked again")
			hook.mu.Unlock()
			r.sound(1)
		})
	}
}

// happens waits for something that is told by closing a channel.
func (r *room) happens(what <-chan struct{}, name string) {
	r.t.Helper()
	select {
	case <-what:
	case <-r.ctx.Done():
		require.FailNow(r.t, "never: "+name, "%v", r.ctx.Err())
	}
}
