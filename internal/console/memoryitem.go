package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func (app *App) memoryShow() *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one memory whole, with what it was made from",
		Args: cobra.ExactArgs(1),
	}
	app.addAgentFlag(cmd)
	cmd.Flags().BoolVar(&history, "revisions", false, "also every state it has been in, and what changed it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, a, item, err := app.itemOf(cmd, args[0])
		if err != nil {
			return err
		}
		if history {
			return app.showRevisions(cmd, h, a, item)
		}
		if app.json {
			return app.answer(publicItem(item))
		}
		return app.showItem(app.Out, a, item)
	}
	return cmd
}

// itemOf finds an item by its id, or by the beginning or end of one, in the named agent's memory or in any.
func (app *App) itemOf(cmd *cobra.Command, id string,
	kinds ...dream.Kind,
) (*Deployment, dream.Agent, dream.Item, error) {
	var deployment *Deployment
	var owner dream.Agent
	var item dream.Item
	err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
		got, err := oneItem(cmd.Context(), h, a, id, kinds)
		if err != nil || got == nil {
			return err
		}
		if item != nil {
			return exit(Usage, "%q is known to %s and to %s; say whose with --agent", id, owner.Handle, a.Handle)
		}
		deployment, owner, item = h, a, got
		return nil
	})
	if err == nil && item == nil {
		err = app.noItem(cmd, id, kinds)
	}
	if err == nil {
		err = memory.ReadClaims(cmd.Context(), deployment.Store, owner.ID, []dream.Item{item})
	}
	return deployment, owner, item, err
}

// noItem is the error for an id that matches nothing, or an item of another kind.
func (app *App) noItem(cmd *cobra.Command, id string, kinds []dream.Kind) error {
	if len(kinds) == 0 {
		return exit(NotFound, "there is no memory %q; oneiros memory list and dreams list name them", id)
	}
	what := string(kinds[0])
	if _, _, other, err := app.itemOf(cmd, id); err == nil {
		head := other.Header()
		return exit(NotFound, "%s is no %s but %s; oneiros %s list names them", head.ID, what, oneOfKind(head.Kind),
			what+"s")
	}
	return exit(NotFound, "there is no %s %q; oneiros %s list names them", what, id, what+"s")
}

// oneOfKind is the name of a kind with its article.
func oneOfKind(k dream.Kind) string {
	switch k {
	case dream.KindEpisode:
		return "an episode"
	case dream.KindSemantic:
		return "a piece of knowledge"
	case dream.KindJournal:
		return "a journal entry"
	case dream.KindPlaybook:
		return "a playbook entry"
	case dream.KindRecord:
		return "a dream"
	}
	return "a " + string(k)
}

// oneItem finds an item by its id, whole or as in lists (0001/nrem/backward/1), or by a beginning or end that only
// one id has; nil when there is none.
func oneItem(ctx context.Context, h *Deployment, a dream.Agent, id string, kinds []dream.Kind) (dream.Item, error) {
	items, err := h.Store.Get(ctx, a.ID, whole(id, a))
	if err == nil && len(items) == 0 {
		items, err = h.Store.Get(ctx, a.ID, id)
	}
	if err != nil || len(items) > 0 {
		if len(items) > 0 && (len(kinds) == 0 || oneOf(string(items[0].Header().Kind), kinds)) {
			return items[0], nil
		}
		return nil, err
	}
	part := strings.Trim(id, "…")
	if len(part) < 4 {
		return nil, nil
	}
	all, err := h.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: kinds, States: dream.States})
	var match dream.Item
	for _, item := range all {
		if full := item.Header().ID; strings.HasPrefix(full, part) || strings.HasPrefix(full, whole(part, a)) ||
			strings.HasSuffix(full, part) {
			if match != nil {
				return nil,
					exit(Usage, "%q is part of several ids (%s, %s); give more of it", id, match.Header().ID, full)
			}
			match = item
		}
	}
	return match, err
}

// showItem writes every field that has a value, the text first.
func (app *App) showItem(w io.Writer, a dream.Agent, item dream.Item) error {
	fmt.Fprintf(w, "%s\n\n", wrap(item.Text(), app.Width, ""))
	body, err := json.Marshal(item)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	if verdict, ok := fields["verdict"].(map[string]any); ok {
		delete(verdict, "parts") // shown by fragments explain
	}
	var pairs []string
	for _, name := range itemFields {
		value, ok := fields[name]
		if text := fieldText(name, value, a.Zone); ok && text != "" && text != item.Text() {
			pairs = append(pairs, strings.ReplaceAll(name, "_", " "), text)
		}
	}
	app.fields(w, pairs...)
	return nil
}

