package console

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// groupings are the fields by which spending can be summed.
var groupings = []string{"agent", "day", "phase", "model", "dream"}

// spendLine is one line of the account. The three sums are kept apart, because only one of them is certain.
type spendLine struct {
	Agent string `json:"agent,omitempty"`
	Day   string `json:"day,omitempty"`
	Phase string `json:"phase,omitempty"`
	Model string `json:"model,omitempty"`
	Dream string `json:"dream,omitempty"`

	Attempts int           `json:"attempts"`
	Reserved budget.Micros `json:"reserved_micros"` // calls under way
	// Settled is what is known to be billed, and interrupted calls at their full reservation.
	Settled budget.Micros `json:"settled_micros"`
	Unknown budget.Micros `json:"unknown_micros"` // calls with an unknown end, counted in full
	Total   budget.Micros `json:"total_micros"`
	In      int64         `json:"tokens_in"`
	Cached  int64         `json:"tokens_cached"`
	Out     int64         `json:"tokens_out"`
}

func (s *spendLine) count(r spend.Row) {
	s.Attempts++
	switch r.State {
	case spend.Open:
		s.Reserved += r.Counted
	case spend.Lost:
		s.Unknown += r.Counted
	case spend.Settled, spend.Partial, spend.Refused:
		s.Settled += r.Counted
	}
	s.Total += r.Counted
	s.In, s.Cached, s.Out = s.In+r.Tokens.In, s.Cached+r.Tokens.Cached, s.Out+r.Tokens.Out
}

func (app *App) spend() *cobra.Command {
	var by []string
	q := spend.Query{}
	cmd := &cobra.Command{
		Use: "spend", Short: "What dreams and talks have cost, by agent and day", GroupID: nights,
		Long: `Spend reads the ledger. Reserved is the worst case of calls under way; settled is what calls cost, a cut
call at its full reservation; unknown are calls that ended without anybody knowing what was billed,
counted in full. The total is never below what a provider bills.`,
	}
	app.addAgentFlag(cmd)
	cmd.Flags().StringSliceVar(&by, "by", []string{"agent", "day"},
		"tell it by agent, day, phase, model, dream, or several of them")
	cmd.Flags().StringVar(&q.Day, "day", "", "only this `day`, YYYY-MM-DD in the agent's zone")
	cmd.Flags().StringVar(&q.Phase, "phase", "", "only this `phase`")
	cmd.Flags().StringVar(&q.Model, "model", "", "only this `model`")
	cmd.Flags().StringVar(&q.Dream, "dream", "", "only this `dream`")
	app.completes(cmd, "by", fixed(groupings))
	app.completes(cmd, "phase", fixed(dream.Phases))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range by {
			if !oneOf(name, groupings) {
				return exit(Usage, "--by %s is unknown; it must be one or several of %s", name,
					strings.Join(groupings, ", "))
			}
		}
		if _, err := time.Parse(time.DateOnly, q.Day); err != nil && q.Day != "" {
			return exit(Usage, "--day %s is no day; it must be YYYY-MM-DD", q.Day)
		}
		if q.Phase != "" && !oneOf(q.Phase, dream.Phases) {
			return exit(Usage, "--phase %s is unknown; phases are %s", q.Phase, listed(dream.Phases))
		}
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		handles, err := app.narrow(cmd, h, &q)
		if err != nil {
			return err
		}
		rows, err := h.Ledger.Rows(cmd.Context(), q)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		return app.showSpend(grouped(rows, by, handles), by)
	}
	return cmd
}

// narrow resolves --agent and --dream and returns the handles of all agents by id.
func (app *App) narrow(cmd *cobra.Command, h *Deployment, q *spend.Query) (map[string]string, error) {
	all, err := h.Store.Agents(cmd.Context())
	if err != nil {
		return nil, err
	}
	handles := map[string]string{}
	for _, a := range all {
		handles[a.ID] = a.Handle
	}
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		id := strings.TrimPrefix(name, "@")
		a, err := h.Store.Agent(cmd.Context(), id)
		if errors.Is(err, memory.ErrRemoved) { // its spending is kept
			a, err = dream.Agent{ID: id, Handle: id}, nil
		} else if err != nil {
			a, err = findAgent(cmd.Context(), h, name)
		}
		if err != nil {
			return nil, err
		}
		q.Agent = a.ID
		all = []dream.Agent{a}
	}
	if q.Dream == "" {
		return handles, nil
	}
	return handles, resolveDream(cmd.Context(), h, all, q)
}

