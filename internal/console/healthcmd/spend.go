package healthcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// groupings are the fields by which spending can be summed.
var groupings = []string{"agent", "day", "phase", "model", "dream"}

// paidPhases are the phases of a dream, and what is paid outside of one: talks, the embedding of what was imported, and
// judging predictions.
var paidPhases = append(slices.Clone(dream.Phases), "talk", "import", review.JudgePhase)

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
	s.Attempts += r.Calls()
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

// Spend builds the command oneiros spend.
func Spend(app *cli.App) *cobra.Command {
	var by []string
	var all bool
	var limit int
	q := spend.Query{}
	cmd := &cobra.Command{
		Use: "spend", Short: "What dreams and talks have cost, by agent and day", GroupID: cli.DreamGroup,
		Long: `Spend reads the ledger. Reserved is the worst case of calls under way; settled is what calls cost, a cut
call at its full reservation; unknown are calls that ended without anybody knowing what was billed,
counted in full. The total is never below what a provider bills.

With --all it shows one line for each agent: what counts under its caps of a day (today, or --day) and of
that month, those that have spent most first. It is read from the balances of the caps, and takes no longer
when the ledger is long.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringSliceVar(&by, "by", []string{"agent", "day"},
		"group by agent, day, phase, model, dream, or several of them")
	cmd.Flags().StringVar(&q.Day, "day", "", "only this `day`, YYYY-MM-DD in the agent's zone")
	cmd.Flags().StringVar(&q.Phase, "phase", "", "only this `phase`")
	cmd.Flags().StringVar(&q.Model, "model", "", "only this `model`")
	cmd.Flags().StringVar(&q.Dream, "dream", "", "only this `dream`")
	cmd.Flags().BoolVar(&all, "all", false, "one line for each agent: what counts under its caps of day and month")
	cmd.Flags().IntVarP(&limit, "limit", "n", balancesShown, "with --all, at most so many agents; 0 for all")
	view.Completes(app, cmd, "by", view.Fixed(groupings))
	view.Completes(app, cmd, "phase", view.Fixed(paidPhases))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range by {
			if !cli.OneOf(name, groupings) {
				return exit.Usagef("--by %s is unknown; it must be one or several of %s", name,
					strings.Join(groupings, ", "))
			}
		}
		if _, err := time.Parse(time.DateOnly, q.Day); err != nil && q.Day != "" {
			return exit.Usagef("--day %s is no day; it must be YYYY-MM-DD", q.Day)
		}
		if q.Phase != "" && !cli.OneOf(q.Phase, paidPhases) {
			return exit.Usagef("--phase %s is unknown; phases are %s", q.Phase, cli.Listed(paidPhases))
		}
		err := app.Within(cmd.Context())
		if err != nil {
			return err
		}
		if all {
			return spendAll(cmd.Context(), app, cmd, q.Day, limit)
		}
		handles, err := narrow(app, cmd, &q)
		if err != nil {
			return err
		}
		rows, err := app.Ledger.Rows(cmd.Context(), q)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		return showSpend(app, grouped(rows, by, handles), by)
	}
	return cmd
}

// narrow resolves --agent and --dream and returns the handles of all agents by id.
func narrow(app *cli.App, cmd *cobra.Command, q *spend.Query) (map[string]string, error) {
	ctx := cmd.Context()
	all, err := app.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	handles := map[string]string{}
	for _, a := range all {
		handles[a.ID] = a.Handle
	}
	if name, _ := cmd.Flags().GetString("agent"); name != "" {
		id := strings.TrimPrefix(name, "@")
		a, err := app.Store.Agent(ctx, id)
		if errors.Is(err, memory.ErrRemoved) { // its spending is kept
			a, err = dream.Agent{ID: id, Handle: id}, nil
		} else if err != nil {
			a, err = view.FindAgent(ctx, app.Deployment, name)
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
	return handles, resolveDream(ctx, app, all, q)
}

// resolveDream completes the dream's id and checks that one of these agents dreamt it. The ledger outlives a
// forgotten record.
func resolveDream(ctx context.Context, app *cli.App, all []dream.Agent, q *spend.Query) error {
	for _, a := range all {
		id := cli.DreamID(q.Dream, a)
		_, err := memory.One[*dream.Record](ctx, app.Store, a.ID, id)
		if err == nil {
			q.Agent, q.Dream = a.ID, id
			return nil
		}
		if !errors.Is(err, memory.ErrNotFound) {
			return err
		}
	}
	rows, err := app.Ledger.Rows(ctx, spend.Query{Dream: q.Dream})
	if err == nil && len(rows) == 0 {
		err = exit.NotFoundf("%w: %q; oneiros dreams list names them", view.ErrRecord, q.Dream)
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
				line.Phase = cli.OrDash(r.Phase)
			case "model":
				line.Model = r.Model
			case "dream":
				line.Dream = cli.OrDash(r.Dream)
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

func showSpend(app *cli.App, list []spendLine, by []string) error {
	t := cli.NewTable()
	for i, name := range by {
		t.Columns = append(t.Columns, cli.Column{Title: strings.ToUpper(name), Flex: i > 0, Least: 8})
	}
	t.Columns = append(t.Columns, cli.Columns("CALLS,right,drop=2", "RESERVED,right,drop=1", "SETTLED,right",
		"UNKNOWN,right", "TOTAL,right", "TOKENS IN,right,drop=3", "CACHED,right,drop=4", "OUT,right,drop=3")...)
	var all spendLine
	for _, s := range list {
		t.Add(append(s.labels(by), s.figures()...)...)
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
		t.Total = append(labels, all.figures()...)
	}
	if app.Json {
		return app.Answer(map[string]any{"by": by, "lines": cli.OrEmpty(list), "total": all})
	}
	return app.Rows(list, t, "Nothing was spent.")
}

func (s spendLine) figures() []string {
	return []string{
		fmt.Sprint(s.Attempts), cli.Money(s.Reserved), cli.Money(s.Settled), cli.Money(s.Unknown), s.Total.String(),
		fmt.Sprint(s.In), fmt.Sprint(s.Cached), fmt.Sprint(s.Out),
	}
}
