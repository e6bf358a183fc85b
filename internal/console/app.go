// Package console is the words of the command line: its commands, their tables and their exit codes.
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

// App is what the door wires. Functions are called when a command first needs what they give, after flags are parsed.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Width    int  // columns of the screen; 0 when Out is no terminal: nothing is cut
	Terminal bool // somebody watches Out and can answer on In
	Colour   bool

	Patience time.Duration // silence after which Temporal is asked whether a watched dream still lives; 0 is 5 s

	Version       Version
	Zone          string // the machine's IANA time zone, for new agents
	Flags         *pflag.FlagSet
	Configuration func() Configuration
	// the rules of an agent's dreams, or of all when no handle is given
	Policy    func(handle string) (policy.Rules, error)
	Reference func() string
	// reads a duration as the configuration does; nil: time.ParseDuration
	Span   func(string) (time.Duration, error)
	Open   func(ctx context.Context) (*Deployment, error)
	Checks func(ctx context.Context) []Check // for the doctor, in the order to tell them
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
	misled     error     // the command that help was asked on, and that there is none of
	again      string    // the command that goes on with what is watched, when it is not oneiros up alone
}

// Deployment is what most commands stand on.
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
	Jobs    memory.EmbedQueue // who embeds which agent's memories
	Holder  string            // names this process among those that embed

	// Background names another process of this deployment that embeds memories by this embedder in the background;
	// false where there is none, or the embedder is so quick that a command does it itself.
	Background func(spec inference.Spec) (process int, runs bool)

	Archive func() (*archive.Archive, error) // of events; nil where none is configured

	Settings workflows.Settings   // of every agent's life
	FleetDay budget.Micros        // cap of all agents together, a day
	Vitality circadian.Thresholds // where each behavioural phase begins; zero: circadian.DefaultThresholds
	Digest   string               // how much of dreams a client is told: off, header or message
	Private  bool                 // nothing of dreams is told to any client

	Dir   string // the --data-dir that other commands need to find this house; empty when they find it without
	File  string // and the --config
	Close func() error
}

// Embed places texts by an embedder, or, where none is named, by the one that serves the agent. It is paid for like any
// call; the space of the vectors is named beside them.
type Embed func(ctx context.Context, agent dream.Agent, embedder string,
	texts []string) (vectors [][]float32, space string, err error)

// Version says what was built.
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

// Setting is one knob: what holds, and which place said it.
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
		Short: "Oneiros gives AI agents a night: dreams over their own memory, under a hard cap of money",
		Long: `Oneiros gives AI agents a night. While nobody talks to an agent it dreams over its own memory,
as one durable Temporal workflow under a hard cap of money.

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
	root.SetFlagErrorFunc(misflagged)
	root.AddGroup(&cobra.Group{ID: nights, Title: "Nights:"}, &cobra.Group{ID: minds, Title: "Memory:"},
		&cobra.Group{ID: deployment, Title: "The house:"})
	root.AddCommand(
		app.agents(), app.memory(), app.playbook(), app.predictions(), app.fragments(), app.scenarios(),
		app.journal(), app.dreams(),
		app.spend(), app.config(), app.doctor(), app.version(), exitCodes(), app.depth(),
	)
	root.AddCommand(app.review(), app.health())
	app.addNights(root)
	root.AddCommand(app.policy())
	root.AddCommand(app.codec(), app.hooks(), app.serverKeys())
	root.AddCommand(app.store())
	root.AddCommand(app.events())
	root.AddCommand(app.llama(), app.steering())
	root.SetHelpCommandGroupID(deployment)
	root.SetCompletionCommandGroupID(deployment)
	root.InitDefaultCompletionCmd()
	app.mindHelp(root)
	mindArguments(root)
	return root
}

const (
	nights     = "nights"
	minds      = "minds"
	deployment = "house"
)

// Run executes one command line and answers its exit code.
func Run(ctx context.Context, app *App, args []string) int {
	out := &writer{w: app.Out}
	app.Out, app.began = out, app.Now()
	root := New(app)
	root.SetArgs(args)
	app.json = asksJSON(args)
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
	app.complain(cmd, err)
	return Code(err)
}

// writer remembers the first failure, so that an answer nobody could read is not told as a success.
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

// within opens the house, once.
func (app *App) within(ctx context.Context) (*Deployment, error) {
	app.open.Do(func() { app.deployment, app.fail = app.Open(ctx) })
	return app.deployment, app.fail
}
