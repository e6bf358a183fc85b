package activities_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// player is a model with scripted answers by schema name ("partial" without one), which records its requests.
type player struct {
	say      map[string]string
	requests []inference.Request
	while    func(name string) // called during the answer
}

func (p *player) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	p.requests = append(p.requests, r)
	name := "partial"
	if r.Schema != nil {
		name = r.Schema.Name
	}
	if p.while != nil {
		p.while(name)
	}
	in := 0
	for _, m := range r.Messages {
		in += len(m.Content)
	}
	steered := ""
	if r.Steering != nil {
		steered = r.Steering.String()
	}
	return inference.Answer{
		Steered:   steered,
		Text:      p.say[name],
		Finish:    inference.Stopped,
		Tokens:    budget.Tokens{In: int64(in), Out: 50},
		UsageFrom: inference.ByProvider,
		Visible:   10,
	}, nil
}

const space = "p/e/8"

func (p *player) Embed(_ context.Context, _ string, texts []string, _ string) (inference.Vectors, error) {
	v := inference.Vectors{Space: space, UsageFrom: inference.ByProvider}
	for _, text := range texts {
		v.Tokens.In += int64(len(text))
		v.V = append(v.V, vectorOf(text))
	}
	return v, nil
}

func vectorOf(text string) []float32 {
	out := make([]float32, 8)
	for _, word := range strings.Fields(strings.ToLower(text)) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		out[h.Sum32()%8]++
	}
	out[0] += .01
	return out
}

// alive says that every workflow runs.
type alive struct{}

func (alive) Paused(context.Context, string, string) (activities.Ending, time.Time, error) {
	return activities.Ending{}, time.Time{}, nil
}

func (alive) TellPaused(context.Context, dream.Agent, string, time.Time) error { return nil }

func (alive) ClusterID() string { return "" }

func (alive) Ended(context.Context, string, string) (activities.Ending, error) {
	return activities.Ending{Reason: "its workflow was terminated"}, nil
}

func (alive) Running(context.Context, string, string) (bool, error) { return true, nil }

// newRun is the run of a stretch with a spec that need not be in the store.
func newRun(p activities.Ports, spec activities.Spec, s activities.Stretch) *core.Run {
	s.Agent, s.Dream = cmp.Or(s.Agent, spec.Agent), cmp.Or(s.Dream, spec.Dream)
	return &core.Run{Ports: p, Stretch: s, Spec: spec}
}

var tonight = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

// rig is a file store, an agent and activities with a player as model, without Temporal.
type rig struct {
	t     *testing.T
	path  string
	store *sqlitestore.Store
	model *player
	ports activities.Ports
}

