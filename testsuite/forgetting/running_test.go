package forgetting_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestARunningDreamWritesNothingOfTextForgottenMeanwhile holds a dream while models answer prompts that show the
// texts to forget, forgets them, lets the dream continue, and reads every file and every export when it is over.
func TestARunningDreamWritesNothingOfTextForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Redis"} {
		for name, answered := range map[string]int{"AtTheFirstPrompt": 0, "WhenMuchIsKept": muchKept} {
			t.Run(kind+name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() {
					t.Skip("runs on a real Temporal server; make test runs it")
				}
				server := temporal.Start(t)
				var store *redis.Server
				if kind == "Redis" {
					store = redis.Start(t, redis.Config("aof-use-rdb-preamble", "no"))
				}
				h := open(t, server, func(config *testdeploy.Config) {
					if store != nil {
						config.Redis, config.Prefix = store.URL, "oneiros:"
					}
				})
				h.redis = store
				w, err := h.deployment.StartWorker()
				require.NoError(t, err)
				t.Cleanup(w.Stop)
				h.addTexts(12)
				before := h.kept(h.exports()...)
				h.forgetDuringDream(answered)
				require.Empty(t, h.leaks(h.files()...), "in the files of the store")
				require.Empty(t, h.leaks(h.exports()...), "in exports")
				require.Equal(t, before, h.kept(h.exports()...), "what was not to be forgotten stays")
			})
		}
	}
}

// muchKept is how many prompts that show texts to forget are answered before one is held, so that the dream has
// stored something of them already.
const muchKept = 12

// forgetDuringDream begins a dream, lets models answer so many prompts that show a text to forget, forgets during the
// next one, and waits for the dream's end.
func (h *deployment) forgetDuringDream(answered int) {
	h.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	defer let()
	once := sync.OnceFunc(func() { close(held) })
	var shown atomic.Int64
	hold := func(prompt string) {
		if len(h.leaks([]byte(prompt))) > 0 && shown.Add(1) > int64(answered) {
			once()
			<-release
		}
	}
	h.hold.Store(&hold)
	defer h.hold.Store(nil)

	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	h.useModel("scripted/script")
	seed := uint64(11)
	begun, err := h.deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: h.agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(h, err)
	select {
	case <-held:
	case <-ctx.Done():
		h.Fatalf("%d prompts showed a text to forget, and one more was wanted", shown.Load())
	}
	h.forget(nil)
	require.Empty(h, h.leaks(h.files()...), "in the files of the store, while the dream goes on")
	h.requests.since()
	let()
	result, err := h.deployment.Result(ctx, begun.Dream)
	require.NoError(h, err)
	require.Contains(h, []dream.Outcome{dream.Completed, dream.Empty}, result.Outcome, result.Reason)
	request := h.requests.since()
	require.NotEmpty(h, request, "what was read before is read again")
	require.Empty(h, h.leaks(request...), "no prompt shows it once it is forgotten")
}
