package forgetting_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// killed is the variable that makes this test program a process that forgets until it is killed. It holds a job.
const killed = "ONEIROS_TEST_FORGETS"

type job struct {
	Play       testdeploy.Config  `json:"config"`
	Agent      string             `json:"agent"`
	Selections []memory.Selection `json:"selections"`
}

func TestMain(m *testing.M) {
	if body := os.Getenv(killed); body != "" {
		if err := forgetUntilKilled(context.Background(), body); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reportingStore is a store that prints a line when it begins an erasure and when it has ended.
type reportingStore struct{ memory.Store }

func (s reportingStore) Erase(ctx context.Context, agent string, e memory.Erasure) (memory.EraseResult, error) {
	fmt.Println("erasing")
	done, err := s.Store.Erase(ctx, agent, e)
	fmt.Println("erased")
	return done, err
}

func forgetUntilKilled(ctx context.Context, body string) error {
	var j job
	if err := json.Unmarshal([]byte(body), &j); err != nil {
		return err
	}
	deployment, err := testdeploy.Open(ctx, j.Play, nil)
	if err != nil {
		return err
	}
	store := reportingStore{deployment.Store}
	for _, sel := range j.Selections {
		plan, err := memory.PlanErasure(ctx, store, j.Agent, sel)
		if err != nil {
			return err
		}
		if _, err := memory.ForgetAll(ctx, store, j.Agent, plan); err != nil {
			return err
		}
	}
	return deployment.Close()
}

// TestAKilledForgettingIsFinishedByRepeatingIt kills the process that forgets at each of its steps: as a step begins,
// in the middle of it, and when it has just ended.
func TestAKilledForgettingIsFinishedByRepeatingIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var store *redis.Server
			if kind == "Redis" {
				store = redis.Start(t, redis.Config("aof-use-rdb-preamble", "no"))
			}
			for line := 1; line <= 6; line++ {
				h := open(t, temporal.Shared(t), func(config *testdeploy.Config) {
					if store != nil {
						config.Redis, config.Prefix = store.URL, fmt.Sprintf("oneiros%d:", line)
					}
				})
				h.redis = store
				h.addTexts(12)
				h.killAt(line)
				for _, sel := range h.selections() {
					plan, err := memory.PlanErasure(t.Context(), h.deployment.Store, h.agent.ID, sel)
					require.NoError(t, err)
					_, err = memory.ForgetAll(t.Context(), h.deployment.Store, h.agent.ID, plan)
					require.NoError(t, err)
				}
				require.Empty(t, h.leaks(h.files()...), "killed at line %d", line)
				require.Equal(t, 12*len(h.removed), h.kept(h.exports()...))
			}
		})
	}
}

// killAt starts another process that forgets, and kills it when it has printed so many lines.
func (h *deployment) killAt(line int) {
	h.Helper()
	body, err := json.Marshal(job{Play: h.deployment.Config, Agent: h.agent.ID, Selections: h.selections()})
	require.NoError(h, err)
	self, err := os.Executable()
	require.NoError(h, err)
	child := exec.Command(self)
	child.Env, child.Dir = append(os.Environ(), killed+"="+string(body)), filepath.Dir(self)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(h, err)
	require.NoError(h, child.Start())
	lines := bufio.NewScanner(out)
	for range line {
		require.True(h, lines.Scan(), "the process ended before it was killed")
	}
	require.NoError(h, child.Process.Kill())
	require.Error(h, child.Wait())
}
