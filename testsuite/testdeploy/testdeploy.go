// Package testdeploy opens a whole deployment for a test: store, spend guard, models, agents, workers and starter.
package testdeploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Config is everything that two processes must share to be one deployment. It travels as JSON.
type Config struct {
	Store     string        `json:"store"`   // file
	Redis     string        `json:"redis"`   // URL of a Redis server that keeps everything instead
	Prefix    string        `json:"prefix"`  // prefix of its keys
	Address   string        `json:"address"` // Temporal
	Namespace string        `json:"namespace"`
	Queue     string        `json:"queue"`
	Provider  string        `json:"provider"` // URL of a scripted provider; empty: the built-in model
	Model     string        `json:"model"`    // model of the scripted provider: "script", "strict", "thinker"
	MiniLM    string        `json:"minilm"`   // folder of the files of builtin/minilm; empty: it is not served
	Knobs     dream.Knobs   `json:"knobs"`
	FleetDay  budget.Micros `json:"fleet_day"`

	// models that the provider serves beside those of the scripted one
	Specs inference.Table `json:"specs,omitempty"`

	Activities int                `json:"activities"` // paid calls at once; 0: the worker's own
	Cache      int                `json:"cache"`      // workflows kept in memory; 0: the worker's own
	NoWakeBus  bool               `json:"deaf"`       // workers do not listen to the wake bus
	Build      string             `json:"build"`      // build id of the workers; empty: without Worker Versioning
	Unpinned   bool               `json:"unpinned"`   // a build id all the same without Worker Versioning
	Settings   workflows.Settings `json:"settings"`   // settings of the agents
	ResumeTTL  time.Duration      `json:"resume_ttl"` // how long an interrupted dream may go on; 0: it ends

	RoomLease time.Duration `json:"room_lease"` // how long a process may take to answer in a room; 0: the service's own

	Judge       *Judging              `json:"judge,omitempty"` // of the predictions of all agents; nil: nobody checks them
	Predictions dream.PredictionRules `json:"predictions"`

	NoReserve bool `json:"no_reserve"` // negative control: the ledger lets everything pass
	Doubled   bool `json:"doubled"`    // negative control: every settlement is booked twice
	// The answers of ended dreams are deleted, as in a real deployment; otherwise they are kept for an audit.
	DropAnswers bool `json:"forgets"`

	Rules   []activities.HookRule // which hooks are called at the borders of dreams
	Webhook string                `json:"webhook"` // URL of the hook WebhookName of every process; empty: none
	Hooks   activities.Hooks      `json:"-"`       // those of this process
}

// WorkerDeployment is the Worker Deployment of workers that have a build id.
const WorkerDeployment = "oneiros"

// WebhookName is the name of the hook at Config.Webhook; WebhookSecret signs the requests to it.
const (
	WebhookName   = "webhook"
	WebhookSecret = "a secret of at least sixteen bytes"
)

// hooks are those that this process can call.
func (c Config) hooks() activities.Hooks {
	if c.Webhook == "" {
		return c.Hooks
	}
	all := activities.Hooks{WebhookName: &governor.Webhook{URL: c.Webhook, Secret: []byte(WebhookSecret)}}
	maps.Copy(all, c.Hooks)
	return all
}

// Deployment is an opened deployment.
type Deployment struct {
	Config  Config
	Store   Store
	Client  client.Client
	Ports   activities.Ports
	Starter *starter.Starter

	rooms []*Rooms
}

// Night is the current time of every test: the evening after the sample diaries end.
var Night = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

// Open builds a deployment around a connected client.
func Open(ctx context.Context, config Config, temporal client.Client) (*Deployment, error) {
	store, err := config.openStore(ctx)
	if err != nil {
		return nil, err
	}
	models, table, err := openModels(config)
	if err != nil {
		return nil, err
	}
	ledger := store.Ledger()
	if config.NoReserve {
		ledger = noCapLedger{ledger}
	}
	if config.Doubled {
		ledger = doublingLedger{ledger}
	}
	if !config.DropAnswers {
		ledger = answerKeepingLedger{ledger}
	}
	ports := activities.Ports{
		Memory:   store,
		Catalog:  table,
		Now:      time.Now,
		Presence: store,
		WakeBus:  store,
		Feeds:    store,
		Hooks:    config.hooks(),

		Predictions: config.rules(),
		Guard: &spend.Guard{
			Ledger: ledger, Catalog: table,
			Model: inference.Switchboard{Catalog: table, Providers: models}, Now: time.Now,
		},
	}
	if config.FleetDay == 0 {
		config.FleetDay = budget.Unlimited
	}
	s := &starter.Starter{
		Client:   temporal,
		Memory:   store,
		Catalog:  table,
		Now:      time.Now,
		Presence: store,
		WakeBus:  store,
		Feeds:    store,
		Remover:  store,
		Guard:    ports.Guard,
		Options: starter.Options{
			TaskQueue:  config.Queue,
			Models:     modelsByRole(config),
			Knobs:      config.Knobs,
			FleetDay:   config.FleetDay,
			Searchable: true, Interruptions: true,
			Settings:  config.Settings,
			ResumeTTL: config.ResumeTTL,
			Hooks:     config.Rules,

			Predictions: config.rules(),
		},
	}
	return &Deployment{
		Config:  config,
		Store:   store,
		Client:  temporal,
		Ports:   ports,
		Starter: s,
	}, nil
}

