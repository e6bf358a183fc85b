package deploy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// build opens the store and connects the providers.
func build(ctx context.Context, c config.Config, path string) (*Deployment, error) {
	models, wants := providers(c)
	queues := limited(c, models)
	fitted, unfit := hooks(c)
	wants = errors.Join(wants, unfit)
	tracing, err := telemetry.NewTracing(ctx, Version)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, path)
	if err != nil {
		return nil, errors.Join(err, tracing.Close())
	}
	catalog := inference.CachedCatalog(c)
	h := &Deployment{
		Store:        store,
		Fleet:        store,
		Ledger:       store.ledger,
		Balances:     store.ledger,
		Days:         store.ledger,
		Events:       store,
		Wakes:        store,
		Feeds:        store,
		Rooms:        store.Rooms(),
		Catalog:      c,
		Roles:        c.Roles.Models(),
		Caps:         c.Money.Caps(),
		Auto:         c.Agent.Auto,
		Knobs:        c.Dream,
		Settings:     settings(c),
		FleetDay:     c.Money.FleetDay,
		ConfirmAbove: c.Consent.ConfirmAbove,
		Jobs:         store,
		Holder:       holder(),
		Vitality:     c.Agent.Vitality,
		Digest:       c.Agent.Digest,
		Private:      c.Agent.Private,

		config:  c,
		store:   store,
		model:   tracing.Model(inference.Switchboard{Catalog: c, Providers: models}),
		relay:   tracing.Relay(inference.Relays{Catalog: catalog, Providers: relays(models)}),
		tracing: tracing,
		wants:   wants,
		queues:  queues,
		hooks:   fitted,
		log:     plainLogger(c.Log, os.Stderr),
	}
	h.Keys = marked(store, c.DataDir, h.log)
	h.guard = &spend.Guard{
		Ledger:  store.ledger,
		Model:   h.model,
		Catalog: catalog,
		Now:     time.Now,
		Away:    isAway,
		Keeps:   c.Retention.Ledger,
	}
	h.Planner = h.starter()
	h.Predictions = c.Predictions.Rules()
	h.Judge = func() review.Judge { return h.starter().ForPredictions().Judge() }
	h.Embed, h.Background = h.embed, h.background
	h.Archive, h.Close = h.openArchive(), h.closing
	h.Sweeper = h.sweeper()
	return h, nil
}

func isAway(err error) bool { return errors.Is(err, memory.ErrAway) }

// unready stands for a provider that cannot be used. Commands that only read memory work; every call returns why.
type unready struct{ why error }

func (u unready) failure() error {
	return &inference.Failure{Kind: inference.Unauthorized, Message: u.why.Error(), Err: u.why}
}

func (u unready) Generate(context.Context, inference.Request, func(string) bool) (inference.Answer, error) {
	return inference.Answer{}, u.failure()
}

func (u unready) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, u.failure()
}

// providers connects every configured provider and returns which ones cannot be used. The built-in model is always
// among them.
func providers(c config.Config) (map[string]inference.Model, error) {
	own, err := builtIn(c)
	models := map[string]inference.Model{localmodel.Provider: own}
	var faults []error
	if err != nil {
		faults = append(faults, err)
	}
	for name, p := range c.Providers {
		gateway, err := connect(c, name, p)
		if err != nil {
			err = fmt.Errorf("provider %s: %w", name, err)
			faults, models[name] = append(faults, err), unready{err}
			continue
		}
		models[name] = gateway
	}
	return models, errors.Join(faults...)
}

// How many calls wait for a provider that has as many as it is given, and for how long.
const (
	providerWaiting = 1024
	providerWait    = time.Minute
)

// limited puts a queue before each model of a provider with providers.NAME.concurrent, and returns the queues. Where
// there is more than one place, dreams leave one free.
func limited(c config.Config, models map[string]inference.Model) map[string]*fairqueue.Queue {
	queues := map[string]*fairqueue.Queue{}
	for name, p := range c.Providers {
		if p.Concurrent < 1 {
			continue
		}
		queues[name] = fairqueue.New(fairqueue.Options{
			Places:  p.Concurrent,
			Dreams:  max(1, p.Concurrent-1),
			Waiting: providerWaiting,
			Wait:    providerWait,
		})
		models[name] = fairqueue.Limit(models[name], queues[name])
	}
	return queues
}

// builtIn is the built-in model, with builtin/minilm when its folder is configured.
func builtIn(c config.Config) (*localmodel.Model, error) {
	dir := c.MiniLMDir()
	if dir == "" {
		return localmodel.New(), nil
	}
	return localmodel.WithMiniLM(dir)
}

func connect(c config.Config, name string, p config.Provider) (inference.Model, error) {
	if p.Profile == config.InProcess {
		return inProcess(c, name, p)
	}
	key, err := c.Key(name)
	if err != nil {
		return nil, err
	}
	if p.Profile == config.Messages {
		return anthropicgw.New(anthropicgw.Options{
			Name:    name,
			BaseURL: p.ProviderURL(),
			APIKey:  key,
			Catalog: inference.CachedCatalog(c),
			Proxy:   http.ProxyFromEnvironment,
			Pass:    config.SplitList(p.PassHeaders),
		})
	}
	kind := p.Profile
	if kind == "generic" {
		kind = ""
	}
	profile, err := openaigw.ProfileOf(kind)
	if err != nil {
		return nil, err
	}
	return openaigw.New(openaigw.Options{
		Name:      name,
		BaseURL:   p.ProviderURL(),
		APIKey:    key,
		Profile:   profile,
		Responses: p.Speaks().ChatByResponses(),
		Catalog:   inference.CachedCatalog(c),
		Proxy:     http.ProxyFromEnvironment,
		Pass:      config.SplitList(p.PassHeaders),
	})
}

