// Package stage sets up a whole deployment for a test: store, spend guard, models, agent, worker and starter.
package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Play is everything that two processes need to share to be one deployment; it travels as JSON.
type Play struct {
	Store     string        `json:"store"`   // file
	Redis     string        `json:"redis"`   // URL of a Redis server that keeps everything instead
	Prefix    string        `json:"prefix"`  // of its keys
	Address   string        `json:"address"` // Temporal
	Namespace string        `json:"namespace"`
	Queue     string        `json:"queue"`
	Provider  string        `json:"provider"` // URL of a scripted provider; empty: the built-in model
	Model     string        `json:"model"`    // of the scripted provider: "script", "strict", "thinker"
	MiniLM    string        `json:"minilm"`   // folder of the files of builtin/minilm; empty: it is not served
	Knobs     dream.Knobs   `json:"knobs"`
	FleetDay  budget.Micros `json:"fleet_day"`

	// of models that the provider serves beside those of the scripted one
	Specs inference.Table `json:"specs,omitempty"`

	Activities int                `json:"deeds"`      // paid calls at once; 0: the worker's own
	Cache      int                `json:"cache"`      // workflows kept in memory; 0: the worker's own
	Deaf       bool               `json:"deaf"`       // workers do not listen to the bell
	Settings   workflows.Settings `json:"settings"`   // of agents' lives
	ResumeTTL  time.Duration      `json:"resume_ttl"` // how long an interrupted dream may go on; 0: it ends

	NoReserve bool `json:"no_reserve"` // negative control: the ledger lets everything pass
	Doubled   bool `json:"doubled"`    // negative control: every settlement is booked twice over
	// as a house does; otherwise the answers of ended dreams are kept, for an audit to read
	Forgets bool `json:"forgets"`

	Rules   []activities.HookRule // who is asked at the borders of dreams
	Webhook string                `json:"webhook"` // URL of the hook WebhookName of every process; empty: none
	Hooks   activities.Hooks      `json:"-"`       // those of this process
}

// The hook behind Play.Webhook, and what its questions are signed with.
const (
	WebhookName   = "webhook"
	WebhookSecret = "a secret of at least sixteen bytes"
)

// hooks are those that a process can ask.
func (p Play) hooks() activities.Hooks {
	if p.Webhook == "" {
		return p.Hooks
	}
	all := activities.Hooks{WebhookName: &governor.Webhook{URL: p.Webhook, Secret: []byte(WebhookSecret)}}
	maps.Copy(all, p.Hooks)
	return all
}

// Company is a deployment that plays.
type Company struct {
	Play    Play
	Store   Store
	Client  client.Client
	Ports   activities.Ports
	Starter *starter.Starter
}

// Night is the night's now of every test: the day after the sample lives end.
var Night = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

// Open builds a deployment around a connected client.
func Open(ctx context.Context, play Play, c client.Client) (*Company, error) {
	store, err := play.store(ctx)
	if err != nil {
		return nil, err
	}
	models, table, err := cast(play)
	if err != nil {
		return nil, err
	}
	ledger := store.Ledger()
	if play.NoReserve {
		ledger = lavish{ledger}
	}
	if play.Doubled {
		ledger = stingy{ledger}
	}
	if !play.Forgets {
		ledger = unforgetting{ledger}
	}
	ports := activities.Ports{
		Memory:   store,
		Catalog:  table,
		Now:      time.Now,
		Presence: store,
		WakeBus:  store,
		Feeds:    store,
		Hooks:    play.hooks(),
		Guard: &spend.Guard{
			Ledger: ledger, Catalog: table,
			Model: inference.Switchboard{Catalog: table, Providers: models}, Now: time.Now,
		},
	}
	if play.FleetDay == 0 {
		play.FleetDay = budget.Unlimited
	}
	s := &starter.Starter{
		Client:   c,
		Memory:   store,
		Catalog:  table,
		Now:      time.Now,
		Presence: store,
		WakeBus:  store,
		Feeds:    store,
		Options: starter.Options{
			TaskQueue:  play.Queue,
			Models:     roles(play),
			Knobs:      play.Knobs,
			FleetDay:   play.FleetDay,
			Searchable: true,
			Settings:   play.Settings,
			ResumeTTL:  play.ResumeTTL,
			Hooks:      play.Rules,
		},
	}
	return &Company{
		Play:    play,
		Store:   store,
		Client:  c,
		Ports:   ports,
		Starter: s,
	}, nil
}

