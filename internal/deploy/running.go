package deploy

import (
	"context"
	"errors"
	"io"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Workflows begins, directs and ends dreams, and runs feeds, through Temporal.
type Workflows interface {
	// Begin starts a dream. starter.ErrDreaming, starter.ErrAwake, starter.ErrUnreachable.
	Begin(ctx context.Context, w starter.DreamRequest) (workflows.StartedDream, error)
	// Redream starts a dream that continues another one from a phase. Begin's errors, activities.ErrNoRedream.
	Redream(ctx context.Context, w starter.RedreamRequest) (workflows.StartedDream, error)
	// Cancel ends a dream with what it has. memory.ErrNotFound when no such dream runs.
	Cancel(ctx context.Context, dreamID string) error
	// Resume continues the agent's interrupted dream. Begin's errors, starter.ErrNothing.
	Resume(ctx context.Context, agent string) (workflows.StartedDream, error)
	// EnsureWorkflow starts the agent's workflow, or sends it the settings of the agent's record.
	EnsureWorkflow(ctx context.Context, a dream.Agent) error
	// Call tells the agent's workflow that a trigger asks for a dream.
	Call(ctx context.Context, a dream.Agent, f triggers.Fire) error
	// Running reports whether a workflow runs.
	Running(ctx context.Context, workflow string) (bool, error)
	// ClusterID names the Temporal cluster and namespace, as dream.Record.Cluster does; empty when unknown.
	ClusterID() string

	// PutFeed stores a feed and sends its settings to its probe.
	PutFeed(ctx context.Context, f dream.Feed) error
	// DropFeed removes a feed and ends its probe. memory.ErrNotFound.
	DropFeed(ctx context.Context, name string) error
	// Push sends readings to a feed's probe. memory.ErrNotFound.
	Push(ctx context.Context, name string, readings []dream.Reading) error
	// FeedState returns the state of a feed's probe. It needs a running worker.
	FeedState(ctx context.Context, name string) (workflows.FeedState, error)
}

// Reached are the workflows that a starter reaches.
type Reached struct {
	*starter.Starter
	starter.Feeds
}

var _ Workflows = Reached{}

// ClusterID names the Temporal cluster and namespace; empty when unknown.
func (r Reached) ClusterID() string { return r.Options.Cluster }

// Place is one part that runs, and where.
type Place struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

// Engine is what a process runs: always a client of Temporal, often a worker, sometimes a server of its own.
type Engine interface {
	Workflows() Workflows
	Places() []Place
	Ended() <-chan error // sends the error of a part that ended by itself
	Stop() error         // stops what it started, in order, and waits
}

// ErrNoServer is returned by Reach when no cluster is configured and no server of ours runs.
var ErrNoServer = errors.New("no Temporal server is configured and none of ours is running; oneiros up starts one")

// What a Waker found, where something did not answer in time.
var (
	ErrNoTemporal = errors.New("no answer from Temporal")
	ErrNoWorker   = errors.New("no answer from a worker, though Temporal answers")
)

// MCPSession is an MCP client connected through standard input and output.
type MCPSession struct {
	Agent     dream.Agent // the only agent it can reach
	Role      access.Role // empty: that of the key in the environment; owner without a key
	Principal string      // empty: that of the key in the environment; access.Local without a key
	User      string      // a user of the principal
	In        io.Reader
	Out       io.Writer // for protocol messages only
}

// Waker wakes agents and lets them sleep. It needs the store; Temporal is notified in parallel, or later.
type Waker interface {
	Wake(ctx context.Context, k starter.Connection) (starter.WakeResult, error)
	// Recorded waits until the agent's workflow has recorded the wake of an epoch. ErrNoTemporal, ErrNoWorker.
	Recorded(ctx context.Context, agent string, epoch int64) (workflows.WakeAnswer, error)
	// Leave ends one client's lease.
	Leave(ctx context.Context, agent, client string) error
	// Sleep ends every lease and the wake lock.
	Sleep(ctx context.Context, agent string) error
	// AgentState queries the agent's workflow, which needs a worker. memory.ErrNotFound when the agent has none;
	// ErrNoTemporal, ErrNoWorker.
	AgentState(ctx context.Context, handle string) (workflows.AgentState, error)
	// Remove removes an agent and ends its workflows, where Temporal answers. ErrDreaming, ErrAwake,
	// memory.ErrNotFound.
	Remove(ctx context.Context, name string) (starter.RemovalResult, error)
	Stop() error
}
