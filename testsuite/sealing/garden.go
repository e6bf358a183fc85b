// Package sealing plants marked words in everything that Temporal stores, and searches the database for them.
package sealing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Prefix begins every marked word; nothing else in a test may contain it.
const Prefix = "planted-"

// Stored are the places whose marked word is in the database when nothing is sealed. A word in the stack of a panic
// is the name of a function, since a stack contains nothing else of ours.
var Stored = []string{
	"input", "result", "signal", "update-argument", "update-result", "memo", "upserted-memo", "static-summary",
	"static-details",
	"timer-summary", "activity-summary", "activity-input", "activity-result", "local-result", "side-effect",
	"heartbeat",
	"backoff-message", "backoff-details", "failure-message", "failure-details", "panic-message", "child-input",
	"child-result",
	"child-failure", "child-summary", "continued-input", "last-details", "cause-message",
}

// Answered are the places whose marked word is only in answers to queries: no database has it.
var Answered = []string{"query-result", "current-details"}

// Stack is in the stack of a panicking activity.
const Stack = "plantedInTheStack"

// Word is the text that is put in a place: four times over, so that an edge between two pages of the database cuts at
// most one of them.
func Word(place string) string { return strings.Repeat(Prefix+place+". ", 4) }

// Names under which the garden's workflow can be reached.
const (
	Signal, GoOn, Update, Query = "plant", "go-on", "sow", "look"
	MemoKey                     = "memo"
)

// Garden is a workflow with a word in every payload.
type Garden struct {
	Beaten chan struct{} // closed when the server has the heartbeat that is searched for
}

// Activities are its activities.
type Activities struct{ beaten chan struct{} }

// Register registers the garden with a worker.
func (g *Garden) Register(r worker.Registry) {
	r.RegisterWorkflowWithOptions(g.Grow, workflow.RegisterOptions{Name: "Grow"})
	r.RegisterWorkflowWithOptions(g.Child, workflow.RegisterOptions{Name: "Child"})
	r.RegisterActivity(&Activities{beaten: g.Beaten})
}

var activities *Activities // for the names of its methods

// Grow puts a word in each place, then waits with an activity that heartbeats and one that backs off until it is
// signalled; its second run ends.
func (g *Garden) Grow(ctx workflow.Context, word string) (string, error) {
	if word == Word("continued-input") {
		return Word("result"), nil
	}
	workflow.SetCurrentDetails(ctx, Word("current-details"))
	if err := workflow.SetQueryHandler(ctx, Query,
		func() (string, error) { return Word("query-result"), nil }); err != nil {
		return "", err
	}
	if err := workflow.SetUpdateHandler(ctx, Update,
		func(workflow.Context, string) (string, error) { return Word("update-result"), nil }); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, Signal).Receive(ctx, &word)
	if err := errors.Join(g.small(ctx), g.fail(ctx), g.family(ctx)); err != nil {
		return "", err
	}
	waiting, stop := workflow.WithCancel(ctx)
	beating := workflow.ExecuteActivity(
		options(waiting, workflow.ActivityOptions{HeartbeatTimeout: time.Hour, WaitForCancellation: true}),
		activities.Beat)
	backing := workflow.ExecuteActivity(options(waiting, workflow.ActivityOptions{
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Hour, MaximumInterval: time.Hour},
	}), activities.BackOff)
	workflow.GetSignalChannel(ctx, GoOn).Receive(ctx, nil)
	stop()
	_, _ = beating.Get(ctx, nil), backing.Get(ctx, nil)
	return "", workflow.NewContinueAsNewError(ctx, "Grow", Word("continued-input"))
}

func options(ctx workflow.Context, o workflow.ActivityOptions) workflow.Context {
	o.StartToCloseTimeout = time.Hour
	if o.RetryPolicy == nil {
		o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	}
	return workflow.WithActivityOptions(ctx, o)
}

// small puts words in everything that succeeds.
func (g *Garden) small(ctx workflow.Context) error {
	if err := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: Word("timer-summary")}).Get(
		ctx, nil); err != nil {
		return err
	}
	summed := options(ctx, workflow.ActivityOptions{Summary: Word("activity-summary")})
	if err := workflow.ExecuteActivity(summed, activities.Echo, Word("activity-input"), "activity-result").Get(ctx,
		nil); err != nil {
		return err
	}
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Hour})
	if err := workflow.ExecuteLocalActivity(local, activities.Echo, "", "local-result").Get(ctx, nil); err != nil {
		return err
	}
	var drawn string
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return Word("side-effect") }).Get(
		&drawn); err != nil {
		return err
	}
	return workflow.UpsertMemo(ctx, map[string]any{"upserted": Word("upserted-memo")})
}

// fail puts words in every kind of failure; all of them are expected.
func (g *Garden) fail(ctx workflow.Context) error {
	once := options(ctx, workflow.ActivityOptions{})
	for _, activity := range []any{activities.Fail, activities.Panic} {
		if workflow.ExecuteActivity(once, activity).Get(ctx, nil) == nil {
			return errors.New("an activity that should fail did not")
		}
	}
	return nil
}

func (g *Garden) family(ctx workflow.Context) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{StaticSummary: Word("child-summary")})
	if err := workflow.ExecuteChildWorkflow(ctx, "Child", Word("child-input")).Get(ctx, nil); err != nil {
		return err
	}
	if workflow.ExecuteChildWorkflow(ctx, "Child", "").Get(ctx, nil) == nil {
		return errors.New("a child that should fail did not")
	}
	return nil
}

// Child ends well with a word, and fails without one.
func (g *Garden) Child(_ workflow.Context, word string) (string, error) {
	if word == "" {
		return "", errors.New(Word("child-failure"))
	}
	return Word("child-result"), nil
}

// Echo returns a word.
func (d *Activities) Echo(_ context.Context, _, place string) (string, error) {
	return Word(place), nil
}

// Fail fails with a word in its message, its details and its cause.
func (d *Activities) Fail(context.Context) error {
	return temporal.NewApplicationErrorWithOptions(Word("failure-message"), "labelled-type",
		temporal.ApplicationErrorOptions{
			Details: []any{Word("failure-details")}, Cause: errors.New(Word("cause-message")),
		})
}

// Panic panics some calls deep.
func (d *Activities) Panic(context.Context) error { return plantedInTheStack(8) }

func plantedInTheStack(depth int) error {
	if depth == 0 {
		panic(Word("panic-message"))
	}
	return fmt.Errorf("never comes back: %w", plantedInTheStack(depth-1))
}

// BackOff fails, to be retried long after.
func (d *Activities) BackOff(context.Context) error {
	return temporal.NewApplicationError(Word("backoff-message"), "labelled-type", Word("backoff-details"))
}

// Beat leaves a word in its heartbeat and waits to be cancelled; its last details are in the cancellation.
func (d *Activities) Beat(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, Word("heartbeat")) // the first beat is sent before this returns
	close(d.beaten)
	<-ctx.Done()
	return temporal.NewCanceledError(Word("last-details"))
}

// Search reads the database and its write-ahead log and returns which of the words are in them.
func Search(db string, words []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, file := range []string{db, db + "-wal", db + "-journal"} {
		body, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, word := range words {
			found[word] = found[word] || bytes.Contains(body, []byte(word))
		}
	}
	return found, nil
}
