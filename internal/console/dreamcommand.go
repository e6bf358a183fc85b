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

// DreamRequest is a request for a dream. Zero fields take the agent's or the deployment's value.
type DreamRequest struct {
	Agent  string // handle
	Tier   dream.Tier
	Theme  string
	Budget *budget.Micros
	Seed   *uint64
}

// RedreamRequest is a request to run a dream anew from one of its phases on.
type RedreamRequest struct {
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
	// Begin starts a dream and returns its id. ErrDreaming.
	Begin(ctx context.Context, w DreamRequest) (string, error)
	// Redream starts a dream that continues another one from a phase, and returns its id. ErrDreaming, ErrNoRedream.
	Redream(ctx context.Context, w RedreamRequest) (string, error)
	// Cancel ends a dream with what it has. memory.ErrNotFound when no such dream runs.
	Cancel(ctx context.Context, dreamID string) error
	// Resume continues the agent's interrupted dream. ErrAwake when a client holds the agent awake.
	Resume(ctx context.Context, agent, dreamID string) error
	// Settle sends the settings of the agent's record to its workflow: whether it dreams by itself, and its triggers.
	Settle(ctx context.Context, a dream.Agent) error
	// Call tells the agent's workflow that a trigger asks for a dream.
	Call(ctx context.Context, a dream.Agent, f activities.Fire) error
	// Running reports whether the dream's workflow runs.
	Running(ctx context.Context, dreamID string) (bool, error)
}

// Place is one part that runs, and where.
type Place struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

// Engine is what a process runs: always a client of Temporal, often a worker, sometimes a server of its own.
type Engine interface {
	Dreams() Dreams
	Feeds() Feeds
	Places() []Place
	Ended() <-chan error // sends the error of a part that ended by itself
	Stop() error         // stops what it started, in order, and waits
}

// ErrDreaming is returned by Begin when the agent is already dreaming.
var ErrDreaming = errors.New("already dreaming")

// ErrNoRedream is returned by Redream when a dream cannot be continued from the phase.
var ErrNoRedream = activities.ErrNoRedream

// ErrAwake is returned by Begin and Resume when a client holds the agent awake.
var ErrAwake = errors.New("awake")

// ErrNoServer is returned by Reach when no cluster is configured and no server of ours runs.
var ErrNoServer = errors.New("no Temporal server is configured and none of ours is running; oneiros up starts one")

// DreamCommand holds the functions of the commands that need Temporal, or that work in its place.
type DreamCommand struct {
	ConfirmAbove func() budget.Micros // an estimate above it needs consent
	Estimate     func(ctx context.Context, h *Deployment, w DreamRequest) (Estimate, error)
	// Rehearse describes a dream without running it. It writes nothing.
	Rehearse func(ctx context.Context, h *Deployment, w DreamRequest) (Rehearsal, error)
	// EstimateAgain prices a dream that continues another one from a phase.
	EstimateAgain func(ctx context.Context, h *Deployment, w RedreamRequest) (Estimate, error)
	// Reach connects to the configured cluster, or to the server of an `oneiros up` on the same data_dir. ErrNoServer.
	Reach func(ctx context.Context, h *Deployment) (Engine, error)
	// Work connects like Reach and runs a worker in this process.
	Work func(ctx context.Context, h *Deployment) (Engine, error)
	// Up runs a worker in this process, and a server as its child when no cluster is configured.
	Up func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// Serve answers clients in this process, without a worker.
	Serve func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// ServeMCP serves an MCP client in this process until its input ends, without a worker.
	ServeMCP func(ctx context.Context, h *Deployment, s MCPSession) error
	// Here is Up for a single dream: it logs to a file, since the terminal shows the dream.
	Here func(ctx context.Context, h *Deployment, tell func(format string, args ...any)) (Engine, error)
	// Waker wakes sleeping agents without waiting for Temporal.
	Waker func(ctx context.Context, h *Deployment) (Waker, error)
	// Active notifies the agent's workflow, where it can be reached, that the agent is used. Errors are dropped.
	Active func(ctx context.Context, h *Deployment, handle string)
	// Abandon closes a dream on a cluster that no longer exists. memory.ErrNotFound when the dream does not run.
	Abandon func(ctx context.Context, h *Deployment, agent, dreamID string) error
	// Demo builds a deployment of its own: a separate folder, sample diaries, the built-in model, a server and a
	// worker.
	Demo func(ctx context.Context, dir string, tell func(format string, args ...any)) (*Deployment, Engine, error)
}

func (app *App) addDreamCommands(root *cobra.Command) {
	root.AddCommand(app.dream(), app.watch(), app.wake(), app.sleep(), app.alarm(), app.feed(), app.triggers(),
		app.up(), app.serveCommand(), app.mcp(), app.worker())
}

// showEstimate prints the price of a dream before anything is spent.
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

// modelsOf lists each model once, in the order of the roles.
func modelsOf(e Estimate) string {
	var names []string
	for _, role := range dream.Roles {
		if name := e.Models[role]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