// itemFields are the JSON names of the fields of all kinds in the order shown. Fields that are not listed are not
// shown.
var itemFields = []string{
	"id", "kind", "at", "state", "newer", "taint", "dream", "phase", "cycle", "stage", "status", "reason", "rating",
	"context", "action", "outcome", "claim", "first_step", "criterion", "horizon", "premise", "content",
	"salience", "surprise", "strength", "due", "confidence", "significance", "score", "verdict", "affect", "valence",
	"count", "tone",
	"kept", "worth", "judge_reason", "operation", "round", "synthetic", "counterfactual", "source", "episodes", "scenario",
	"fragment", "hypothesis", "parent", "parents", "seeds", "ended", "trace",
	"watch", "resolved_at", "resolved_by", "evidence", "residual", "confirmed", "contradicted", "session", "speaker",
	"origin", "topics", "duration", "interrupted",
	"sources", "derived", "settings",
}

func fieldText(name string, value any, zone string) string {
	switch v := value.(type) {
	case nil:
		return ""
	case bool:
		return yesNo(v)
	case float64:
		if name == "duration" {
			return lasted(time.Duration(v))
		}
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			if t.IsZero() {
				return ""
			}
			return when(t, zone)
		}
		return v
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = fieldText("", part, zone)
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		return mapText(v, zone)
	}
	return fmt.Sprint(value)
}

func mapText(m map[string]any, zone string) string {
	var parts []string
	for _, name := range sortedFields(m) {
		if text := fieldText(name, m[name], zone); text != "" {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// errRecord marks a dream that does not exist.
var errRecord = errors.New("no such dream")

// recordOf finds the record of a dream by id, by number, or as "last".
func (app *App) recordOf(cmd *cobra.Command, name string) (*Deployment, dream.Agent, *dream.Record, error) {
	if name == "last" {
		return app.lastDream(cmd)
	}
	var deployment *Deployment
	var owner dream.Agent
	var record *dream.Record
	err := app.each(cmd, func(h *Deployment, a dream.Agent) error {
		got, err := memory.One[*dream.Record](cmd.Context(), h.Store, a.ID, dreamID(name, a))
		if errors.Is(err, memory.ErrNotFound) {
			return nil
		}
		if err == nil && record != nil {
			return exit(Usage, "%s and %s both have a dream %q; say whose with --agent", owner.Handle, a.Handle, name)
		}
		deployment, owner, record = h, a, got
		return err
	})
	if err == nil && record == nil {
		err = &Exit{Code: NotFound, Err: fmt.Errorf("%w: %q; oneiros dreams list names them", errRecord, name)}
	}
	return deployment, owner, record, err
}

func (app *App) lastDream(cmd *cobra.Command) (*Deployment, dream.Agent, *dream.Record, error) {
	h, a, err := app.agentOf(cmd)
	if err != nil {
		return h, a, nil, err
	}
	n, err := newest(cmd.Context(), h, a)
	return h, a, n, err
}

// newest is the record of an agent's last dream.
func newest(ctx context.Context, h *Deployment, a dream.Agent) (*dream.Record, error) {
	items, err := h.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Limit: 1})
	for _, n := range memory.As[*dream.Record](items) {
		return n, err
	}
	if err == nil {
		err = exit(NotFound, "%s has not dreamt yet", a.Handle)
	}
	return nil, err
}

// dreamNamed resolves a dream's id, number or "last" to its id.
func dreamNamed(ctx context.Context, h *Deployment, a dream.Agent, name string) (string, error) {
	if name == "last" {
		n, err := newest(ctx, h, a)
		if err != nil {
			return "", err
		}
		return n.ID, nil
	}
	n, err := memory.One[*dream.Record](ctx, h.Store, a.ID, dreamID(name, a))
	if errors.Is(err, memory.ErrNotFound) {
		err = &Exit{Code: NotFound, Err: fmt.Errorf("%w: %q; oneiros dreams list names them", errRecord, name)}
	}
	if err != nil {
		return "", err
	}
	return n.ID, nil
}
