package foretelling_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/foretelling"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// TestTheBuiltInModelForetellsBetterThanItsDecoys lets the built-in model dream of the first 70 % of the sessions of
// each dialogue, and judges its predictions by the other sessions.
func TestTheBuiltInModelForetellsBetterThanItsDecoys(t *testing.T) {
	files := os.Getenv("LOCOMO")
	if files == "" {
		t.Skip("make bench-foretelling LOCOMO=locomo10.json measures what the built-in model foretells")
	}
	nights, err := strconv.Atoi(cmp.Or(os.Getenv("NIGHTS"), "5"))
	require.NoError(t, err, "NIGHTS is a number")
	var all []foretelling.Trial
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, d := range dialogues {
			trials := foretell(t, d, nights)
			report(d.Name, trials)
			all = append(all, trials...)
		}
	}
	f := report("all", all)
	for _, c := range all {
		fmt.Printf("%s: %s first, then %d of %d, decoys %d of %d; confidence %.2f, base %.3f\n", c.ID, c.First,
			c.Hits, c.Hits+c.Misses, c.DecoyHits, c.DecoyHits+c.DecoyMisses, c.Confidence, c.Base)
		if os.Getenv("SHOW") != "" {
			fmt.Println("   ", claims.Describe(c.Check))
		}
	}
	require.Positive(t, f.Lead.Low, "the rate of claims minus that of their decoys")
	require.Positive(t, f.Brier.Low, "Brier skill against the base rate")
}

func report(name string, trials []foretelling.Trial) foretelling.Figures {
	f := foretelling.Sum(trials, rand.New(rand.NewPCG(1, 2)))
	fmt.Printf("%s: %d claims, %d with %d outcomes; %.1f %% came true, of decoys %.1f %%, %+.1f points [%+.1f, %+.1f]; "+
		"Brier skill %+.3f [%+.3f, %+.3f]\n", name, f.Claims, f.Judged, f.Outcomes, 100*f.Rate, 100*f.Decoys,
		100*f.Lead.Mean, 100*f.Lead.Low, 100*f.Lead.High, f.Brier.Mean, f.Brier.Low, f.Brier.High)
	return f
}

// foretell dreams of the first sessions of a dialogue and judges what was foretold by the others.
func foretell(t *testing.T, d recalling.Dialogue, nights int) []foretelling.Trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	whole, _ := importDialogue(t, ctx, filepath.Join(t.TempDir(), "whole.db"), d, nil)
	last := 0
	for _, e := range whole {
		last = max(last, sessionOf(e.Origin))
	}
	cut := last * 7 / 10
	file := filepath.Join(t.TempDir(), "memory.db")
	earlier, agent := importDialogue(t, ctx, file, d, func(turn string) bool { return sessionOf(":x/"+turn) > cut })
	now := earlier[len(earlier)-1].At.Add(12 * time.Hour)

	server := temporal.Shared(t)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: file, Address: server.Address, Namespace: server.Namespace, Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true,
	}, server.Dial(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, deployment.Close()) }()
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	defer w.Stop()
	for n := range nights {
		seed := uint64(n + 1)
		begun, err := deployment.Starter.Begin(ctx,
			starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: now.Add(time.Duration(n) * time.Second)})
		require.NoError(t, err)
		result, err := deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		require.Equal(t, dream.Completed, result.Outcome)
	}
	items, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindPrediction}, Sort: memory.Oldest})
	require.NoError(t, err)
	var lived []claims.Episode
	for _, e := range whole {
		lived = append(lived, claims.Episode{ID: e.ID, At: e.At, Terms: claims.NameOf(e.Content)})
	}
	return foretelling.Judge(memory.As[*dream.Prediction](items), claims.WithoutCopies(lived), rand.New(rand.NewPCG(3, 4)))
}

// sessionOf is the session of an episode's first turn, by its origin.
func sessionOf(origin string) int {
	_, turn, _ := strings.Cut(origin, "/D")
	number, _, _ := strings.Cut(turn, ":")
	n, _ := strconv.Atoi(number)
	return n
}

func importDialogue(t *testing.T, ctx context.Context, file string, d recalling.Dialogue,
	drop func(turn string) bool,
) ([]*dream.Episode, dream.Agent) {
	t.Helper()
	store, err := sqlitestore.Open(ctx, file)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	agent := dream.Agent{
		ID:      "ag_bench",
		Handle:  "bench-" + strings.ToLower(d.Name),
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: testdeploy.Night,
		Models:  map[dream.Role]string{dream.Embedder: localmodel.Static},
	}
	require.NoError(t, store.PutAgent(ctx, agent))
	model := localmodel.New()
	embed := func(ctx context.Context, texts []string) ([][]float32, string, error) {
		v, err := model.Embed(ctx, localmodel.Static, texts, "")
		return v.V, v.Space, err
	}
	_, err = recalling.Load(ctx, store, agent, embed, localmodel.Specs()[1].Calibration, d, drop)
	require.NoError(t, err)
	items, err := store.Find(ctx, memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.Oldest})
	require.NoError(t, err)
	return memory.As[*dream.Episode](items), agent
}
