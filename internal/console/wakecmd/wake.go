// Package wakecmd has the commands that wake agents and let them sleep.
package wakecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/screen"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// wakeFlags are the choices of a command line about a wake.
type wakeFlags struct {
	client, digest string
	hold           time.Duration
	wait           bool
}

// Wake builds the command oneiros wake.
func Wake(app *cli.App) *cobra.Command {
	f := &wakeFlags{}
	cmd := &cobra.Command{
		Use: "wake", Short: "Wake an agent, whatever it dreams, and hold it awake", GroupID: cli.DreamGroup,
		Long: `Wake connects to the agent as a client: the agent is awake as soon as the store has recorded it. A
dream that is running stops between two tokens, keeps what it has and waits to be resumed.

The client is called operator, or as --client says; connecting again renews its lease. No dream begins until the lease and the wake lock are over; oneiros sleep ends them.

When Temporal does not answer, the agent is awake all the same: a worker records it later. The digest
is what was dreamt since the agent was last awake: unverified, and never an instruction.

Exit codes: 0 awake, 3 no such agent, 5 the store does not answer, or with --wait Temporal does not.`,
	}
	view.AddAgentFlag(app, cmd)
	fs := cmd.Flags()
	cli.SpanVar(fs, &f.hold, "for",
		"how long to hold it awake, as in 5m or 2h, at most 30d; agent.client_timeout when absent (`duration`)")
	fs.StringVar(&f.client, "client", "", "the `name` of the client that connects; operator when absent")
	fs.StringVar(&f.digest, "digest", "",
		"how much to show of dreams: off, header or message; agent.digest when absent")
	fs.BoolVar(&f.wait, "wait", false, "wait until Temporal has recorded it, and show the four phases of the wake")
	view.Completes(app, cmd, "digest", view.Fixed(journal.Digests))
	view.Completes(app, cmd, "client", view.With(app, view.Connected))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd.Flags().Changed("for"), cmd.Flags().Changed("client")); err != nil {
			return err
		}
		a, err := view.Promptly(app, cmd)
		if err != nil {
			return err
		}
		k := starter.Connection{Agent: a.ID, Client: f.client, Cause: presence.Connect, For: f.hold}
		if k.Client == "" {
			k.Client = view.Operator
		}
		return connect(cmd.Context(), app, a, k, f)
	}
	return cmd
}

// How long a client may hold an agent awake: a shorter time is over before anybody has looked, and a longer one is a
// mistake.
const (
	leastHold = time.Second
	mostHold  = 30 * 24 * time.Hour
)

func (f *wakeFlags) check(hold, named bool) error {
	var faults []error
	if hold && (f.hold < leastHold || f.hold > mostHold) {
		faults = append(faults, fmt.Errorf("--for %s must be between 1s and 30d, as in 5m", f.hold))
	}
	if named && f.client == "" {
		faults = append(faults, errors.New(`--client "" is empty; leave it out to connect as operator`))
	}
	if f.digest != "" && !cli.OneOf(f.digest, journal.Digests) {
		faults = append(faults,
			fmt.Errorf("--digest %s must be one of %s", f.digest, strings.Join(journal.Digests, ", ")))
	}
	if strings.TrimSpace(f.client) != f.client || len(f.client) > longestName {
		faults = append(faults,
			fmt.Errorf("--client %q must be a name of at most %d bytes, without spaces around it", f.client,
				longestName))
	}
	return exit.AsUsage(errors.Join(faults...))
}

// longestName bounds the names of clients, which are stored with every wake.
const longestName = 100

// connect wakes the agent, prints at once what the caller may go on with, and waits for the record where that is
// wanted.
func connect(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	k starter.Connection,
	f *wakeFlags,
) error {
	w, err := view.Waker(ctx, app)
	if err != nil {
		return err
	}
	return errors.Join(connectOn(ctx, app, a, w, k, f), w.Stop())
}

