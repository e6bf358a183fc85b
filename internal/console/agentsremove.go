package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Removed is the result of removing an agent.
type Removed struct {
	memory.RemovalResult
	Agent   string   // its handle
	Ended   []string // workflows that ran and were ended
	Running string   // why its workflows may still run; empty: they do not
	Earlier bool     // an earlier command had removed the agent from the store, but not ended its workflow
}

// publicRemoval is a removal in JSON.
type publicRemoval struct {
	Agent  string             `json:"agent"`
	Items  map[dream.Kind]int `json:"items"` // removed items by kind
	Events int                `json:"events"`
	Ended  []string           `json:"ended"` // workflows
	Kept   keptSpend          `json:"kept"`
	Keys   []string           `json:"keys"` // keys that name the agent, which are kept
	Notes  []string           `json:"notes"`
}

// keptSpend is what the spend ledger keeps of a removed agent.
type keptSpend struct {
	Attempts int           `json:"attempts"`
	Spent    budget.Micros `json:"spent_micros"`
}

func (app *App) agentsRemove() *cobra.Command {
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
		ValidArgsFunction: app.completeHandles,
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		return app.removeAgent(cmd.Context(), h, strings.TrimPrefix(args[0], "@"), yes)
	}
	return cmd
}

func (app *App) removeAgent(ctx context.Context, h *Deployment, name string, yes bool) error {
	a, err := h.Store.Agent(ctx, name)
	if errors.Is(err, memory.ErrRemoved) {
		return app.removeRest(ctx, h, name)
	}
	if errors.Is(err, memory.ErrNotFound) {
		return noAgent(name)
	}
	if err != nil {
		return err
	}
	if err := app.mayRemove(ctx, h, a); err != nil {
		return err
	}
	spend, err := spendOf(ctx, h, a)
	if err != nil {
		return err
	}
	question, err := app.removalQuestion(ctx, h, a, spend)
	if err != nil {
		return err
	}
	if err := app.confirm(yes, question); err != nil {
		return err
	}
	done, err := app.dropAgent(ctx, h, a.Handle)
	switch {
	case errors.Is(err, ErrDreaming), errors.Is(err, ErrAwake): // changed since the check
		if refused := app.mayRemove(ctx, h, a); refused != nil {
			return refused
		}
		return exit(Refused, "agent %s was not removed: %w; run the command again", a.Handle, err)
	case err != nil:
		return fmt.Errorf("agent %s was not removed: %w", a.Handle, err)
	}
	keys, err := keysOf(ctx, h, a)
	if err != nil {
		return err
	}
	return app.reportRemoved(h, done, spend, keys)
}

// dropAgent removes through the waker, which also reaches Temporal where there is a server.
func (app *App) dropAgent(ctx context.Context, h *Deployment, name string) (Removed, error) {
	w, err := app.waker(ctx, h)
	if err != nil {
		return Removed{}, err
	}
	done, err := w.Remove(ctx, name)
	return done, errors.Join(err, w.Stop())
}

// removeRest ends the workflows that an earlier removal could not reach.
func (app *App) removeRest(ctx context.Context, h *Deployment, id string) error {
	done, err := app.dropAgent(ctx, h, id)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return noAgent(id)
	case err != nil:
		return err
	case app.json:
		return app.answer(publicRemoval{
			Agent: id,
			Items: map[dream.Kind]int{},
			Ended: orEmpty(done.Ended),
			Keys:  []string{},
			Notes: []string{"it was removed before"},
		})
	}
	app.say("Agent %s was removed before; its workflow, which was left, is ended now.", id)
	return nil
}

func noAgent(name string) error {
	return exit(NotFound, "there is no agent %q; oneiros agents list names them all", name)
}

