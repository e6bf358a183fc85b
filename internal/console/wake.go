package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/screen"
	"github.com/seed-56a03226/oneiros/workflows"
)

// wakeFlags are the choices of a command line about a wake.
type wakeFlags struct {
	client, digest string
	hold           time.Duration
	wait           bool
}

func (app *App) wake() *cobra.Command {
	f := &wakeFlags{}
	cmd := &cobra.Command{
		Use: "wake", Short: "Wake an agent, whatever it dreams, and hold it awake", GroupID: nights,
		Long: `Wake connects to the agent as a client: the agent is awake as soon as the store has recorded it. A
dream that is running stops between two tokens, keeps what it has and waits to be resumed.

The client is called operator, or as --client says; connecting again renews its lease. No dream begins until the lease and the wake lock are over; oneiros sleep ends them.

When Temporal does not answer, the agent is awake all the same: a worker records it later. The digest
is what was dreamt since the agent was last awake: unverified, and never an instruction.

Exit codes: 0 awake, 3 no such agent, 5 the store does not answer, or with --wait Temporal does not.`,
	}
	app.addAgentFlag(cmd)
	fs := cmd.Flags()
	app.spanVar(fs, &f.hold, "for",
		"how long to hold it awake, as in 5m or 2h, at most 30d; agent.client_timeout when absent (`duration`)")
	fs.StringVar(&f.client, "client", "", "the `name` of the client that connects; operator when absent")
	fs.StringVar(&f.digest, "digest", "",
		"how much to tell of dreams: off, header or message; agent.digest when absent")
	fs.BoolVar(&f.wait, "wait", false, "wait until Temporal has recorded it, and tell the four phases of the wake")
	app.completes(cmd, "digest", fixed(journal.Digests))
	app.completes(cmd, "client", app.connected)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd.Flags().Changed("for"), cmd.Flags().Changed("client")); err != nil {
			return err
		}
		h, a, err := app.promptly(cmd)
		if err != nil {
			return err
		}
		k := Connection{Agent: a.ID, Client: f.client, Cause: presence.Connect, For: f.hold}
		if k.Client == "" {
			k.Client = operator
		}
		return app.connect(cmd.Context(), h, a, k, f)
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
	if f.digest != "" && !oneOf(f.digest, journal.Digests) {
		faults = append(faults,
			fmt.Errorf("--digest %s must be one of %s", f.digest, strings.Join(journal.Digests, ", ")))
	}
	if strings.TrimSpace(f.client) != f.client || len(f.client) > longestName {
		faults = append(faults,
			fmt.Errorf("--client %q must be a name of at most %d bytes, without spaces around it", f.client,
				longestName))
	}
	return usage(errors.Join(faults...))
}

// operator is the client name for the person who runs the deployment. Its lease is like any other.
const operator = "operator"

// longestName bounds the names of clients, which are stored with every wake.
const longestName = 100

// connect wakes the agent, prints at once what the caller may go on with, and waits for the record where that is
// wanted.
func (app *App) connect(ctx context.Context, h *Deployment, a dream.Agent, k Connection, f *wakeFlags) error {
	w, err := app.waker(ctx, h)
	if err != nil {
		return err
	}
	return errors.Join(app.connectOn(ctx, h, a, w, k, f), w.Stop())
}

func (app *App) connectOn(ctx context.Context, h *Deployment, a dream.Agent, w Waker, k Connection,
	f *wakeFlags,
) error {
	before := app.Now().Sub(app.began)
	woken, err := w.Wake(ctx, k)
	if err != nil {
		return asUnreachable(fmt.Errorf("wake %s: %w", a.Handle, err))
	}
	status, err := app.status(ctx, h, a)
	if err != nil {
		return asUnreachable(err)
	}
	digested, err := digestOf(ctx, h, a, woken.Wake, f.digest)
	if err != nil {
		return asUnreachable(err)
	}
	untold := digested.hidesDreams()
	result := wakeResult{
		Agent:    a.Handle,
		Wake:     withoutDigest(woken.Wake, untold),
		Raised:   woken.Raised,
		Took:     millis(before + woken.Took),
		Degraded: woken.Degraded,
		Status:   publicStatusOf(status, untold),
		Digested: digested,
		State:    string(circadian.Awake),
	}
	if status.State(false, app.Now()) == circadian.Sleeping {
		result.State, result.Sleeps = string(circadian.Sleeping), sleepText(a, status, app.Now())
	}
	if !app.json {
		app.reportAwake(result, a)
	}
	missed := app.record(ctx, h, a, w, &result, f.wait)
	if app.json {
		return errors.Join(app.answer(result), missed)
	}
	return missed
}

// notifyWithin is how long a wake without --wait gives Temporal to be notified.
const notifyWithin = 700 * time.Millisecond

