// Package cli has what all commands share: the app, its streams and tables, help, completion and the words for errors.
package cli

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// App holds what the commands need. Its functions are called after flags are parsed, when a command first needs them.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Width    int  // columns of the screen; 0 when Out is no terminal: nothing is cut
	Terminal bool // Out is a terminal, and In can answer questions
	Colour   bool

	Random   io.Reader     // of new sealing keys
	Patience time.Duration // silence of a dream's log before Temporal is asked whether it still runs; 0 is 5 s

	Version Version
	Zone    string // the machine's IANA time zone, for new agents
	Flags   *pflag.FlagSet
	Backend Backend

	Open               sync.Once
	*deploy.Deployment // nil until Within has opened it
	fail               error
	Json               bool
	Began              time.Time // when the command started
	Misled             error     // an error for help asked about an unknown command
	Again              string    // the command that continues what is watched, when oneiros up alone does not
}

// Backend builds, connects and runs deployments, as the configuration, environment and flags of the process say. Its
// methods are called after flags are parsed, when a command first needs them. *deploy.Process is one.
type Backend interface {
	Getenv(name string) string
	Configuration() deploy.Configuration
	// Policy returns the rules of an agent's dreams; those of all agents when the handle is empty.
	Policy(handle string) (policy.Rules, error)
	// Checks are those of the doctor, in the order to show them.
	Checks(ctx context.Context) []deploy.Check
	// SealKeys are the configured sealing keys and their place; empty when nothing is sealed.
	SealKeys() (keys payload.Keys, place string, err error)
	// HookRules returns the configured hooks and their addresses.
	HookRules() (rules []activities.HookRule, urls map[string]string, err error)
	Hook(name string) (activities.Hook, activities.HookRule, error)

	// Open builds the configured deployment.
	Open(ctx context.Context) (*deploy.Deployment, error)
	// Demo builds a deployment of its own and runs it: a separate folder, sample diaries, the built-in model.
	Demo(ctx context.Context, dir string, tell func(string, ...any)) (*deploy.Deployment, deploy.Engine, error)
	// Chronicle prepares a life that is played day by day, and starts what it needs.
	Chronicle(ctx context.Context, r deploy.ChronicleRequest, tell func(string, ...any)) (*deploy.Chronicle, error)
	// Evaluation prepares an evaluation, or finds the one that was begun in its folder.
	Evaluation(ctx context.Context, r deploy.EvaluationRequest) (*deploy.Evaluation, error)
	Engines
	Stores
	Models
}

// Engines connect a deployment to Temporal, and run parts of it in this process.
type Engines interface {
	// Reach connects to the configured cluster, or to the server of an `oneiros up` on the same data_dir.
	// deploy.ErrNoServer.
	Reach(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error)
	// Work connects like Reach and runs a worker in this process.
	Work(ctx context.Context, h *deploy.Deployment) (deploy.Engine, error)
	// Up runs a worker in this process, and a server as its child when no cluster is configured.
	Up(ctx context.Context, h *deploy.Deployment, tell func(string, ...any)) (deploy.Engine, error)
	// ForOneDream is Up for a single dream: it logs to a file, since the terminal shows the dream.
	ForOneDream(ctx context.Context, h *deploy.Deployment, tell func(string, ...any)) (deploy.Engine, error)
	// Serve answers clients in this process, without a worker.
	Serve(ctx context.Context, h *deploy.Deployment, tell func(string, ...any)) (deploy.Engine, error)
	// Bridge bridges the rooms of a Matrix homeserver in this process, without a worker.
	Bridge(ctx context.Context, h *deploy.Deployment, tell func(string, ...any)) (deploy.Engine, error)
	// ServeMCP serves an MCP client in this process until its input ends, without a worker.
	ServeMCP(ctx context.Context, h *deploy.Deployment, s deploy.MCPSession) error
	// Rooms opens the rooms for one command: this process answers what it posts.
	Rooms(ctx context.Context, h *deploy.Deployment) (*deploy.RoomSession, error)
	// Waker wakes sleeping agents without waiting for Temporal.
	Waker(ctx context.Context, h *deploy.Deployment) (deploy.Waker, error)
	// Active notifies the agent's workflow, where it can be reached, that the agent is used. Errors are dropped.
	Active(ctx context.Context, h *deploy.Deployment, handle string)
	// Abandon closes a dream on a cluster that no longer exists. memory.ErrNotFound when the dream does not run.
	Abandon(ctx context.Context, h *deploy.Deployment, agent, dreamID string) error
}

// Stores open stores to be moved or filled.
type Stores interface {
	StoreToRead(ctx context.Context) (deploy.Deposit, error)
	StoreToFill(ctx context.Context) (deploy.Deposit, error)
	OtherStore(ctx context.Context, p deploy.StorePlace) (deploy.Deposit, error)
	// StoreAbsent reports whether the configured file is missing or empty.
	StoreAbsent(ctx context.Context) (path string, absent bool, err error)
	NewStore(ctx context.Context) error
}

// Models run GGUF models in this process. A program built without llama.cpp's bindings hands over to one with them.
type Models interface {
	ServeModel(ctx context.Context, s deploy.LlamaServer, ready func(address, about string)) error
	Train(ctx context.Context, l deploy.TrainRequest) (deploy.TrainResult, error)
	TryVector(ctx context.Context, t deploy.TrialRequest) (deploy.TrialResult, error)
}

var _ Backend = (*deploy.Process)(nil)

// Version describes the build.
type Version struct {
	Oneiros  string `json:"oneiros"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	SDK      string `json:"temporal_sdk,omitempty"`
}

const (
	DreamGroup      = "dreams"
	RoomGroup       = "rooms"
	MemoryGroup     = "minds"
	DeploymentGroup = "house"
)

// Writer remembers the first failure, so that output that could not be written does not count as success.
type Writer struct {
	W    io.Writer
	Fail error
}

// Write writes, and remembers the first failure.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.W.Write(p)
	if w.Fail == nil {
		w.Fail = err
	}
	return n, err
}

// InStore makes what a command runs of a function that needs the deployment, which is opened first.
func (app *App) InStore(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := app.Within(cmd.Context()); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// Within opens the deployment, once.
func (app *App) Within(ctx context.Context) error {
	app.Open.Do(func() { app.Deployment, app.fail = app.Backend.Open(ctx) })
	return app.fail
}
