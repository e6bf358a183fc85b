package ablation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

const (
	usageWait = 5 * time.Second
	patient   = 10 * time.Minute // for one call of a slow model, which may wait for others
)

// Knobs of every night: the product's defaults, shortened so that a model of fifteen tokens a second on one core
// finishes an onset in a minute. docs/ablation.md says what is left out.
func Knobs(a Arm) dream.Knobs {
	k := dream.DefaultKnobs()
	k.OnsetEnabled, k.Loosening, k.Depth = a.Onset, a.Way, dream.DepthFixed
	k.Cycles, k.Partials, k.PartialTokens = 2, 3, 50
	k.AnswerTokens, k.ShownCharacters = 220, 1500
	k.ReplayEpisodes, k.LastLookEntries = 4, 0
	k.Branches, k.Keep, k.RemRounds = 2, 2, 0
	k.CallTimeout, k.IdleToken = patient, patient
	// A phase without money makes no call, so caps end a night where its arm ends.
	k.Shares = budget.Shares{Onset: 98, Integration: 1, Return: 1}
	if a.Whole {
		k.Shares = budget.Shares{
			Onset:       30,
			NREM:        30,
			REM:         38,
			Integration: 1,
			Return:      1,
		}
	}
	k.BudgetFraction = float64(k.Shares.Onset+k.Shares.Return) / 100
	return k
}

// allowance of a night: more than any spends, at any price; a hundredth of it buys no call.
var allowance = budget.Tokens{In: 80_000, Out: 20_000}

// Bench is where a night runs: a Temporal server with a namespace and a task queue of its own, and a folder for the
// store.
type Bench struct {
	Address, Namespace, Queue string
	Client                    client.Client
	Store                     string
}

// Dream runs one dream over the companion's sample diary, from the same memories as every other.
func Dream(ctx context.Context, e Endpoint, a Arm, seed uint64, b Bench) (Night, error) {
	n := Night{Arm: a.Name, Seed: seed, Spent: map[dream.Phase]budget.Micros{}}
	config := testdeploy.Config{
		Store:     b.Store,
		Address:   b.Address,
		Namespace: b.Namespace,
		Queue:     b.Queue,
		Knobs:     Knobs(a),
	}
	deployment, err := testdeploy.Open(ctx, config, b.Client)
	if err != nil {
		return n, err
	}
	defer func() { _ = deployment.Close() }()
	table, ok := deployment.Ports.Catalog.(inference.Table)
	if !ok {
		return n, fmt.Errorf("the deployment's catalogue is a %T; it must be a table", deployment.Ports.Catalog)
	}
	models, err := e.models(a, table)
	if err != nil {
		return n, err
	}
	deployment.Ports.Guard.Model, deployment.Starter.Options.Models = models, e.modelsByRole()
	agent, err := addCompanion(ctx, deployment, models, e.embedder(), e.Price.Cost(allowance))
	if err != nil {
		return n, err
	}
	w, err := deployment.StartWorker()
	if err != nil {
		return n, err
	}
	defer w.Stop()
	began, most := time.Now(), agent.Caps.Dream
	begun, err := deployment.Starter.Begin(ctx, starter.DreamRequest{
		Agent:  agent.Handle,
		Tier:   dream.Hardened,
		Seed:   &seed,
		AsOf:   testdeploy.Night,
		Budget: &most,
	})
	if err != nil {
		return n, err
	}
	result, err := deployment.Result(ctx, begun.Dream)
	if err != nil {
		return n, err
	}
	n.Outcome, n.Reason, n.Seconds = result.Outcome, result.Reason, int(time.Since(began).Seconds())
	if err := n.bill(ctx, deployment, begun.Dream, e.embedder()); err != nil {
		return n, err
	}
	return n, n.read(ctx, deployment, models, e.embedder(), agent.ID, begun.Dream)
}

// addCompanion makes the companion with its memories, embedded by the night's embedder, free of charge.
func addCompanion(ctx context.Context, c *testdeploy.Deployment, models inference.Switchboard, embedder string,
	cap budget.Micros,
) (dream.Agent, error) {
	lived, k := sample.Diaries()[0], c.Config.Knobs
	agent := lived.Agent
	agent.Caps = dream.Caps{Dream: cap, Day: 2 * cap, Month: 2 * cap}
	if err := c.Store.PutAgent(ctx, agent); err != nil {
		return agent, err
	}
	file := importer.File{
		Name: "life.jsonl",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(lived.Memories)), nil },
	}
	_, err := importer.Import(ctx, c.Store, agent, []importer.File{file}, importer.Options{
		Format: formats.JSONL, Strict: true, Now: testdeploy.Night,
		Embed: func(ctx context.Context, texts []string) ([][]float32, string, error) {
			got, err := models.Embed(ctx, embedder, texts, "")
			return got.V, got.Space, err
		},
		Due: func(at time.Time, strength float64) time.Time {
			return forgetting.Due(at, strength, k.HalfLife, 0, k.FadeBelow)
		},
	})
	return agent, err
}

