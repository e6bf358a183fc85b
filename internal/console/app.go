// Package console is the command line: its commands, their tables and their exit codes.
package console

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/fabric"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/workflows"
)

// App holds what the commands need. Its functions are called after flags are parsed, when a command first needs them.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Width    int  // columns of the screen; 0 when Out is no terminal: nothing is cut
	Terminal bool // Out is a terminal, and In can answer questions
	Colour   bool

	Patience time.Duration // silence of a dream's log before Temporal is asked whether it still runs; 0 is 5 s

	Version       Version
	Zone          string // the machine's IANA time zone, for new agents
	Flags         *pflag.FlagSet
	Configuration func() Configuration
	// Policy returns the rules of an agent's dreams; of all agents' when the handle is empty.
	Policy    func(handle string) (policy.Rules, error)
	Reference func() string
	// Span parses a duration as the configuration does; nil for time.ParseDuration.
	Span   func(string) (time.Duration, error)
	Open   func(ctx context.Context) (*Deployment, error)
	Checks func(ctx context.Context) []Check // for the doctor, in the order to show them
	Dream  DreamCommand
	Codec  CodecCommand
	Hooks  HooksCommand
	Stores StoreCommand
	Llama  LlamaCommand

	open       sync.Once
	deployment *Deployment
	fail       error
	json       bool
	began      time.Time // when the command started
	misled     error     // an error for help asked about an unknown command
	again      string    // the command that continues what is watched, when oneiros up alone does not
}

// Deployment is what most commands work on.
type Deployment struct {
	Store   memory.Store
	Ledger  spend.Ledger
	Events  fabric.Log
	Wakes   presence.Store
	Feeds   memory.Feeds
	Keys    access.Store
	Catalog inference.Catalog
	Roles   map[dream.Role]string // the configured model of each role
	Caps    dream.Caps            // of new agents
	Auto    bool                  // of new agents
	Knobs   dream.Knobs
	Embed   Embed
	Jobs    memory.EmbedQueue // which process embeds which agent's memories
	Holder  string            // identifies this process among those that embed

	// Background returns another process of this deployment that embeds memories in the background; false where there
	// is none, or where the embedder is so quick that a command does it itself.
	Background func(spec inference.Spec) (process int, runs bool)

	Archive func() (*archive.Archive, error) // of events; nil where none is configured

	Settings workflows.Settings   // of every agent's workflow
	FleetDay budget.Micros        // cap of all agents together, a day
	Vitality circadian.Thresholds // where each behavioural phase begins; zero: circadian.DefaultThresholds
	Digest   string               // how much of dreams a client is shown: off, header or message
	Private  bool                 // clients are shown nothing of dreams

	Dir   string // the --data-dir that other commands need to reach this deployment; empty when they need none
	File  string // and the --config
	Close func() error
}

// Embed embeds texts with the named embedder, or with the agent's when none is named. The call is paid like any
// other. It also returns the space of the vectors.
type Embed func(ctx context.Context, agent dream.Agent, embedder string,
	texts []string) (vectors [][]float32, space string, err error)

// Version describes the build.
type Version struct {
	Oneiros  string `json:"oneiros"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	SDK      string `json:"temporal_sdk,omitempty"`
}

// Configuration is what `oneiros config` shows. Nothing in it is secret.
type Configuration struct {
	File     string    `json:"file,omitempty"`
	Settings []Setting `json:"settings"`
	Warnings []string  `json:"warnings,omitempty"`
	Faults   []string  `json:"faults,omitempty"`
}

// Setting is one knob: its value and its source.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"`
}

// New builds the command tree.
func New(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "oneiros",
		Short: "AI agents that dream over their own memory, under a hard cap of money",
		Long: `Oneiros gives AI agents a memory and lets them dream over it while nobody uses them: each dream is a durable
Temporal workflow under a hard cap of money.

Try it without any configuration:  oneiros dream --demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	if app.Flags != nil {
		root.PersistentFlags().AddFlagSet(app.Flags)
	}
	root.PersistentFlags().BoolVar(&app.json, "json", false, "answer in JSON")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: nights, Title: "Dreams:"}, &cobra.Group{ID: minds, Title: "Memory:"},
		&cobra.Group{ID: deployment, Title: "Deployment:"})
	root.AddCommand(
		app.agents(), app.memory(), app.playbook(), app.predictions(), app.fragments(), app.scenarios(),
		app.journal(), app.dreams(),
		app.spend(), app.config(), app.doctor(), app.version(), exitCodes(), app.depth(),
	)
	root.AddCommand(app.review(), app.health())
	app.addDreamCommands(root)
	root.AddCommand(app.policy())
	root.AddCommand(app.codec(), app.hooks(), app.serverKeys())
	root.AddCommand(app.store())
	root.AddCommand(app.events())
	root.AddCommand(app.llama(), app.steering())
	root.SetHelpCommandGroupID(deployment)
	root.SetCompletionCommandGroupID(deployment)
	root.InitDefaultCompletionCmd()
	addExamples(root)
	app.checkHelp(root)
	checkArguments(root)
	return root
}

const (
	nights     = "nights"
	minds      = "minds"
	deployment = "house"
)

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, app *App, args []string) int {
	out := &writer{w: app.Out}
	app.Out, app.began = out, app.Now()
	root := New(app)
	root.SetArgs(args)
	app.json = wantsJSON(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = app.misled
	}
	if err == nil && out.fail != nil {
		err = fmt.Errorf("write the answer: %w", out.fail)
	}
	if app.deployment != nil && app.deployment.Close != nil {
		if closing := app.deployment.Close(); err == nil {
			err = closing
		}
	}
	if err == nil {
		return OK
	}
	app.reportError(cmd, err)
	return Code(err)
}

// writer remembers the first failure, so that output that could not be written does not count as success.
type writer struct {
	w    io.Writer
	fail error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if w.fail == nil {
		w.fail = err
	}
	return n, err
}

// within opens the deployment, once.
func (app *App) within(ctx context.Context) (*Deployment, error) {
	app.open.Do(func() { app.deployment, app.fail = app.Open(ctx) })
	return app.deployment, app.fail
}
