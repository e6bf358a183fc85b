package waking_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// slowHook is a webhook that holds the first request of one border until its caller ends it.
type slowHook struct {
	border activities.Border
	asking chan struct{}
	hungUp chan struct{}

	mu    sync.Mutex
	calls int
}

func (h *slowHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if activities.Border(r.Header.Get(governor.BorderHeader)) != h.border {
		return
	}
	h.mu.Lock()
	h.calls++
	first := h.calls == 1
	h.mu.Unlock()
	if first {
		// else the end of the connection is not noticed
		_, _ = http.MaxBytesReader(w, r.Body, 1<<20).Read(make([]byte, 1<<20))
		close(h.asking)
		<-r.Context().Done()
		close(h.hungUp)
	}
}

// A wake waits for no hook: it ends the request, which is made again when the dream resumes.
func TestAConnectDoesNotWaitForAHook(t *testing.T) {
	t.Parallel()
	for _, border := range []activities.Border{activities.AtEntry, activities.AtCapture} {
		t.Run(string(border), func(t *testing.T) {
			t.Parallel()
			hook := &slowHook{border: border, asking: make(chan struct{}), hungUp: make(chan struct{})}
			server := httptest.NewServer(hook)
			t.Cleanup(server.Close)
			r := openScene(t, options{edit: func(p *testdeploy.Config) {
				p.Webhook = server.URL
				p.Rules = []activities.HookRule{
					{
						Name: testdeploy.WebhookName, At: activities.Borders, Timeout: activities.LongestHook,
						Silent: activities.SilentRefuse,
					},
				}
			}})
			agent := r.addAgent()
			id := first(agent)
			r.begin(agent)
			r.waitFor(hook.asking, "the hook is asked")
			woken := r.connect(agent)
			require.True(t, woken.Raised)
			r.waitFor(hook.hungUp, "the question is cut")
			require.Equal(t, id, r.recorded(woken).Dream)
			r.release(agent)
			r.resume(agent)
			r.requireOutcome(id, dream.Completed)
			require.Equal(t, 2, r.night(agent, id).Stretches)
			require.Empty(t, r.events(agent, event.HookTimedOut{}), "the request was ended by the wake, not given up")
			hook.mu.Lock()
			require.Greater(t, hook.calls, 1, "the hook is called again")
			hook.mu.Unlock()
			r.audit(1)
		})
	}
}

// waitFor waits until the channel is closed.
func (r *scene) waitFor(what <-chan struct{}, name string) {
	r.t.Helper()
	select {
	case <-what:
	case <-r.ctx.Done():
		require.FailNow(r.t, "never: "+name, "%v", r.ctx.Err())
	}
}