// holder identifies this process among those that share a store.
func holder() string {
	name, err := os.Hostname()
	if err != nil {
		name = "host"
	}
	return fmt.Sprintf("%s/%d/%s", name, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// background returns the process id of the other process of this data folder that embeds in the background; false for
// embedders that take only microseconds a text.
func (h *Deployment) background(spec inference.Spec) (int, bool) {
	if spec.BuiltIn && spec.Name != localmodel.MiniLM {
		return 0, false
	}
	record, alive, err := temporalchild.ReadRecord(h.config.DataDir)
	if err != nil || !alive || record.Owner == os.Getpid() {
		return 0, false
	}
	return record.Owner, true
}

// embedJobs embeds imported texts in the background until ctx ends.
func (h *Deployment) embedJobs(ctx context.Context, log *slog.Logger) {
	w := importer.EmbedWorker{
		Store:   h.store,
		Holder:  h.Holder,
		Now:     time.Now,
		Log:     log,
		Serving: h.serving,
	}
	w.Run(ctx)
}

// serving returns the embedder of an agent's memory space.
func (h *Deployment) serving(ctx context.Context, a dream.Agent) (importer.Embedder, error) {
	spec, err := h.embedder(ctx, a, "")
	if err != nil {
		return importer.Embedder{}, err
	}
	return importer.Embedder{
		Embed: Embed(h.embed).For(a, spec.Name),
		Makes: spec.Makes,
	}, nil
}

// embedder returns the named embedder, or the one that serves the agent.
func (h *Deployment) embedder(ctx context.Context, agent dream.Agent, named string) (inference.Spec, error) {
	if named != "" {
		return h.config.Lookup(named)
	}
	space, err := h.store.Space(ctx, agent.ID)
	if err != nil {
		return inference.Spec{}, err
	}
	return inference.EmbedderIn(h.config, agent.Models[dream.Embedder], h.Roles[dream.Embedder], space)
}

// embed embeds texts in an agent's space. The built-in embedder costs nothing and is called directly; every other
// call is paid through the spend guard under the agent's caps.
func (h *Deployment) embed(ctx context.Context, agent dream.Agent, model string,
	texts []string,
) ([][]float32, string, error) {
	spec, err := h.embedder(ctx, agent, model)
	if err != nil {
		return nil, "", err
	}
	model = spec.Name
	if spec.BuiltIn {
		v, err := h.model.Embed(ctx, model, texts, "")
		return v.V, v.Space, err
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return nil, "", fmt.Errorf("agent %s: %w", agent.Handle, err)
	}
	today := time.Now().In(zone).Format(time.DateOnly)
	sum := sha256.Sum256([]byte(model + "\x00" + strings.Join(texts, "\x00")))
	v, err := h.guard.Embed(ctx, spend.Charge{
		Step: "embed/" + agent.ID + "/" + hex.EncodeToString(sum[:16]), Agent: agent.ID, Phase: "import", Day: today,
		Accounts: activities.DayAccounts(agent, today, h.config.Money.FleetDay),
	}, model, texts)
	return v.V, v.Space, err
}

// now is the time until which what was lived is compared with predictions.
func (h *Deployment) now() time.Time {
	if h.Clock != nil {
		return h.Clock()
	}
	return time.Now()
}

func (h *Deployment) ports() activities.Ports {
	return activities.Ports{
		Hooks:    h.hooks,
		Memory:   h.store,
		Guard:    h.guard,
		Catalog:  h.config,
		Now:      h.now,
		Presence: h.store,
		WakeBus:  h.store,
		Feeds:    h.store,
		Jobs:     h.store,

		Predictions: h.config.Predictions.Rules(),
	}
}

// starter returns the client of the workflows. It needs no connection to estimate.
func (h *Deployment) starter() *starter.Starter {
	return &starter.Starter{
		Memory:   h.store,
		Catalog:  h.config,
		Now:      time.Now,
		Presence: h.store,
		WakeBus:  h.store,
		Ledger:   h.store.ledger,
		Guard:    h.guard,
		Feeds:    h.store,
		Remover:  h.store,
		Options: starter.Options{
			TaskQueue:   h.config.Temporal.TaskQueue,
			Models:      h.Roles,
			Knobs:       h.config.Dream,
			FleetDay:    h.config.Money.FleetDay,
			Review:      h.config.Agent.Review,
			Hooks:       h.config.HookRules(),
			AutoPaid:    h.config.Consent.AutoPaid,
			Settings:    settings(h.config),
			ResumeTTL:   h.config.Agent.ResumeTTL,
			Policy:      rulesOf(h.config),
			AgentPolicy: h.config.Policy.Agents,
			Thresholds:  &h.config.Agent.Vitality,
			Predictions: h.config.Predictions.Rules(),
		},
	}
}

// settings are the knobs of an agent's workflow.
func settings(c config.Config) workflows.Settings {
	a := c.Agent
	windows, quiet := a.Hours()
	eager := a.UrgencyRule()
	return workflows.Settings{
		UrgencyRule:   &eager,
		IdleTimeout:   a.IdleTimeout,
		MinGap:        a.MinGap,
		Jitter:        a.Jitter,
		Windows:       windows,
		Quiet:         quiet,
		ClientTimeout: a.ClientTimeout,
		WakeLock:      a.WakeLock,
		AlarmHold:     a.AlarmHold,
		ResumeAfter:   a.ResumeAfter,
	}
}
