package activities

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// Ports are the stores and services that all activities use.
type Ports struct {
	Memory  memory.DreamStore
	Guard   *spend.Guard
	Catalog inference.Catalog
	Now     func() time.Time

	Presence presence.Store // kept by the same store as Memory
	WakeBus  presence.WakeBus
	Feeds    memory.Feeds
	Jobs     memory.EmbedQueue // nil: no background embedding
	World    World             // nil: no recorded background, and nothing from outside
	Hooks    Hooks             // the hooks configured in this process
	Rooms    Attendant         // nil: this worker attends nobody in rooms

	Predictions dream.PredictionRules // zero: everything that people and tools gave is evidence, and no model judges

	StepsAtOnce int // the most steps that one activity makes side by side; 0: all of them
}

// Resolver resolves predictions over the same memory and feeds.
func (p Ports) Resolver() review.Resolver {
	times, _ := p.World.(review.ReadingTimes)
	return review.Resolver{
		Memory: p.Memory,
		Feeds:  p.Feeds,
		Times:  times,
		Now:    p.Now,
		Rules:  p.Predictions,
	}
}

// Executions tells which workflows still run.
type Executions interface {
	// Running is false when the run has closed or does not exist. A run that was reset goes on as the run that the
	// reset made.
	Running(ctx context.Context, workflow, run string) (bool, error)
	// Ended is how a dream ended by what its workflow returned. Its outcome is empty, and its reason says why, when the
	// workflow returned nothing: it was ended from outside, or is not known any more.
	Ended(ctx context.Context, workflow, run string) (Ending, error)
	// Paused is how a dream was interrupted whose workflow waits to go on, and until when it does; a zero time when it
	// does not wait.
	Paused(ctx context.Context, workflow, run string) (Ending, time.Time, error)
	// TellPaused tells the workflow of an agent, which may not know it, that a dream waits to go on until a time.
	TellPaused(ctx context.Context, agent dream.Agent, dreamID string, until time.Time) error
	// ClusterID is the cluster and namespace that it asks, empty when unknown. It cannot tell anything about workflows
	// elsewhere.
	ClusterID() string
}

// Attendant does what is due for agents in rooms.
type Attendant interface {
	// Attend returns when something is due again; zero when nothing is.
	Attend(ctx context.Context, agent string) (time.Time, error)
}

// AttendRequest names an agent by its id.
type AttendRequest struct {
	Agent string `json:"agent"`
}

// AttendResult says when something is due again for the agent.
type AttendResult struct {
	Next time.Time `json:"next,omitzero"` // zero: nothing is
}

// Planner prepares the spec of a dream that begins automatically.
type Planner interface {
	Embedders
	// Plan returns an empty spec and a reason when the agent should not dream now. It writes nothing but the
	// counter of dreams: a number that was planned is not used again.
	Plan(ctx context.Context, agent string, now time.Time) (Spec, string, error)
	// FleetDay is the deployment's cap for all agents together in one day.
	FleetDay() budget.Micros
}

// RunningRequest names a workflow run.
type RunningRequest struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// Fetcher reads a feed. Its errors are recorded in histories: of the URL they may contain only the host, and nothing
// of the answer.
type Fetcher interface {
	Fetch(ctx context.Context, f dream.Feed) ([]dream.Reading, error)
}

// Alarms wakes an agent because of a trigger, "feed/rule", or calls it when one of its own triggers waits for the
// rule. Repeating it is harmless.
type Alarms interface {
	triggers.Callers
	Alarm(ctx context.Context, agentID, trigger string) error
}

// World reads the newest reading of each metric of a feed.
type World interface {
	Latest(ctx context.Context, feed string) ([]dream.Reading, error)
}
