package healthcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

func (s *spendLine) count(t spend.DayTotal) {
	s.Attempts += int(t.Calls)
	s.Reserved += t.Reserved
	s.Settled += t.Settled
	s.Unknown += t.Unknown
	s.Total += t.Reserved + t.Settled + t.Unknown
	s.In, s.Cached, s.Out = s.In+t.In, s.Cached+t.Cached, s.Out+t.Out
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
when the ledger is long. Nor does what is shown by agent and day: the ledger keeps these totals.`,
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
		sums := sums{by: by, handles: handles, lines: map[lineKey]*spendLine{}}
		err = sums.read(cmd.Context(), app, q)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		return showSpend(app, sums.sorted(), by)
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

// sums adds up the ledger by the named fields.
type sums struct {
	by      []string
	handles map[string]string // by the agent's id
	lines   map[lineKey]*spendLine
}

// lineKey are the fields that tell lines apart; empty are those that do not.
type lineKey struct{ agent, day, phase, model, dream string }

// read adds up what a query selects: the totals that the ledger keeps by agent and day, or its rows where these say more.
func (s sums) read(ctx context.Context, app *cli.App, q spend.Query) error {
	byDay := q.Phase == "" && q.Model == "" && q.Dream == ""
	for _, name := range s.by {
		byDay = byDay && (name == "agent" || name == "day")
	}
	if byDay {
		days, err := app.Days.DayTotals(ctx, q.Agent, q.Day)
		for _, t := range days {
			s.add(lineKey{agent: t.Agent, day: t.Day}, t)
		}
		return err
	}
	rows, err := app.Ledger.Rows(ctx, q)
	for _, r := range rows {
		var t spend.DayTotal
		t.Add(r)
		s.add(lineKey{r.Agent, r.Day, cli.OrDash(r.Phase), r.Model, cli.OrDash(r.Dream)}, t)
	}
	return err
}

// add counts a total in the line of its fields.
func (s sums) add(all lineKey, t spend.DayTotal) {
	var of lineKey
	for _, name := range s.by {
		switch name {
		case "agent":
			of.agent = all.agent
			if handle := s.handles[all.agent]; handle != "" {
				of.agent = handle
			}
		case "day":
			of.day = all.day
		case "phase":
			of.phase = all.phase
		case "model":
			of.model = all.model
		case "dream":
			of.dream = all.dream
		}
	}
	line := s.lines[of]
	if line == nil {
		line = &spendLine{
			Agent: of.agent,
			Day:   of.day,
			Phase: of.phase,
			Model: of.model,
			Dream: of.dream,
		}
		s.lines[of] = line
	}
	line.count(t)
}

// sorted returns the lines in the order of their fields.
func (s sums) sorted() []*spendLine {
	return slices.SortedFunc(maps.Values(s.lines), func(a, b *spendLine) int {
		for _, name := range s.by {
			if c := strings.Compare(*a.label(name), *b.label(name)); c != 0 {
				return c
			}
		}
		return 0
	})
}

// label is the field of a line with one of the names of groupings.
func (s *spendLine) label(name string) *string {
	switch name {
	case "agent":
		return &s.Agent
	case "day":
		return &s.Day
	case "phase":
		return &s.Phase
	case "model":
		return &s.Model
	default:
		return &s.Dream
	}
}

func (s *spendLine) labels(by []string) []string {
	labels := make([]string, len(by), len(by)+figuresShown)
	for i, name := range by {
		labels[i] = *s.label(name)
	}
	return labels
}

func showSpend(app *cli.App, list []*spendLine, by []string) error {
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

// figuresShown is how many columns figures fills.
const figuresShown = 8

func (s *spendLine) figures() []string {
	return []string{
		strconv.Itoa(s.Attempts), cli.Money(s.Reserved), cli.Money(s.Settled), cli.Money(s.Unknown), s.Total.String(),
		strconv.FormatInt(s.In, 10), strconv.FormatInt(s.Cached, 10), strconv.FormatInt(s.Out, 10),
	}
}
