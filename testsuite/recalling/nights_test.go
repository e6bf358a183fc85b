package recalling_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/footprint"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestNights measures recall before and after as many nights as NIGHTS names, such as 1,5,30, with the built-in model
// on a real Temporal server.
func TestNights(t *testing.T) {
	files, nights := os.Getenv("LOCOMO"), os.Getenv("NIGHTS")
	if files == "" || nights == "" {
		t.Skip("make bench-memory LOCOMO=locomo10.json NIGHTS=1,5,30 measures recall before and after nights")
	}
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, store := range []string{"SQLite", "Redis"} {
			for _, d := range dialogues {
				sleepOver(t, d, store, localmodel.Static, strings.Split(nights, ","))
			}
		}
		if os.Getenv("ONEIROS_TEST_MINILM") != "" {
			for _, d := range dialogues {
				sleepOver(t, d, "SQLite", localmodel.MiniLM, strings.Split(nights, ","))
			}
		}
	}
}

// lived is what an agent's memory contains, in kinds.
var lived = []dream.Kind{
	dream.KindEpisode, dream.KindSemantic, dream.KindGist, dream.KindPlaybook,
	dream.KindPrediction, dream.KindFragment,
}

func sleepOver(t *testing.T, d recalling.Dialogue, kind, embedder string, nights []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 55*time.Minute)
	defer cancel()
	server := temporal.Shared(t)
	file := filepath.Join(t.TempDir(), "memory.db")
	config := testdeploy.Config{
		Store: file, Address: server.Address, Namespace: server.Namespace, Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true,
	}
	if embedder == localmodel.MiniLM {
		config.MiniLM = os.Getenv("ONEIROS_TEST_MINILM")
	}
	measure := func() (footprint.Footprint, error) { return footprint.File(ctx, file) }
	if kind == "Redis" {
		shared := redis.Shared(t)
		config.Redis, config.Prefix = shared.URL, redis.Prefix(t)
		client := shared.Dial(t)
		measure = func() (footprint.Footprint, error) { return footprint.Server(ctx, client, config.Prefix) }
	}
	deployment, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, deployment.Close()) }()
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	defer w.Stop()
	agent := dream.Agent{
		ID:      "ag_bench",
		Handle:  "bench-" + strings.ToLower(d.Name),
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: testdeploy.Night,
		Models:  map[dream.Role]string{dream.Embedder: embedder},
	}
	require.NoError(t, deployment.Store.PutAgent(ctx, agent))
	b, err := recalling.Load(ctx, deployment.Store, agent, embedBy(embedder), calibrationOf(t, embedder), d, nil)
	require.NoError(t, err)
	before, err := b.Judge(ctx, b.Recall)
	require.NoError(t, err)
	again, err := b.Judge(ctx, b.Recall)
	require.NoError(t, err)
	require.Equal(t, before, again, "the negative control: without a night nothing changes")
	empty, err := measure()
	require.NoError(t, err)
	fmt.Printf("\ndialogue %s on %s, nights with %s and %s, before: hit@10 %.1f\n", d.Name, kind,
		localmodel.Associative, embedder, 100*recalling.Score(before, 0, 10))
	thinned(t, ctx, b, before)
	done := 0
	for _, text := range nights {
		until, err := strconv.Atoi(strings.TrimSpace(text))
		require.NoError(t, err, "NIGHTS holds numbers with commas between, such as 1,5,30")
		outcomes := map[dream.Outcome]int{}
		for ; done < until; done++ {
			seed := uint64(done + 1)
			begun, err := deployment.Starter.Begin(ctx,
				starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night.AddDate(0, 0, done)})
			require.NoError(t, err)
			result, err := deployment.Result(ctx, begun.Dream)
			require.NoError(t, err)
			outcomes[result.Outcome]++
		}
		after, err := b.Judge(ctx, b.Recall)
		require.NoError(t, err)
		c := b.Compare(before, after)
		share, items, err := b.Repeated(ctx, lived)
		require.NoError(t, err)
		taken, err := measure()
		require.NoError(t, err)
		grown := taken.Growth(empty, done)
		fmt.Printf(
			"after %d nights (%v): hit@10 %.1f, %d questions lost, %d gained [%+d, %+d], %+.1f points [%+.1f, %+.1f]; "+
				"%.1f %% of %d live items repeat another; %.0f kB a night\n",
			done, outcomes, 100*recalling.Score(after, 0, 10), c.Lost, c.Gained, c.LeastNet, c.MostNet, c.Points,
			c.Low, c.High, 100*share, items,
			float64(grown.Total)/1000)
		if text == nights[len(nights)-1] {
			fmt.Printf("a night adds %s", grown)
		}
	}
}

// thinned is the positive control: a memory without one in fifty of its episodes, drawn controlDraws times, must find
// less.
func thinned(t *testing.T, ctx context.Context, b *recalling.Bench, before []recalling.Verdict) {
	t.Helper()
	net, points, worst := 0, 0.0, 0
	for salt := range controlDraws {
		verdicts, err := b.Judge(ctx, b.Without(func(episode string) bool {
			h := fnv.New32a()
			fmt.Fprint(h, salt, " ", episode)
			return h.Sum32()%50 == 0
		}))
		require.NoError(t, err)
		c := b.Compare(before, verdicts)
		net, points, worst = net+c.Gained-c.Lost, points+c.Points, min(worst, c.Gained-c.Lost)
	}
	fmt.Printf("control, 1 in 50 episodes gone, %d times: %+.1f questions net on average, %+d at worst, %+.1f points\n",
		controlDraws, float64(net)/controlDraws, worst, points/controlDraws)
	require.Negative(t, net, "the measure does not notice missing episodes")
}

// controlDraws is how often the positive control is drawn.
const controlDraws = 20
