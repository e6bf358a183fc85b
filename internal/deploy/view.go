package deploy

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/retention"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Deployment is the store, the spend guard and the models of a configuration, behind their ports. Commands work on its
// exported fields, which a test may fill by itself.
type Deployment struct {
	Store    memory.Store
	Fleet    memory.Fleet // the same store, of many agents at once
	Ledger   spend.Ledger
	Balances spend.Balances  // of the same ledger
	Days     spend.DayTotals // of the same ledger
	Events   fabric.Log
	Wakes    presence.Store
	Feeds    memory.Feeds
	Rooms    room.Store
	Keys     access.Store
	Catalog  inference.Catalog
	Roles    map[dream.Role]string // the configured model of each role
	Caps     dream.Caps            // of new agents
	Auto     bool                  // of new agents
	Knobs    dream.Knobs
	Embed    Embed
	Jobs     memory.EmbedQueue // which process embeds which agent's memories
	Holder   string            // identifies this process among those that embed

	// Background returns another process of this deployment that embeds memories in the background; false where there
	// is none, or where the embedder is so quick that a command does it itself.
	Background func(spec inference.Spec) (process int, runs bool)

	Archive func() (*archive.Archive, error) // of events; nil where none is configured

	// Sweeper removes what has become old, by the ages of the configuration.
	Sweeper *retention.Sweeper

	Settings workflows.Settings // of every agent's workflow
	FleetDay budget.Micros      // cap of all agents together, a day
	// ConfirmAbove is the price above which a dream needs consent.
	ConfirmAbove budget.Micros
	Planner      Planner // what dreams would cost and do
	Predictions  dream.PredictionRules
	Judge        func() review.Judge  // of predictions in prose; nil: none
	Vitality     circadian.Thresholds // where each behavioural phase begins; zero: circadian.DefaultThresholds
	Digest       string               // how much of dreams a client is shown: off, header or message
	Private      bool                 // clients are shown nothing of dreams

	AsOf time.Time // when its dreams take place; zero: now
	// Clock is the time until which what was lived is compared with predictions; nil: now
	Clock func() time.Time

	Dir   string // the --data-dir that other commands need to reach this deployment; empty when they need none
	File  string // and the --config
	Close func() error

	config  config.Config
	store   openedStore
	model   inference.Model
	relay   inference.Relay
	guard   *spend.Guard
	journal *purchaseJournal // of purchases; nil where the store is not watched
	log     *slog.Logger
	tracing *telemetry.Tracing          // nil when traces go nowhere
	wants   error                       // providers and hooks that cannot be used as configured, such as one whose key is not set
	queues  map[string]*fairqueue.Queue // before providers that serve so many calls at once, by name
	hooks   activities.Hooks
}

// Planner describes dreams without running them. *starter.Starter is one.
type Planner interface {
	// Estimate prices a dream.
	Estimate(ctx context.Context, w starter.DreamRequest) (starter.Estimate, error)
	// EstimateRedream prices a dream that continues another one from a phase.
	EstimateRedream(ctx context.Context, w starter.RedreamRequest) (starter.Estimate, error)
	// Rehearse describes a dream. It writes nothing and calls no model.
	Rehearse(ctx context.Context, w starter.DreamRequest) (starter.Rehearsal, error)
}

// Embed embeds texts with the named embedder, or with the agent's when none is named. The call is paid like any
// other. It also returns the space of the vectors.
type Embed func(ctx context.Context, agent dream.Agent, embedder string,
	texts []string) (vectors [][]float32, space string, err error)

// For embeds texts of one agent.
func (e Embed) For(agent dream.Agent, embedder string) func(context.Context, []string) ([][]float32, string, error) {
	return func(ctx context.Context, texts []string) ([][]float32, string, error) {
		return e(ctx, agent, embedder, texts)
	}
}

// Configuration is what `oneiros config` shows. Nothing in it is secret.
type Configuration struct {
	File     string           `json:"file,omitempty"`
	Settings []config.Setting `json:"settings"`
	Warnings []string         `json:"warnings,omitempty"`
	Faults   []string         `json:"faults,omitempty"`
}

// Option is the flag that other commands need to reach this deployment.
func (h *Deployment) Option() string {
	text := ""
	if h.Dir != "" {
		text = " --data-dir " + pathArg(h.Dir)
	}
	if h.File != "" {
		text += " --config " + pathArg(h.File)
	}
	return text
}

// HidesDreams reports whether this deployment shows clients nothing of dreams unless they ask and may.
func (h *Deployment) HidesDreams() bool { return h.Private || h.Digest == journal.DigestOff }

// pathArg writes a path for a shell, as short as it can be.
func pathArg(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return QuotedArg(path)
	}
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/")
	if !ok || QuotedArg(below) != below {
		return QuotedArg(path)
	}
	return "~/" + below
}

// QuotedArg quotes a word for a shell.
func QuotedArg(word string) string {
	if strings.ContainsAny(word, " \t'\"\\$`") {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