// bill reads what the night cost from the ledger.
func (n *Night) bill(ctx context.Context, c *testdeploy.Deployment, id, embedder string) error {
	rows, err := c.Store.Ledger().Rows(ctx, spend.Query{Dream: id})
	for _, r := range rows {
		if r.Model != embedder {
			n.Calls, n.In, n.Out = n.Calls+1, n.In+r.Tokens.In, n.Out+r.Tokens.Out
		}
		n.Spent[dream.Phase(r.Phase)] += r.Counted
	}
	return err
}

// read takes the night's ideas from the store and measures what can be measured of each alone.
func (n *Night) read(ctx context.Context, c *testdeploy.Deployment, models inference.Switchboard,
	embedder, agent, id string,
) error {
	items, err := c.Store.Find(ctx, memory.Query{
		Agent:  agent,
		Dream:  id,
		Kinds:  []dream.Kind{dream.KindFragment, dream.KindScenario},
		States: dream.States,
		Sort:   memory.Oldest,
	})
	if err != nil {
		return err
	}
	tongue, err := vocabulary(ctx, c, agent)
	if err != nil {
		return err
	}
	for _, item := range items {
		idea := Idea{
			Phase: item.Header().Phase, Name: item.Header().ID[len(id)+1:],
			Text: strings.TrimSpace(item.Text()),
		}
		switch v := item.(type) {
		case *dream.Fragment:
			idea.Kept = v.Status != dream.FragmentDiscarded || strings.HasPrefix(v.Reason, dream.LucidDiscard)
			idea.Coherence, idea.Effective = v.Verdict.Coherence, v.Settings.Effective
		case *dream.Scenario:
			idea.Kept = v.Kept
		}
		if idea.Text == "" {
			n.Silent++
			continue
		}
		idea.Surface = hypnagogia.SurfaceOf(idea.Text, tongue).Whole
		recited := Recited(idea.Text)
		idea.Recited = &recited
		placed, err := models.Embed(ctx, embedder, []string{idea.Text}, "")
		if err != nil {
			return err
		}
		near, err := c.Store.Near(ctx, memory.Near{
			Agent:  agent,
			Space:  placed.Space,
			V:      placed.V[0],
			Limit:  1,
			Filter: memory.Filter{Kinds: []dream.Kind{dream.KindEpisode, dream.KindSemantic}},
		})
		if err != nil {
			return err
		}
		if len(near) > 0 {
			idea.Memory = hypnagogia.Distance(near[0].Cosine)
		}
		idea.Place = Place(placed.V[0])
		n.Ideas = append(n.Ideas, idea)
	}
	slices.SortStableFunc(n.Ideas,
		func(a, b Idea) int { return strings.Compare(string(a.Phase)+a.Name, string(b.Phase)+b.Name) })
	return nil
}

// vocabulary learns the words of the agent's own memories.
func vocabulary(ctx context.Context, c *testdeploy.Deployment, agent string) (hypnagogia.Language, error) {
	items, err := c.Store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindEpisode, dream.KindSemantic}})
	var texts []string
	for _, item := range items {
		texts = append(texts, item.Text())
	}
	return hypnagogia.LanguageOf(texts), err
}

// NewHead says how nights are made.
func NewHead(e Endpoint, about string, now time.Time) Head {
	k := Knobs(Arms[0])
	return Head{
		Model:       about,
		Embedder:    cmp.Or(e.EmbedModel, "builtin/lexical"),
		Day:         now.UTC().Format(time.DateOnly),
		In:          e.Price.In,
		Out:         e.Price.Out,
		Judges:      e.Judges,
		Cycles:      k.Cycles,
		Partials:    k.Partials,
		Tokens:      k.PartialTokens,
		Temperature: [2]float64{k.InductionTemperature, k.TemperatureHigh},
		MinP:        k.MinP,
		Scenarios:   k.Branches,
		Characters:  k.ShownCharacters,
		AgentState:  sample.Diaries()[0].Agent.Handle,
	}
}