// record waits for the record of a wake where that is wanted; otherwise it only gives Temporal, if it answers, time
// to be notified.
func (app *App) record(ctx context.Context, h *Deployment, a dream.Agent, w Waker, result *wakeResult,
	wait bool,
) error {
	if wait {
		return app.recorded(ctx, h, a, w, result)
	}
	if result.Degraded != "" {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	answer, err := w.Recorded(short, a.ID, result.Epoch)
	if err != nil {
		result.Degraded = "Temporal does not answer: the wake is recorded by the next worker that reaches it."
		if errors.Is(err, ErrNoServer) {
			result.Degraded = "No Temporal server runs: the wake is recorded by the next worker that does."
		}
		app.note("%s", result.Degraded)
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
	State    string       `json:"state"`
	Sleeps   string       `json:"sleeps,omitempty"` // what sleeping means here
	Raised   bool         `json:"raised"`           // this connection raised the epoch
	Took     float64      `json:"took_ms"`          // from the command's start until the caller could go on
	Status   publicStatus `json:"presence"`
	Digested digest       `json:"dreams"`
	Degraded string       `json:"degraded,omitempty"`

	Recorded *workflows.WakeAnswer   `json:"recorded,omitempty"`
	Phases   *event.DreamInterrupted `json:"interruption,omitempty"`
}

func (app *App) reportAwake(w wakeResult, a dream.Agent) {
	since := fmt.Sprintf("since %s, epoch %d, woken by %s", clock(w.At, app.Now(), a.Zone), w.Epoch,
		called(w.Client, w.Cause))
	if w.Raised {
		since += " in " + screen.Millis(w.Took)
	} else {
		since += " before this request, which was answered in " + screen.Millis(w.Took)
	}
	held := "nobody"
	if len(w.Status.Leases) > 0 {
		held = strings.Join(holders(w.Status.Leases, app.Now(), a.Zone), ", ")
	}
	if w.Sleeps != "" {
		app.reportAsleep(w, a, held)
		return
	}
	lock := ""
	if w.Status.Lock.After(app.Now()) {
		lock = "no dream begins before " + clock(w.Status.Lock, app.Now(), a.Zone)
	}
	stopped := "nothing; it only slept"
	if w.Dream != "" {
		stopped = w.Dream
	}
	app.fieldsWide(app.Out, wakeWidth,
		"agent", a.Handle, "awake", since, "held by", held, "wake lock", lock, "interrupted", stopped,
		"mood", feeling(w.Affect)+shift(w.Wake), "dreams", w.Digested.text(),
	)
	if w.Digested.Message != "" {
		fmt.Fprintf(app.Out, "\n%s\n\n", quoted(w.Digested.Message, app.Width))
	}
	if w.Degraded != "" {
		app.note("%s", w.Degraded)
	}
}

// reportAsleep reports that a sleeping agent is held without being woken: only when it may dream has changed.
func (app *App) reportAsleep(w wakeResult, a dream.Agent, held string) {
	app.fieldsWide(app.Out, wakeWidth, "agent", a.Handle, "asleep", w.Sleeps, "held by", held)
	if w.Degraded != "" {
		app.note("%s", w.Degraded)
	}
}

// sleepText says what holding a sleeping agent means.
func sleepText(a dream.Agent, s presence.Status, now time.Time) string {
	return fmt.Sprintf("%s sleeps, and no dream begins before %s", a.Handle, clock(s.Until(), now, a.Zone))
}

// wakeWidth is the width of the field names of a wake, the same now and when it is recorded.
const wakeWidth = len("interrupted")

func feeling(m mood.PAD) string {
	return fmt.Sprintf("pleasure %s, arousal %s, dominance %s", signed(m.Pleasure), signed(m.Arousal),
		signed(m.Dominance))
}

// shift says how a dream changed the mood that it was woken from.
func shift(w presence.Wake) string {
	switch {
	case w.Dream == "":
		return ""
	case w.Cause == presence.Alarm:
		return "; an alarm leaves it as it was"
	}
	return "; the dream moved it by " + score(w.Delta)
}

// recordedWithin bounds how long --wait waits.
const recordedWithin = 20 * time.Second

// recorded waits for Temporal and reports how the wake went, by its phases when a dream was interrupted.
func (app *App) recorded(ctx context.Context, h *Deployment, a dream.Agent, w Waker, result *wakeResult) error {
	waiting, cancel := context.WithTimeout(ctx, recordedWithin)
	defer cancel()
	answer, err := w.Recorded(waiting, a.ID, result.Epoch)
	is := a.Handle + " is awake"
	if result.Sleeps != "" {
		is = result.Sleeps
	}
	if err != nil {
		if ctx.Err() != nil {
			return exit(Failure, "left off waiting; %s, and Temporal records it when it can", is)
		}
		return exit(Unreachable,
			"%s, but Temporal has not recorded it yet: %w; it will when a worker runs (oneiros up%s)", is, err,
			h.option())
	}
	if result.Sleeps != "" {
		answer.State = result.State
	}
	result.Recorded = &answer
	recorded := "by agent/" + a.Handle
	if answer.Dream != "" && !answer.Until.IsZero() {
		recorded += ", and " + answer.Dream + " may be resumed until " + clock(answer.Until, app.Now(), a.Zone)
	}
	phases := ""
	if result.Dream != "" {
		found, err := wakesOf(ctx, h, a, func(i *interruption) bool { return i.Epoch == result.Epoch }, 1)
		if err != nil {
			return err
		}
		for _, i := range found {
			result.Phases, phases = &i.DreamInterrupted, i.text()
		}
	}
	if !app.json {
		app.fieldsWide(app.Out, wakeWidth, "recorded", recorded, "phases", phases)
	}
	return nil
}