// resolveDream completes the dream's id and checks that one of these agents dreamt it. The ledger outlives a
// forgotten record.
func resolveDream(ctx context.Context, h *Deployment, all []dream.Agent, q *spend.Query) error {
	for _, a := range all {
		id := dreamID(q.Dream, a)
		_, err := memory.One[*dream.Record](ctx, h.Store, a.ID, id)
		if err == nil {
			q.Agent, q.Dream = a.ID, id
			return nil
		}
		if !errors.Is(err, memory.ErrNotFound) {
			return err
		}
	}
	rows, err := h.Ledger.Rows(ctx, spend.Query{Dream: q.Dream})
	if err == nil && len(rows) == 0 {
		err = &Exit{Code: NotFound, Err: fmt.Errorf("%w: %q; oneiros dreams list names them", errRecord, q.Dream)}
	}
	return err
}

// grouped sums rows by the named fields, in their order.
func grouped(rows []spend.Row, by []string, handles map[string]string) []spendLine {
	sums := map[string]*spendLine{}
	var keys []string
	for _, r := range rows {
		line := spendLine{}
		for _, name := range by {
			switch name {
			case "agent":
				line.Agent = r.Agent
				if handle := handles[r.Agent]; handle != "" {
					line.Agent = handle
				}
			case "day":
				line.Day = r.Day
			case "phase":
				line.Phase = orDash(r.Phase)
			case "model":
				line.Model = r.Model
			case "dream":
				line.Dream = orDash(r.Dream)
			}
		}
		key := strings.Join(line.labels(by), "\x00")
		if sums[key] == nil {
			sums[key] = &line
			keys = append(keys, key)
		}
		sums[key].count(r)
	}
	sort.Strings(keys)
	list := make([]spendLine, len(keys))
	for i, key := range keys {
		list[i] = *sums[key]
	}
	return list
}

func (s spendLine) labels(by []string) []string {
	all := map[string]string{"agent": s.Agent, "day": s.Day, "phase": s.Phase, "model": s.Model, "dream": s.Dream}
	labels := make([]string, len(by))
	for i, name := range by {
		labels[i] = all[name]
	}
	return labels
}

func (app *App) showSpend(list []spendLine, by []string) error {
	t := &table{}
	for i, name := range by {
		t.columns = append(t.columns, column{title: strings.ToUpper(name), flex: i > 0, least: 8})
	}
	t.columns = append(t.columns,
		column{title: "CALLS", right: true, drop: 2}, column{title: "RESERVED", right: true, drop: 1},
		column{title: "SETTLED", right: true},
		column{title: "UNKNOWN", right: true}, column{title: "TOTAL", right: true},
		column{title: "TOKENS IN", right: true, drop: 3},
		column{title: "CACHED", right: true, drop: 4}, column{title: "OUT", right: true, drop: 3})
	var all spendLine
	for _, s := range list {
		t.add(append(s.labels(by), s.figures()...)...)
		all.Attempts += s.Attempts
		all.Reserved += s.Reserved
		all.Settled += s.Settled
		all.Unknown += s.Unknown
		all.Total += s.Total
		all.In += s.In
		all.Cached += s.Cached
		all.Out += s.Out
	}
	if len(list) > 1 {
		labels := make([]string, len(by))
		labels[0] = "all"
		t.total = append(labels, all.figures()...)
	}
	if app.json {
		return app.answer(map[string]any{"by": by, "lines": orEmpty(list), "total": all})
	}
	return app.rows(list, t, "Nothing was spent.")
}

func (s spendLine) figures() []string {
	return []string{
		fmt.Sprint(s.Attempts), money(s.Reserved), money(s.Settled), money(s.Unknown), s.Total.String(),
		fmt.Sprint(s.In), fmt.Sprint(s.Cached), fmt.Sprint(s.Out),
	}
}