func cast(play Play) (map[string]inference.Model, inference.Table, error) {
	table := inference.Table{}
	for _, spec := range localmodel.Specs() {
		table[spec.Name] = spec
	}
	models := map[string]inference.Model{localmodel.Provider: localmodel.New()}
	if play.MiniLM != "" {
		served, err := localmodel.WithMiniLM(play.MiniLM)
		if err != nil {
			return nil, nil, err
		}
		models[localmodel.Provider] = served
	}
	if play.Provider == "" {
		return models, table, nil
	}
	for name, spec := range provider.Catalog("scripted", provider.DefaultModels()) {
		table[name] = spec
	}
	maps.Copy(table, play.Specs)
	gateway, err := openaigw.New(
		openaigw.Options{Name: "scripted", BaseURL: play.Provider, Catalog: table, UsageWait: 500 * time.Millisecond})
	models["scripted"] = gateway
	return models, table, err
}

func roles(play Play) map[dream.Role]string {
	assigned := map[dream.Role]string{}
	for _, role := range dream.Roles {
		switch {
		case play.Provider == "" && role == dream.Embedder:
			assigned[role] = "builtin/lexical"
		case play.Provider == "":
			assigned[role] = "builtin/associative"
		case role == dream.Embedder:
			assigned[role] = "scripted/vectors"
		default:
			assigned[role] = "scripted/" + play.Model
		}
	}
	return assigned
}

// Hire makes an agent with a sample life: 0 is the companion, 1 the watcher of a market. Name makes it another agent.
func (c *Company) Hire(ctx context.Context, agentState int, name string) (dream.Agent, error) {
	lived := sample.Diaries()[agentState]
	agent := lived.Agent
	if name != "" {
		agent.ID, agent.Handle = "id-"+name, name
	}
	if err := c.Store.PutAgent(ctx, agent); err != nil {
		return agent, err
	}
	k := c.Play.Knobs
	memories := importer.File{Name: lived.Agent.Handle + ".jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(lived.Memories)), nil
	}}
	report, err := importer.Import(ctx, c.Store, agent, []importer.File{memories}, importer.Options{
		Format: importer.JSONL, Strict: true, Now: Night, Embed: c.embed,
		Due: func(at time.Time, strength float64) time.Time {
			return forgetting.Due(at, strength, k.HalfLife, 0, k.FadeBelow)
		},
	})
	if err == nil && report.Added == 0 && report.Known == 0 {
		err = fmt.Errorf("the life of %s came in empty", agent.Handle)
	}
	return agent, err
}

// embed places memories without a spend guard: it is the test's own setting-up, and leaves no trace at the till.
func (c *Company) embed(_ context.Context, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	space := localmodel.EmbedSpace
	for i, text := range texts {
		if c.Play.Provider != "" {
			vectors[i], space = provider.Vector(text, 64), "scripted/vectors/64"
		} else {
			vectors[i] = localmodel.Vector(text)
		}
	}
	return vectors, space, nil
}

// Work starts a worker; the caller stops it.
func (c *Company) Work() (worker.Worker, error) {
	ports := c.Ports
	ports.World = c.Starter
	w := workers.New(c.Client, ports, starter.Executions{Client: c.Client}, c.Starter, workers.Options{
		TaskQueue:   c.Play.Queue,
		Activities:  c.Play.Activities,
		StickyCache: c.Play.Cache,
		Deaf:        c.Play.Deaf,
		Alarms:      c.Starter,
	})
	return w, w.Start()
}

// Result waits for a dream to end and answers how.
func (c *Company) Result(ctx context.Context, dreamID string) (workflows.Result, error) {
	var r workflows.Result
	err := c.Client.GetWorkflow(ctx, dreamID, "").Get(ctx, &r)
	return r, err
}

// Close lets go of the store.
func (c *Company) Close() error {
	c.Starter.Close()
	return c.Store.Close()
}