func newRig(t *testing.T) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	store, err := sqlitestore.Open(context.Background(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	model := &player{say: map[string]string{}}
	price := budget.Price{In: budget.Dollar, Out: budget.Dollar}
	table := inference.Table{
		"p/w": {
			Name:           "p/w",
			Provider:       "p",
			Wire:           "w",
			Price:          &price,
			Judges:         true,
			JSON:           inference.JSONSchema,
			MaxTemperature: 2,
		},
		"p/e": {
			Name:     "p/e",
			Provider: "p",
			Wire:     "e",
			Price:    &price,
			Embeds:   true,
		},
	}
	ports := core.WithRunCache(activities.Ports{
		Memory:   store,
		Presence: store,
		Catalog:  table,
		Now:      time.Now,
		Guard: &spend.Guard{
			Ledger: store.Ledger(), Catalog: table, Now: time.Now,
			Model: inference.Switchboard{Catalog: table, Providers: map[string]inference.Model{"p": model}},
		},
	})
	agent := dream.Agent{
		ID:     "a",
		Handle: "a",
		Zone:   "UTC",
		Tier:   dream.Hardened,
		Caps:   dream.Caps{Dream: budget.Dollar, Day: 100 * budget.Dollar, Month: 1000 * budget.Dollar},
	}
	require.NoError(t, store.PutAgent(context.Background(), agent))
	return &rig{
		t:     t,
		path:  path,
		store: store,
		model: model,
		ports: ports,
	}
}

func (r *rig) spec(n int, asOf time.Time) activities.Spec {
	o := activities.Spec{
		Version:  activities.SpecVersion,
		Dream:    fmt.Sprintf("dream/a/%04d", n),
		Agent:    "a",
		Handle:   "a",
		Tier:     dream.Hardened,
		Seed:     7,
		AsOf:     asOf,
		Day:      asOf.Format(time.DateOnly),
		Models:   map[dream.Role]string{},
		Knobs:    dream.DefaultKnobs(),
		Budget:   budget.Dollar,
		DayLimit: 100 * budget.Dollar,
	}
	for _, role := range dream.Roles {
		o.Models[role] = "p/w"
	}
	o.Models[dream.Embedder] = "p/e"
	o.Accounts = []budget.Account{
		{Scope: activities.DreamScope(o.Dream), Limit: o.Budget},
		{Scope: "day:a/" + o.Day, Limit: 100 * budget.Dollar},
		{Scope: "month:a/" + o.Day[:7], Limit: 1000 * budget.Dollar},
		{Scope: "fleet:" + o.Day, Limit: budget.Unlimited},
	}
	return o
}

func (r *rig) begin(o activities.Spec) activities.Stretch {
	r.t.Helper()
	record := &dream.Record{
		Head: dream.Head{
			ID:    o.Dream,
			Agent: "a",
			Kind:  dream.KindRecord,
			At:    o.AsOf,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: o.Dream,
		}, AsOf: o.AsOf,
	}
	_, err := r.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: o.Dream, Add: []dream.Item{record}})
	require.NoError(r.t, err)
	lain, err := r.dreamRun().Begin(context.Background(), activities.BeginRequest{
		Spec: o, Workflow: o.Dream,
		Run: "run",
	})
	require.NoError(r.t, err)
	require.Empty(r.t, lain.Refused, lain.Reason)
	return activities.Stretch{Agent: "a", Dream: o.Dream, Run: "run"}
}

func (r *rig) finish(s activities.Stretch) {
	r.t.Helper()
	_, err := r.dreamRun().Finish(context.Background(),
		activities.FinishRequest{Stretch: s, Ending: activities.Ending{Outcome: dream.Completed}})
	require.NoError(r.t, err)
}

// live adds episodes of the days before tonight, each with its vector.
func (r *rig) live(n int) {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "import"}
	for i := range n {
		id := fmt.Sprintf("e%d", i)
		text := fmt.Sprintf("on day %d the harbour was quiet and number %d gull sat there", i, i*7)
		w.Add = append(w.Add, &dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    tonight.Add(time.Duration(i-72) * time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Context:  "context " + id,
			Action:   "action " + id,
			Outcome:  "outcome " + id,
			Content:  text,
			Salience: .8,
			Surprise: .5,
		})
		w.Vectors = append(w.Vectors, memory.Vector{Item: id, Space: space, V: vectorOf(text)})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

// step is the request of a phase with plenty of money.
func step(s activities.Stretch, temperature float64) activities.StepRequest {
	return activities.StepRequest{Stretch: s, Limit: budget.Dollar, Temperature: temperature}
}

func (r *rig) find(s activities.Stretch, kind dream.Kind) []dream.Item {
	r.t.Helper()
	items, err := r.store.Find(context.Background(),
		memory.Query{Agent: "a", Dream: s.Dream, Kinds: []dream.Kind{kind}})
	require.NoError(r.t, err)
	return items
}

// unplanned plans nothing, and has no cap.
type unplanned struct{}

func (unplanned) Plan(context.Context, string, time.Time) (activities.Spec, string, error) {
	return activities.Spec{}, "not now", nil
}

func (unplanned) Embedder(context.Context, dream.Agent) (string, string) {
	return "", "this worker places nothing outside a dream"
}
func (unplanned) FleetDay() budget.Micros { return budget.Unlimited }

func (r *rig) dreamRun() *dreamrun.DreamRun {
	return &dreamrun.DreamRun{Ports: r.ports, Executions: alive{}, Planner: unplanned{}}
}