func connectOn(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	w deploy.Waker,
	k starter.Connection,
	f *wakeFlags,
) error {
	before := app.Now().Sub(app.Began)
	woken, err := w.Wake(ctx, k)
	if err != nil {
		return view.AsUnreachable(fmt.Errorf("wake %s: %w", a.Handle, err))
	}
	status, err := view.Status(ctx, app, a)
	if err != nil {
		return view.AsUnreachable(err)
	}
	digested, err := view.DigestOf(ctx, app, a, woken.Wake, f.digest)
	if err != nil {
		return view.AsUnreachable(err)
	}
	untold := digested.HidesDreams()
	result := wakeResult{
		Agent:    a.Handle,
		Wake:     view.WithoutDigest(woken.Wake, untold),
		Raised:   woken.Raised,
		Took:     cli.Millis(before + woken.Took),
		Degraded: woken.Degraded,
		Status:   view.PublicStatusOf(status, untold),
		Digested: digested,
		State:    string(circadian.Awake),
	}
	if status.State(false, app.Now()) == circadian.Sleeping {
		result.State, result.Sleeps = string(circadian.Sleeping), sleepText(a, status, app.Now())
	}
	if !app.Json {
		reportAwake(app, result, a)
	}
	missed := record(ctx, app, a, w, &result, f.wait)
	if app.Json {
		return errors.Join(app.Answer(result), missed)
	}
	return missed
}

// notifyWithin is how long a wake without --wait gives Temporal to be notified.
const notifyWithin = 700 * time.Millisecond

