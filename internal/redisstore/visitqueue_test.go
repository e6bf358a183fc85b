package redisstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// heldPipelines holds every pipeline until the gate opens, and notes how many commands each has.
type heldPipelines struct {
	gate    chan struct{}
	mu      sync.Mutex
	lengths []int
}

func (h *heldPipelines) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *heldPipelines) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

func (h *heldPipelines) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, commands []goredis.Cmder) error {
		if commands[0].Name() != "evalsha" { // it prepares a connection
			return next(ctx, commands)
		}
		h.mu.Lock()
		h.lengths = append(h.lengths, len(commands))
		h.mu.Unlock()
		<-h.gate
		return next(ctx, commands)
	}
}

func (h *heldPipelines) commands() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, length := range h.lengths {
		n += length
	}
	return n
}

func TestVisitsThatComeTogetherAreSentTogether(t *testing.T) {
	t.Parallel()
	const clients = 300
	s := open(t, redis.Start(t).URL, "oneiros:")
	_, err := s.Arrive(t.Context(), visitNow())
	require.NoError(t, err)
	held := &heldPipelines{gate: make(chan struct{})}
	redisstore.Hook(s, held)
	raised, faults := make([]bool, clients), make([]error, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			v := visitNow()
			v.Agent = fmt.Sprint("agent-", i)
			a, err := s.Arrive(t.Context(), v)
			raised[i], faults[i] = a.Raised && a.Agent == v.Agent, err
		})
	}
	for held.commands()+redisstore.WaitingVisits(s) < clients {
		runtime.Gosched()
	}
	close(held.gate)
	all.Wait()
	for i := range clients {
		require.NoError(t, faults[i])
		require.True(t, raised[i], "each visit has its own reply")
	}
	require.Equal(t, clients, held.commands())
	require.LessOrEqual(t, len(held.lengths), 6, "four round trips under way, and two for all that came meanwhile")
}

func TestVisitsToAServerThatLostItsScriptsAreCarriedOut(t *testing.T) {
	t.Parallel()
	url := redis.Start(t).URL
	s := open(t, url, "oneiros:")
	options, err := goredis.ParseURL(url)
	require.NoError(t, err)
	client := goredis.NewClient(options)
	defer client.Close()
	for i := range 3 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		v := visitNow()
		v.Agent = fmt.Sprint("agent-", i)
		a, err := s.Arrive(t.Context(), v)
		require.NoError(t, err)
		require.True(t, a.Raised)
	}
}
