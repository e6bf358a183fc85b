package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// DreamRequest is what somebody wants of a dream. Zero fields take the agent's or the deployment's value.
type DreamRequest struct {
	Agent  string // handle
	Tier   dream.Tier
	Theme  string
	Budget *budget.Micros
	Seed   *uint64
}

// Again is the wish to dream a night anew from one of its phases on.
type Again struct {
	DreamRequest
	Dream string
	From  dream.Phase
}

// Estimate is the price of a dream before anything is spent.
type Estimate struct {
	Agent    string                `json:"agent"`
	Tier     dream.Tier            `json:"tier"`
	Models   map[dream.Role]string `json:"models"`
	Free     bool                  `json:"free"`
	Calls    int                   `json:"calls"`
	Expected budget.Micros         `json:"expected_micros"`
	Worst    budget.Micros         `json:"worst_micros"`
	Cap      budget.Micros         `json:"cap_micros"`
	Phases   []PhaseEstimate       `json:"phases"`
}

// PhaseEstimate is what one phase may cost.
type PhaseEstimate struct {
	Phase    dream.Phase   `json:"phase"`
	Calls    int           `json:"calls"`
	Expected budget.Micros `json:"expected_micros"`
	Worst    budget.Micros `json:"worst_micros"`
	Cap      budget.Micros `json:"cap_micros"`
}

// Dreams begins, watches and ends dreams through Temporal.
type Dreams interface {
	// Begin starts a dream and answers its id. ErrDreaming.
	Begin(ctx context.Context, w DreamRequest) (string, error)
	// Redream begins a dream that goes on from a phase of another and answers its id. ErrDreaming, ErrNoRedream.
	Redream(ctx context.Context, w Again) (string, error)
	// Cancel ends a dream with what it has. memory.ErrNotFound when no such dream runs.
	Cancel(ctx context.Context, dreamID string) error
	// Resume lets the agent's interrupted dream go on. ErrAwake when somebody holds the agent awake.
	Resume(ctx context.Context, agent, dreamID string) error
	// Settle tells the agent's life what its record adds to the settings: whether it dreams by itself, and its
	// triggers.
	Settle(ctx context.Context, a dream.Agent) error
	// Call tells the agent's life that a trigger calls for a dream.
	Call(ctx context.Context, a dream.Agent, f activities.Fire) error
	// Running says whether Temporal still carries the dream on.
	Running(ctx context.Context, dreamID string) (bool, error)
}

// Place is one thing that runs, and where.
type Place struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

// Engine is what a process runs: always a client of Temporal, often a worker, sometimes a server of its own.
type Engine interface {
	Dreams() Dreams
	Feeds() Feeds
	Places() []Place
	Ended() <-chan error // gives what ended by itself
	Stop() error         // stops what it started, in order, and waits
}

// ErrDreaming is returned by Begin when the agent dreams already.
var ErrDreaming = errors.New("already dreaming")

// ErrNoRedream is returned by Redream when a dream cannot be dreamt anew from the phase.
var ErrNoRedream = activities.ErrNoRedream

// ErrAwake is returned by Begin and Resume when somebody holds the agent awake.
var ErrAwake = errors.New("awake")

// ErrNoServer is returned by Reach when no cluster is configured and no server of ours runs.
var ErrNoServer = errors.New("no Temporal server is configured and none of ours is running; oneiros up starts one")

// DreamCommand is the way to Temporal, which only some commands take.
type DreamCommand struct {
	ConfirmAbove func() budget.Micros // a dearer estimate asks first
	Estimate     func(ctx context.Context, h *Deployment, w DreamRequest) (Estimate, error)
	// Rehearse tells all of a dream that can be told without dreaming it. It writes nothing.
	Rehearse func(ctx context.Context, h *Deployment, w DreamRequest) (Rehearsal, error)
	// EstimateAgain prices a dream that goes on from a phase of another.
	EstimateAgain func(ctx context.Context, h *Deployment, w Again) (Estimate, error)
	// Reach connects to the configured cluster, or to the server of an `oneiros up` on the same data_dir. ErrNoServer.
	Reach func(ctx context.Context, h *Deployment) (Engine, error)
	// Work connects likewise and runs a worker in this process.
	Work func(ctx context.Context, h *Deployment) (Engine, error)
	// Up runs a worker in this process, and a server as its child when no cluster is configured.
	Up func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// Serve answers clients in this process, and works on nothing.
	Serve func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// Speak answers a client of MCP in this process until its input ends. It works on nothing.
	Speak func(ctx context.Context, h *Deployment, s Speech) error
	// Here is Up for a single dream: what it has to say goes to a file, since the screen is the dream's.
	Here func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// Waker opens the way to whoever sleeps, without waiting for Temporal.
	Waker func(ctx context.Context, h *Deployment) (Waker, error)
	// Active tells the agent's life, where one can be reached, that the agent is being used. Nobody hears of its
	// failure.
	Active func(ctx context.Context, h *Deployment, handle string)
	// Abandon closes a dream on a cluster that is gone. memory.ErrNotFound when the dream does not go on.
	Abandon func(ctx context.Context, h *Deployment, agent, dreamID string) error
	// Demo is a house apart: its own folder, sample lives, the built-in model, a server and a worker.
	Demo func(ctx context.Context, dir string, tell func(format string, args ...any)) (*Deployment, Engine, error)
}

func (app *App) addNights(root *cobra.Command) {
	root.AddCommand(app.dream(), app.watch(), app.wake(), app.sleep(), app.alarm(), app.feed(), app.triggers(),
		app.up(), app.serveCommand(), app.mcp(), app.worker())
}

// showEstimate tells the price of a dream before anything is spent.
func (app *App) showEstimate(e Estimate) error {
	if app.json {
		return app.answer(e)
	}
	if e.Free {
		app.say("A %s dream of %s: about %d calls to %s, which cost nothing. Nothing will be spent.", e.Tier, e.Agent,
			e.Calls, modelsOf(e))
		return nil
	}
	app.say("A %s dream of %s: about %d calls, about %s, never more than %s.", e.Tier, e.Agent, e.Calls, e.Expected,
		e.Cap)
	t := &table{columns: []column{
		{title: "PHASE"},
		{title: "CALLS", right: true},
		{title: "EXPECTED", right: true},
		{title: "AT WORST", right: true},
		{title: "CAP", right: true},
	}}
	for _, p := range e.Phases {
		t.add(string(p.Phase), fmt.Sprint(p.Calls), money(p.Expected), money(p.Worst), p.Cap.String())
	}
	t.total = []string{"all", fmt.Sprint(e.Calls), money(e.Expected), money(e.Worst), e.Cap.String()}
	t.draw(app.Out, app.Width, app.bold)
	return nil
}

// modelsOf names each model once, in the order of the roles.
func modelsOf(e Estimate) string {
	var names []string
	for _, role := range dream.Roles {
		if name := e.Models[role]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
