package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

// publicRemoval is a removal in JSON.
type publicRemoval struct {
	Agent  string           `json:"agent"`
	Items  dream.KindCounts `json:"items"` // removed items by kind
	Events int              `json:"events"`
	Ended  []string         `json:"ended"` // workflows
	Kept   keptSpend        `json:"kept"`
	Keys   []string         `json:"keys"` // keys that name the agent, which are kept
	Notes  []string         `json:"notes"`
}

// keptSpend is what the spend ledger keeps of a removed agent.
type keptSpend struct {
	Attempts int           `json:"attempts"`
	Spent    budget.Micros `json:"spent_micros"`
}

func agentsRemove(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove HANDLE", Aliases: []string{"rm"}, Args: cobra.ExactArgs(1),
		Short: "Remove an agent and everything it remembers, for good",
		Long: `Remove erases an agent: its memories with all their revisions, its journal, events, predictions, playbook, dreams,
mood, settings and talks. It ends the agent's workflow and dreams that wait to go on. Nothing brings the agent back.

It is refused while the agent dreams or a client holds it awake, and says who does and how to end that.

What the agent has spent stays in the ledger, because the caps of the day, the month and all agents count it. A later
agent of the same handle begins empty; its dreams and events go on with the numbers of the old one.

A removal that was cut off is completed by the same command. Copies are beyond its reach: backups, exports, archived
events, and what a provider keeps of the prompts it was sent.

Exit codes: 0 removed, 3 no such agent, 4 it dreams, is held awake or nobody agreed, 5 the store does not answer.`,
		Example:           "  oneiros agents remove echo\n  oneiros agents remove echo --yes --json",
		ValidArgsFunction: completeHandles(app),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = app.InStore(func(ctx context.Context, args []string) error {
		return removeAgent(ctx, app, strings.TrimPrefix(args[0], "@"), yes)
	})
	return cmd
}

func removeAgent(ctx context.Context, app *cli.App, name string, yes bool) error {
	a, err := app.Store.Agent(ctx, name)
	if errors.Is(err, memory.ErrRemoved) {
		return removeRest(ctx, app, name)
	}
	if errors.Is(err, memory.ErrNotFound) {
		return noAgent(name)
	}
	if err != nil {
		return err
	}
	if err := mayRemove(ctx, app, a); err != nil {
		return err
	}
	spend, err := spendOf(ctx, app, a)
	if err != nil {
		return err
	}
	question, err := removalQuestion(ctx, app, a, spend)
	if err != nil {
		return err
	}
	if err := app.Confirm(yes, question); err != nil {
		return err
	}
	done, err := dropAgent(ctx, app, a.Handle)
	switch {
	case errors.Is(err, starter.ErrDreaming), errors.Is(err, starter.ErrAwake): // changed since the check
		if refused := mayRemove(ctx, app, a); refused != nil {
			return refused
		}
		return exit.Refusedf("agent %s was not removed: %w; run the command again", a.Handle, err)
	case err != nil:
		return fmt.Errorf("agent %s was not removed: %w", a.Handle, err)
	}
	keys, err := keysOf(ctx, app, a)
	if err != nil {
		return err
	}
	return reportRemoved(app, done, spend, keys)
}

// dropAgent removes through the waker, which also reaches Temporal where there is a server.
func dropAgent(ctx context.Context, app *cli.App, name string) (starter.RemovalResult, error) {
	w, err := view.Waker(ctx, app)
	if err != nil {
		return starter.RemovalResult{}, err
	}
	done, err := w.Remove(ctx, name)
	return done, errors.Join(err, w.Stop())
}

// removeRest ends the workflows that an earlier removal could not reach.
func removeRest(ctx context.Context, app *cli.App, id string) error {
	done, err := dropAgent(ctx, app, id)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return noAgent(id)
	case err != nil:
		return err
	case app.Json:
		return app.Answer(publicRemoval{
			Agent: id,
			Items: dream.KindCounts{},
			Ended: cli.OrEmpty(done.Ended),
			Keys:  []string{},
			Notes: []string{"it was removed before"},
		})
	}
	app.Say("Agent %s was removed before; its workflow, which was left, is ended now.", id)
	return nil
}

func noAgent(name string) error {
	return exit.NotFoundf("there is no agent %q; oneiros agents list names them all", name)
}

