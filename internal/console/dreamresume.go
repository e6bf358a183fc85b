package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// publicRecord is a dream's record for --json.
type publicRecord struct {
	*dream.Record
	Status  dream.Status  `json:"status"`
	Resumes int           `json:"resumes,omitempty"`
	Recall  *publicRecall `json:"recall,omitempty"`

	Stretches *int `json:"sittings,omitempty"` // never set; these three hide what only the store needs
	Connected *int `json:"knocked,omitempty"`
	Felt      *int `json:"felt,omitempty"`
}

// publicRecall is the effect of a dream on recall, for --json.
type publicRecall struct {
	dream.Recall
	Requested *int `json:"asked,omitempty"` // never set; hides the stored name
	Checked   int  `json:"checked"`
}

// public adds the public status to a record.
func (app *App) public(n *dream.Record) publicRecord {
	p := publicRecord{Record: n, Status: n.Status(app.Now()), Resumes: max(0, n.Stretches-1)}
	if n.Recall != nil {
		p.Recall = &publicRecall{Recall: *n.Recall, Checked: n.Recall.Requested}
	}
	return p
}

// reason is why a dream ended, or until when an interrupted one can be resumed.
func (app *App) reason(n *dream.Record, zone string) string {
	switch {
	case app.mayGoOn(n):
		return n.Reason + "; resumable until " + clock(n.Until, app.Now(), zone)
	case n.Resumable():
		return n.Reason + "; its time to be resumed ran out at " + clock(n.Until, app.Now(), zone)
	}
	return n.Reason
}

func (app *App) dreamsResume() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "resume [DREAM]", Short: "Let a dream go on that was woken", Args: cobra.MaximumNArgs(1),
		Long: `Resume lets a dream go on that was woken, without waiting for quiet: under the same id, from what it had
finished, with what is left of its money. DREAM is an id, a number of the agent's, or last; when none is
named, it is the agent's interrupted one. It is refused while somebody holds the agent awake.

Exit codes: 0 it goes on, 3 no dream waits to be resumed, 4 somebody holds the agent awake or it dreams
already, 5 Temporal or the store does not answer; with --watch those of oneiros watch.`,
	}
	app.addAgentFlag(cmd)
	cmd.ValidArgsFunction = app.completeDreams([]string{dream.RecordWaits})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow it to its report")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, record, err := app.interrupted(cmd, args)
		if err != nil {
			return err
		}
		if err := app.mayDream(cmd.Context(), h, a); err != nil {
			return err
		}
		return app.resume(cmd.Context(), h, a, record, watch)
	}
	return cmd
}

// interrupted finds the dream to resume.
func (app *App) interrupted(cmd *cobra.Command, args []string) (*Deployment, dream.Agent, *dream.Record, error) {
	if len(args) == 1 {
		h, a, record, err := app.recordOf(cmd, args[0])
		if err == nil && !app.mayGoOn(record) {
			why := outcomeOf(record)
			if text := app.reason(record, a.Zone); text != "" {
				why += ": " + text
			}
			err = exit(NotFound, "dream %s does not wait to be resumed (%s)", record.ID, why)
		}
		return h, a, record, err
	}
	h, a, err := app.agentOf(cmd)
	if err != nil {
		return h, a, nil, err
	}
	record, err := app.resumable(cmd.Context(), h, a)
	if err == nil && record == nil {
		err = exit(NotFound, "no dream of %s waits to be resumed", a.Handle)
	}
	return h, a, record, err
}

func (app *App) resume(ctx context.Context, h *Deployment, a dream.Agent, record *dream.Record, watch bool) error {
	engine, err := app.Dream.Reach(ctx, h)
	if err != nil {
		return err
	}
	goOn := func() error {
		if err := engine.Dreams().Resume(ctx, a.ID, record.ID); err != nil {
			return fmt.Errorf("resume %s: %w", record.ID, err)
		}
		if watch {
			app.announce(h, a)
			return app.follow(ctx, h, a, engine, record.ID)
		}
		if app.json {
			return app.answer(map[string]string{"dream": record.ID, "agent": a.Handle})
		}
		app.say("Dream %s goes on. Follow it: oneiros watch %s%s", record.ID, record.ID, h.option())
		return nil
	}
	return errors.Join(goOn(), engine.Stop())
}