func openModels(config Config) (map[string]inference.Model, inference.Table, error) {
	table := inference.Table{}
	for _, spec := range localmodel.Specs() {
		table[spec.Name] = spec
	}
	models := map[string]inference.Model{localmodel.Provider: localmodel.New()}
	if config.MiniLM != "" {
		served, err := localmodel.WithMiniLM(config.MiniLM)
		if err != nil {
			return nil, nil, err
		}
		models[localmodel.Provider] = served
	}
	if config.Provider == "" {
		return models, table, nil
	}
	for name, spec := range provider.Catalog("scripted", provider.DefaultModels()) {
		table[name] = spec
	}
	maps.Copy(table, config.Specs)
	gateway, err := openaigw.New(
		openaigw.Options{Name: "scripted", BaseURL: config.Provider, Catalog: table, UsageWait: 500 * time.Millisecond})
	models["scripted"] = gateway
	return models, table, err
}

func modelsByRole(config Config) map[dream.Role]string {
	assigned := map[dream.Role]string{}
	for _, role := range dream.Roles {
		switch {
		case config.Provider == "" && role == dream.Embedder:
			assigned[role] = "builtin/lexical"
		case config.Provider == "":
			assigned[role] = "builtin/associative"
		case role == dream.Embedder:
			assigned[role] = "scripted/vectors"
		default:
			assigned[role] = "scripted/" + config.Model
		}
	}
	return assigned
}

// AddAgent makes an agent with a sample diary: 0 is the companion, 1 the watcher of a market. A name makes a copy of
// it.
func (d *Deployment) AddAgent(ctx context.Context, diary int, name string) (dream.Agent, error) {
	sampleDiary := sample.Diaries()[diary]
	agent := sampleDiary.Agent
	if name != "" {
		agent.ID, agent.Handle = "id-"+name, name
	}
	if err := d.Store.PutAgent(ctx, agent); err != nil {
		return agent, err
	}
	k := d.Config.Knobs
	memories := importer.File{Name: sampleDiary.Agent.Handle + ".jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(sampleDiary.Memories)), nil
	}}
	report, err := importer.Import(ctx, d.Store, agent, []importer.File{memories}, importer.Options{
		Format: formats.JSONL, Strict: true, Now: Night, Embed: d.embed,
		Due: func(at time.Time, strength float64) time.Time {
			return forgetting.Due(at, strength, k.HalfLife, 0, k.FadeBelow)
		},
	})
	if err == nil && report.Added == 0 && report.Existing == 0 {
		err = fmt.Errorf("the sample diary of %s imported no memory", agent.Handle)
	}
	return agent, err
}

// embed makes the vectors of memories without a spend guard: the setting-up of a test is not billed.
func (d *Deployment) embed(_ context.Context, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	space := localmodel.EmbedSpace
	for i, text := range texts {
		if d.Config.Provider != "" {
			vectors[i], space = provider.Vector(text, 64), "scripted/vectors/64"
		} else {
			vectors[i] = localmodel.Vector(text)
		}
	}
	return vectors, space, nil
}

// StartWorker starts a worker; the caller stops it.
func (d *Deployment) StartWorker() (worker.Worker, error) {
	ports := d.Ports
	ports.World = d.Starter.ForFeeds()
	ports.Rooms = d.OpenRooms(fmt.Sprintf("worker %d", os.Getpid()))
	options := workers.Options{
		TaskQueue:   d.Config.Queue,
		Activities:  d.Config.Activities,
		StickyCache: d.Config.Cache,
		NoWakeBus:   d.Config.NoWakeBus,
		Alarms:      d.Starter,
	}
	if d.Config.Build != "" {
		options.BuildID = d.Config.Build
		if !d.Config.Unpinned {
			options.Deployment = WorkerDeployment
		}
	}
	w := workers.New(d.Client, ports, starter.Executions{Client: d.Client}, d.Starter, options)
	return w, w.Start()
}

// Result waits for a dream to end and returns how it ended.
func (d *Deployment) Result(ctx context.Context, dreamID string) (workflows.Result, error) {
	var r workflows.Result
	err := d.Client.GetWorkflow(ctx, dreamID, "").Get(ctx, &r)
	return r, err
}

// Close stops the starter and closes the store.
func (d *Deployment) Close() error {
	for _, r := range d.rooms {
		r.stop()
	}
	d.Starter.Close()
	return d.Store.Close()
}