// record waits for the record of a wake where that is wanted; otherwise it only gives Temporal, if it answers, time
// to be notified.
func record(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	w deploy.Waker,
	result *wakeResult,
	wait bool,
) error {
	if wait {
		return recorded(ctx, app, a, w, result)
	}
	if result.Degraded != "" {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	answer, err := w.Recorded(short, a.ID, result.Epoch)
	if err != nil {
		result.Degraded = "Temporal does not answer: the wake is recorded by the next worker that reaches it."
		switch {
		case errors.Is(err, deploy.ErrNoWorker):
			result.Degraded = "No worker has answered yet: the wake is recorded by the next one that runs."
		case errors.Is(err, deploy.ErrNoServer):
			result.Degraded = "No Temporal server runs: the wake is recorded by the next worker that does."
		}
		app.Note("%s", result.Degraded)
		return nil
	}
	if result.Sleeps != "" {
		answer.State = result.State
	}
	result.Recorded = &answer
	return nil
}

// wakeResult is the result of oneiros wake.
type wakeResult struct {
	Agent string `json:"agent"`
	presence.Wake
	// State is awake, or sleeping when an alarm or an operator holds a sleeping agent without waking it.
	State    string            `json:"state"`
	Sleeps   string            `json:"sleeps,omitempty"` // what sleeping means here
	Raised   bool              `json:"raised"`           // this connection raised the epoch
	Took     float64           `json:"took_ms"`          // from the command's start until the caller could go on
	Status   view.PublicStatus `json:"presence"`
	Digested view.Digest       `json:"dreams"`
	Degraded string            `json:"degraded,omitempty"`

	Recorded *workflows.WakeAnswer   `json:"recorded,omitempty"`
	Phases   *event.DreamInterrupted `json:"interruption,omitempty"`
}

func reportAwake(app *cli.App, w wakeResult, a dream.Agent) {
	since := fmt.Sprintf("since %s, epoch %d, woken by %s", cli.Clock(w.At, app.Now(), a.Zone), w.Epoch,
		view.Called(w.Client, w.Cause))
	if w.Raised {
		since += " in " + screen.Millis(w.Took)
	} else {
		since += " before this request, which was answered in " + screen.Millis(w.Took)
	}
	held := "nobody"
	if len(w.Status.Leases) > 0 {
		held = strings.Join(view.Holders(w.Status.Leases, app.Now(), a.Zone), ", ")
	}
	if w.Sleeps != "" {
		reportAsleep(app, w, a, held)
		return
	}
	lock := ""
	if w.Status.Lock.After(app.Now()) {
		lock = "no dream begins before " + cli.Clock(w.Status.Lock, app.Now(), a.Zone)
	}
	stopped := "nothing; it only slept"
	if w.Dream != "" {
		stopped = w.Dream
	}
	app.FieldsWide(app.Out, wakeWidth,
		"agent", a.Handle, "awake", since, "held by", held, "wake lock", lock, "interrupted", stopped,
		"mood", view.Feeling(w.Affect)+moodChange(w.Wake), "dreams", w.Digested.Text(),
	)
	if w.Digested.Message != "" {
		fmt.Fprintf(app.Out, "\n%s\n\n", cli.Quoted(w.Digested.Message, app.Width))
	}
	if w.Degraded != "" {
		app.Note("%s", w.Degraded)
	}
}

// reportAsleep reports that a sleeping agent is held without being woken: only when it may dream has changed.
func reportAsleep(app *cli.App, w wakeResult, a dream.Agent, held string) {
	app.FieldsWide(app.Out, wakeWidth, "agent", a.Handle, "asleep", w.Sleeps, "held by", held)
	if w.Degraded != "" {
		app.Note("%s", w.Degraded)
	}
}

// sleepText says what holding a sleeping agent means.
func sleepText(a dream.Agent, s presence.Status, now time.Time) string {
	return fmt.Sprintf("%s sleeps, and no dream begins before %s", a.Handle, cli.Clock(s.Until(), now, a.Zone))
}

// wakeWidth is the width of the field names of a wake, the same now and when it is recorded.
const wakeWidth = len("interrupted")

// moodChange says how a dream changed the mood that it was woken from.
func moodChange(w presence.Wake) string {
	switch {
	case w.Dream == "":
		return ""
	case w.Cause == presence.Alarm:
		return "; an alarm leaves it as it was"
	}
	return "; the dream moved it by " + cli.Score(w.Delta)
}

// recordedWithin bounds how long --wait waits.
const recordedWithin = 20 * time.Second

// recorded waits for Temporal and reports how the wake went, by its phases when a dream was interrupted.
func recorded(
	ctx context.Context,
	app *cli.App,
	a dream.Agent,
	w deploy.Waker,
	result *wakeResult,
) error {
	waiting, cancel := context.WithTimeout(ctx, recordedWithin)
	defer cancel()
	answer, err := w.Recorded(waiting, a.ID, result.Epoch)
	is := a.Handle + " is awake"
	if result.Sleeps != "" {
		is = result.Sleeps
	}
	if err != nil {
		if ctx.Err() != nil {
			return exit.Errorf(exit.Failure, "left off waiting; %s, and Temporal records it when it can", is)
		}
		return exit.Errorf(exit.Unreachable,
			"%s, but Temporal has not recorded it yet: %w; it will when a worker runs (oneiros up%s)", is, err,
			app.Option())
	}
	if result.Sleeps != "" {
		answer.State = result.State
	}
	result.Recorded = &answer
	recorded := "by agent/" + a.Handle
	if answer.Dream != "" && !answer.Until.IsZero() {
		recorded += ", and " + answer.Dream + " may be resumed until " + cli.Clock(answer.Until, app.Now(), a.Zone)
	}
	phases := ""
	if result.Dream != "" {
		found, err := view.WakesOf(ctx, app, a, func(i *view.Interruption) bool { return i.Epoch == result.Epoch }, 1)
		if err != nil {
			return err
		}
		for _, i := range found {
			result.Phases, phases = &i.DreamInterrupted, i.Text()
		}
	}
	if !app.Json {
		app.FieldsWide(app.Out, wakeWidth, "recorded", recorded, "phases", phases)
	}
	return nil
}