// mayRemove refuses an agent that dreams, or that a client holds awake.
func (app *App) mayRemove(ctx context.Context, h *Deployment, a dream.Agent) error {
	slots, err := h.Store.Slots(ctx)
	if err != nil {
		return err
	}
	if held, dreams := slots[a.ID]; dreams {
		return exit(Refused,
			"agent %s is dreaming %s; wait until it is over, or end it with oneiros dreams cancel %s%s",
			a.Handle, held.Dream, held.Dream, h.option())
	}
	status, err := app.status(ctx, h, a)
	if err != nil {
		return asUnreachable(err)
	}
	if len(status.Leases) > 0 {
		return exit(Refused,
			"agent %s is held awake by %s; wait until then, or end that with oneiros sleep -a %s --force%s",
			a.Handle, strings.Join(holders(status.Leases, app.Now(), a.Zone), ", "), a.Handle, h.option())
	}
	return nil
}

// spendOf adds up what the spend ledger keeps of an agent.
func spendOf(ctx context.Context, h *Deployment, a dream.Agent) (keptSpend, error) {
	rows, err := h.Ledger.Rows(ctx, spend.Query{Agent: a.ID})
	if err != nil {
		return keptSpend{}, fmt.Errorf("read what %s has spent: %w", a.Handle, err)
	}
	kept := keptSpend{Attempts: len(rows)}
	for _, row := range rows {
		kept.Spent += row.Counted
	}
	return kept, nil
}

// removalQuestion says in one sentence what a removal does.
func (app *App) removalQuestion(ctx context.Context, h *Deployment, a dream.Agent, spend keptSpend) (string, error) {
	items := map[dream.Kind]int{}
	for _, kind := range dream.Kinds {
		n, err := h.Store.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}, States: dream.States})
		if err != nil {
			return "", err
		}
		if n > 0 {
			items[kind] = n
		}
	}
	question := fmt.Sprintf("This removes agent %s for good, with %s", a.Handle, itemsText(items))
	waits, err := app.resumable(ctx, h, a)
	if err != nil {
		return "", err
	}
	if waits != nil {
		question += fmt.Sprintf(" and the interrupted dream %s", waits.ID)
	}
	return question + fmt.Sprintf("; what it has spent, %s, stays counted", spend.Spent), nil
}

// itemsText counts items by kind.
func itemsText(items map[dream.Kind]int) string {
	var kinds []string
	sum := 0
	for _, kind := range dream.Kinds {
		if items[kind] > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, items[kind]))
			sum += items[kind]
		}
	}
	if sum == 0 {
		return "no items"
	}
	return fmt.Sprintf("%s (%s)", plural(sum, "item", "items"), strings.Join(kinds, ", "))
}

// keysOf lists the live keys of the server that name an agent.
func keysOf(ctx context.Context, h *Deployment, a dream.Agent) ([]string, error) {
	if h.Keys == nil {
		return nil, nil
	}
	keys, err := h.Keys.Keys(ctx)
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

func (app *App) reportRemoved(h *Deployment, done Removed, spend keptSpend, keys []string) error {
	var notes []string
	if done.Running != "" {
		notes = append(notes, fmt.Sprintf("Its workflow could not be ended (%s). Until it is, it can do nothing; "+
			"oneiros agents remove %s%s ends it when Temporal answers.", done.Running, done.Agent, h.option()))
	}
	if done.Traces != "" {
		notes = append(notes, fmt.Sprintf("The store's files may still hold old bytes of it: %s.", done.Traces))
	}
	if len(keys) > 0 {
		notes = append(notes,
			fmt.Sprintf("The server's %s %s still name it, and would reach a later agent of that handle; "+
				"oneiros keys revoke ends a key.", oneOrMore(len(keys), "key", "keys"), strings.Join(keys, ", ")))
	}
	if app.json {
		return app.answer(publicRemoval{
			Agent:  done.Agent,
			Items:  done.Items,
			Events: done.Events,
			Ended:  orEmpty(done.Ended),
			Kept:   spend,
			Keys:   orEmpty(keys),
			Notes:  orEmpty(notes),
		})
	}
	app.say("Agent %s removed: %s and %s.", done.Agent, itemsText(done.Items), plural(done.Events, "event", "events"))
	if spend.Attempts > 0 {
		app.say("What it has spent stays counted: %s in %s.", spend.Spent, plural(spend.Attempts, "call", "calls"))
	}
	for _, note := range notes {
		app.note("%s", note)
	}
	return nil
}

func oneOrMore(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