// mayRemove refuses an agent that dreams, or that a client holds awake.
func mayRemove(ctx context.Context, app *cli.App, a dream.Agent) error {
	slots, err := app.Store.Slots(ctx)
	if err != nil {
		return err
	}
	if held, dreams := slots[a.ID]; dreams {
		return exit.Refusedf("agent %s is dreaming %s; wait until it is over, or end it with oneiros dreams cancel %s%s",
			a.Handle, held.Dream, held.Dream, app.Option())
	}
	status, err := view.Status(ctx, app, a)
	if err != nil {
		return view.AsUnreachable(err)
	}
	if len(status.Leases) > 0 {
		return exit.Refusedf("agent %s is held awake by %s; wait until then, or end that with oneiros sleep -a %s --force%s",
			a.Handle, strings.Join(view.Holders(status.Leases, app.Now(), a.Zone), ", "), a.Handle, app.Option())
	}
	return nil
}

// spendOf adds up what the spend ledger keeps of an agent.
func spendOf(ctx context.Context, app *cli.App, a dream.Agent) (keptSpend, error) {
	rows, err := app.Ledger.Rows(ctx, spend.Query{Agent: a.ID})
	if err != nil {
		return keptSpend{}, fmt.Errorf("read what %s has spent: %w", a.Handle, err)
	}
	kept := keptSpend{}
	for _, row := range rows {
		kept.Attempts += row.Calls()
		kept.Spent += row.Counted
	}
	return kept, nil
}

// removalQuestion says in one sentence what a removal does.
func removalQuestion(ctx context.Context, app *cli.App, a dream.Agent, spend keptSpend) (string, error) {
	items, err := countsOf(ctx, app, a, dream.States...)
	if err != nil {
		return "", err
	}
	question := fmt.Sprintf("This removes agent %s for good, with %s", a.Handle, itemsText(items))
	waits, err := view.Resumable(ctx, app, a)
	if err != nil {
		return "", err
	}
	if waits != nil {
		question += fmt.Sprintf(" and the interrupted dream %s", waits.ID)
	}
	return question + fmt.Sprintf("; what it has spent, %s, stays counted", spend.Spent), nil
}

// itemsText counts items by kind.
func itemsText(items dream.KindCounts) string {
	sum := 0
	for _, n := range items {
		sum += n
	}
	if sum == 0 {
		return "no items"
	}
	return fmt.Sprintf("%s (%s)", cli.Count(sum, "item"), view.Kinds(items))
}

// keysOf lists the live keys of the server that name an agent.
func keysOf(ctx context.Context, app *cli.App, a dream.Agent) ([]string, error) {
	if app.Keys == nil {
		return nil, nil
	}
	keys, err := app.Keys.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for keys that name %s: %w", a.Handle, err)
	}
	var names []string
	for _, k := range keys {
		if k.Revoked.IsZero() && slices.Contains(k.Agents, a.Handle) {
			names = append(names, k.ID)
		}
	}
	return names, nil
}

func reportRemoved(app *cli.App, done starter.RemovalResult, spend keptSpend, keys []string) error {
	var notes []string
	if done.Running != "" {
		notes = append(notes, fmt.Sprintf("Its workflow could not be ended (%s). Until it is, it can do nothing; "+
			"oneiros agents remove %s%s ends it when Temporal answers.", done.Running, done.Agent, app.Option()))
	}
	if done.Traces != "" {
		notes = append(notes, fmt.Sprintf("The store's files may still hold old bytes of it: %s.", done.Traces))
	}
	if len(keys) > 0 {
		notes = append(notes,
			fmt.Sprintf("The server's %s %s still name it, and would reach a later agent of that handle; "+
				"oneiros keys revoke ends a key.", oneOrMore(len(keys), "key", "keys"), strings.Join(keys, ", ")))
	}
	if app.Json {
		return app.Answer(publicRemoval{
			Agent:  done.Agent,
			Items:  done.Items,
			Events: done.Events,
			Ended:  cli.OrEmpty(done.Ended),
			Kept:   spend,
			Keys:   cli.OrEmpty(keys),
			Notes:  cli.OrEmpty(notes),
		})
	}
	app.Say("Agent %s removed: %s and %s.", done.Agent, itemsText(done.Items),
		cli.Count(done.Events, "event"))
	if spend.Attempts > 0 {
		app.Say("What it has spent stays counted: %s in %s.", spend.Spent,
			cli.Count(spend.Attempts, "call"))
	}
	for _, note := range notes {
		app.Note("%s", note)
	}
	return nil
}

func oneOrMore(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
