package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// ItemOf finds an item by its id, or by the beginning or end of one, in the named agent's memory or in any.
func ItemOf(app *cli.App, cmd *cobra.Command, id string, kinds ...dream.Kind) (dream.Agent, dream.Item, error) {
	var owner dream.Agent
	var item dream.Item
	err := Each(app, cmd, func(a dream.Agent) error {
		got, err := OneItem(cmd.Context(), app, a, id, kinds)
		if err != nil || got == nil {
			return err
		}
		if item != nil {
			return exit.Usagef("%q is known to %s and to %s; say whose with --agent", id, owner.Handle, a.Handle)
		}
		owner, item = a, got
		return nil
	})
	if err == nil && item == nil {
		err = noItem(app, cmd, id, kinds)
	}
	if err == nil {
		err = memory.ReadClaims(cmd.Context(), app.Store, owner.ID, []dream.Item{item})
	}
	return owner, item, err
}

// noItem is the error for an id that matches nothing, or an item of another kind.
func noItem(app *cli.App, cmd *cobra.Command, id string, kinds []dream.Kind) error {
	if len(kinds) == 0 {
		return exit.NotFoundf("there is no memory %q; oneiros memory list and dreams list name them", id)
	}
	what := string(kinds[0])
	if _, other, err := ItemOf(app, cmd, id); err == nil {
		head := other.Header()
		return exit.NotFoundf("%s is no %s but %s; oneiros %s list names them", head.ID, what, oneOfKind(head.Kind),
			what+"s")
	}
	return exit.NotFoundf("there is no %s %q; oneiros %s list names them", what, id, what+"s")
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
	return "a " + k.String()
}

// OneItem finds an item by its id, whole or as in lists (0001/nrem/backward/1), or by a beginning or end that only
// one id has; nil when there is none.
func OneItem(ctx context.Context, app *cli.App, a dream.Agent, id string, kinds []dream.Kind) (dream.Item, error) {
	items, err := app.Store.Get(ctx, a.ID, cli.Whole(id, a))
	if err == nil && len(items) == 0 {
		items, err = app.Store.Get(ctx, a.ID, id)
	}
	if err != nil || len(items) > 0 {
		if len(items) > 0 && (len(kinds) == 0 || cli.OneOf(string(items[0].Header().Kind), kinds)) {
			return items[0], nil
		}
		return nil, err
	}
	part := strings.Trim(id, "…")
	if len(part) < 4 {
		return nil, nil
	}
	all, err := app.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: kinds, States: dream.States})
	var match dream.Item
	for _, item := range all {
		if full := item.Header().ID; strings.HasPrefix(full, part) || strings.HasPrefix(full, cli.Whole(part, a)) ||
			strings.HasSuffix(full, part) {
			if match != nil {
				return nil,
					exit.Usagef("%q is part of several ids (%s, %s); give more of it", id, match.Header().ID, full)
			}
			match = item
		}
	}
	return match, err
}

// ShowItem writes every field that has a value, the text first.
func ShowItem(app *cli.App, a dream.Agent, item dream.Item) error {
	fmt.Fprintf(app.Out, "%s\n\n", cli.Wrap(item.Text(), app.Width, ""))
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
	if p, ok := item.(*dream.Prediction); ok && p.Quadrant() != "" {
		fields["reasoning"] = reasoningOf(p, a)
	}
	var pairs []string
	for _, name := range itemFields {
		value, ok := fields[name]
		if text := fieldText(name, value, a.Zone); ok && text != "" && text != item.Text() {
			pairs = append(pairs, strings.ReplaceAll(name, "_", " "), text)
		}
	}
	app.Fields(app.Out, pairs...)
	return nil
}

