// Package config defines every setting (knob) with its default, unit, limits and reason, and reads them once at the
// start.
package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Config is the configuration of a process. It contains no secret: keys are named by environment variable or file.
type Config struct {
	DataDir  string      `json:"data_dir"`
	Store    Store       `json:"store"`
	Temporal Temporal    `json:"temporal"`
	Seal     Seal        `json:"seal"`
	Worker   Worker      `json:"worker"`
	Roles    Roles       `json:"roles"`
	Embedder Embedder    `json:"embedder"`
	Dream    dream.Knobs `json:"dream"`
	Money    Money       `json:"money"`
	Agent    Agent       `json:"agent"`

	Predictions Predictions `json:"predictions"`

	Feed      Feed                `json:"feed"`
	Archive   Archive             `json:"archive"`
	Retention Retention           `json:"retention"`
	Metrics   Metrics             `json:"metrics"`
	Serve     Serve               `json:"serve"`
	Rooms     Rooms               `json:"rooms"`
	Matrix    Matrix              `json:"matrix"`
	Log       Log                 `json:"log"`
	Consent   Consent             `json:"consent"`
	Providers map[string]Provider `json:"providers"`
	Hooks     map[string]Hook     `json:"hooks"`
	Policy    Policy              `json:"policy"`

	File     string   `json:"-"` // the file that was read; empty when there was none
	Warnings []string `json:"-"` // what was ignored, and why

	settings []Setting
	env      map[string]string
	builtIn  []inference.Spec
}

// Temporal says how to reach a Temporal cluster.
type Temporal struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	TaskQueue string `json:"task_queue"`
	Profile   string `json:"profile"`
	Child     string `json:"child"` // auto or never
	KeyEnv    string `json:"api_key_env"`
	KeyFile   string `json:"api_key_file"`
	TLS       TLS    `json:"tls"`
}

// TLS names certificates by file.
type TLS struct {
	Enabled    bool   `json:"enabled"`
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
	ServerName string `json:"server_name"`
}

// Worker limits how much one process does at once.
type Worker struct {
	Concurrent int           `json:"concurrent"`
	Cache      int           `json:"cache"`
	StopWithin time.Duration `json:"stop_within"`
	Deployment string        `json:"deployment"`
	BuildID    string        `json:"build_id"`
}

// Roles names a model, "provider/model", for each use.
type Roles struct {
	Generator   string `json:"generator"`
	Observer    string `json:"observer"`
	Replay      string `json:"replay"`
	Imagination string `json:"imagination"`
	Integration string `json:"integration"`
	Embedder    string `json:"embedder"`
}

// Embedder configures the built-in embedders.
type Embedder struct {
	MiniLMDir string `json:"minilm_dir"`
}

// MiniLMDir is the folder of all-MiniLM-L6-v2; empty when it is not set.
func (c Config) MiniLMDir() string { return c.home(c.Embedder.MiniLMDir) }

// Models returns the roles as a map, the form used in a dream's request.
func (r Roles) Models() map[dream.Role]string {
	return map[dream.Role]string{
		dream.Generator: r.Generator, dream.Observer: r.Observer, dream.Replayer: r.Replay,
		dream.Imaginer: r.Imagination, dream.Integrator: r.Integration, dream.Embedder: r.Embedder,
	}
}

// Money holds the caps on spending.
type Money struct {
	Dream    budget.Micros `json:"dream"`
	Day      budget.Micros `json:"day"`
	Month    budget.Micros `json:"month"`
	FleetDay budget.Micros `json:"fleet_day"`
}

// Caps returns the caps of a new agent.
func (m Money) Caps() dream.Caps { return dream.Caps{Dream: m.Dream, Day: m.Day, Month: m.Month} }

// Predictions configures how predictions are resolved.
type Predictions struct {
	JudgeDaily budget.Micros `json:"judge_daily"` // 0: no model judges
	MostOpen   int           `json:"most_open"`
	Trust      string        `json:"trust"` // names separated by commas; empty: everybody
	Gate       string        `json:"gate"`  // dream.GateMeasured or dream.GateStrict
	Follow     bool          `json:"follow_yield"`
}

// Rules returns them as resolvers take them.
func (p Predictions) Rules() dream.PredictionRules {
	return dream.PredictionRules{
		Trust:       p.trusted(),
		JudgeDaily:  p.JudgeDaily,
		MostOpen:    p.MostOpen,
		Gate:        p.Gate,
		FollowYield: p.Follow,
	}
}

// trusted are the names of Trust, which may hold spaces.
func (p Predictions) trusted() []string {
	if strings.TrimSpace(p.Trust) == "" {
		return nil
	}
	names := strings.Split(p.Trust, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

func (p Predictions) validate() error {
	if err := review.ValidateTrust(p.trusted()); err != nil {
		return fmt.Errorf("predictions.trust: %w", err)
	}
	return nil
}

// Log configures what the process writes to standard error.
type Log struct {
	Level  string `json:"level"`
	Format string `json:"format"`
}

// Consent says what may be used without asking again.
type Consent struct {
	EnvironmentKey bool          `json:"environment_key"`
	AutoPaid       bool          `json:"auto_paid"`
	LocalOllama    bool          `json:"local_ollama"`
	ConfirmAbove   budget.Micros `json:"confirm_above"`
}

// Setting is the value of one knob and its source: "default", "file …", "environment …", "flag …".
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"`
}

// Settings lists every knob in the order of the reference. It contains no secret.
func (c Config) Settings() []Setting { return append([]Setting(nil), c.settings...) }