// reasoningOf says what a dream found of the reasoning behind a prediction.
func reasoningOf(p *dream.Prediction, a dream.Agent) string {
	r := p.Reasoning
	text := p.Quadrant()
	if text == dream.MisalignedCorrect {
		text += " (luck: it gives no hypothesis credit)"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return fmt.Sprintf("%s; by %s in dream %s", text, r.By, cli.Short(r.Dream, a))
}

// itemFields are the JSON names of the fields of all kinds in the order shown. Fields that are not listed are not
// shown.
var itemFields = strings.Fields(`
	id kind at state newer taint dream phase cycle stage status reason rating context action outcome claim
	first_step criterion horizon premise content salience surprise strength due confidence significance score
	verdict affect valence count tone kept worth says hits misses chance wealth passed judge_reason operation round synthetic counterfactual source
	episodes scenario fragment hypothesis parent parents seeds ended trace reasoning watch resolved_at resolved_by evidence
	residual confirmed contradicted playbook session speaker origin topics duration interrupted sources derived settings`)

func fieldText(name string, value any, zone string) string {
	switch v := value.(type) {
	case nil:
		return ""
	case bool:
		return cli.YesNo(v)
	case float64:
		if name == "duration" {
			return cli.Lasted(time.Duration(v))
		}
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			if t.IsZero() {
				return ""
			}
			return cli.When(t, zone)
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
	for _, name := range cli.SortedFields(m) {
		if text := fieldText(name, m[name], zone); text != "" {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// ErrRecord marks a dream that does not exist.
var ErrRecord = errors.New("no such dream")

// RecordOf finds the record of a dream by id, by number, or as "last".
func RecordOf(app *cli.App, cmd *cobra.Command, name string) (dream.Agent, *dream.Record, error) {
	if name == "last" {
		return lastDream(app, cmd)
	}
	var owner dream.Agent
	var record *dream.Record
	err := Each(app, cmd, func(a dream.Agent) error {
		got, err := memory.One[*dream.Record](cmd.Context(), app.Store, a.ID, cli.DreamID(name, a))
		if errors.Is(err, memory.ErrNotFound) {
			return nil
		}
		if err == nil && record != nil {
			return exit.Usagef("%s and %s both have a dream %q; say whose with --agent", owner.Handle, a.Handle, name)
		}
		owner, record = a, got
		return err
	})
	if err == nil && record == nil {
		err = exit.NotFoundf("%w: %q; oneiros dreams list names them", ErrRecord, name)
	}
	return owner, record, err
}

func lastDream(app *cli.App, cmd *cobra.Command) (dream.Agent, *dream.Record, error) {
	a, err := AgentOf(app, cmd)
	if err != nil {
		return a, nil, err
	}
	n, err := Newest(cmd.Context(), app, a)
	return a, n, err
}

// Newest is the record of an agent's last dream.
func Newest(ctx context.Context, app *cli.App, a dream.Agent) (*dream.Record, error) {
	n, err := LastDream(ctx, app, a)
	if err == nil && n == nil {
		err = exit.NotFoundf("%s has not dreamt yet", a.Handle)
	}
	return n, err
}

// LastDream is the same record; nil when the agent has not dreamt.
func LastDream(ctx context.Context, app *cli.App, a dream.Agent) (*dream.Record, error) {
	items, err := app.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, Limit: 1})
	for _, n := range memory.As[*dream.Record](items) {
		return n, err
	}
	return nil, err
}

// DreamNamed resolves a dream's id, number or "last" to its id.
func DreamNamed(ctx context.Context, app *cli.App, a dream.Agent, name string) (string, error) {
	var n *dream.Record
	var err error
	if name == "last" {
		n, err = Newest(ctx, app, a)
	} else {
		n, err = memory.One[*dream.Record](ctx, app.Store, a.ID, cli.DreamID(name, a))
	}
	if errors.Is(err, memory.ErrNotFound) {
		err = exit.NotFoundf("%w: %q; oneiros dreams list names them", ErrRecord, name)
	}
	if err != nil {
		return "", err
	}
	return n.ID, nil
}
