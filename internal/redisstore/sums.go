package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	foldScript   = script("money", "book", "fold")
	rowsOfScript = script("money", "book", "rowsof")
)

var _ spend.Folder = Ledger{}

// sumsKey is the ledger's hash of sums; book.lua says what else is kept of them.
const sumsKey = "sums"

// unfoldedKey is the ledger's sorted set of rows that stayed while later ones were folded (book.lua).
const unfoldedKey = "unfolded"

// groupName names a group of sums in the hash.
func groupName(g store.SumGroup) string {
	return escaped.Replace(g.Agent) + ":" + escaped.Replace(g.Day) + ":" + g.Dream
}

// Attempts lists single attempts by their number, which is the order of reservation.
func (s ledger) Attempts(ctx context.Context, after int64, limit int) ([]spend.Row, int64, error) {
	var found []spend.Row
	next, err := s.page(ctx, "", after, limit, func(r spend.Row) { found = append(found, r) })
	if err != nil {
		return nil, 0, store.Wrap(err, "attempts of the ledger")
	}
	return found, next, nil
}

// page calls put with the rows of a list from a position, and returns the next position; 0 at the end.
func (s ledger) page(ctx context.Context, list string, from int64, limit int, put func(spend.Row)) (int64, error) {
	reply, err := s.run(ctx, rowsScript, nil, list, from, limit)
	if err != nil {
		return 0, err
	}
	page, _ := reply.([]any)
	for i := 1; i < len(page); i++ {
		fields := fieldsOf(page[i])
		switch sums, folded := fields["sums"]; {
		case len(fields) == 0: // it was folded
		case folded:
			all, err := store.UnpackSums([]byte(sums))
			if err != nil {
				return 0, err
			}
			for _, sum := range all {
				put(store.SumRow(sum))
			}
		default:
			a, err := readAttempt(fields)
			if err != nil {
				return 0, err
			}
			put(store.Row(a))
		}
	}
	return integer(page, 0), nil
}

// foldPlan is a folding in the form that fold.lua reads.
type foldPlan struct {
	Rows   []foldRow   `json:"rows"`
	Groups []foldGroup `json:"groups"`
}

type foldRow struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Of      int    `json:"of"` // attempts of the step
	State   string `json:"state"`
	Counted string `json:"counted"`
	Agent   string `json:"agent"`
	Day     string `json:"day"`
	Dream   string `json:"dream"`
}

type foldGroup struct {
	Name  string `json:"name"`
	Agent string `json:"agent"`
	Day   string `json:"day"`
	Dream string `json:"dream"`
}

// Fold replaces attempts by sums. It reads them anew, since one step can only fold what is as it was read.
func (s ledger) Fold(ctx context.Context, rows []spend.Row) (int, error) {
	n := 0
	err := s.retryTorn(ctx, func(int) (bool, error) {
		n = 0
		folds, err := s.unchanged(ctx, rows)
		if err != nil || len(folds) == 0 {
			return false, err
		}
		plan, blobs, err := s.planFold(ctx, folds)
		if err != nil {
			return false, err
		}
		wire, err := json.Marshal(plan)
		if err != nil {
			return false, err
		}
		word, err := s.run(ctx, foldScript, nil, append([]any{wire}, blobs...)...)
		n = len(folds)
		return word == "torn", err
	})
	return store.Result(n, err, "fold attempts of the ledger")
}

// unchanged returns the rows that may be folded and are kept as they were read.
func (s ledger) unchanged(ctx context.Context, rows []spend.Row) ([]spend.Row, error) {
	was := map[spend.Hold]spend.Row{} // by step and attempt
	counts := map[string]int{}
	var steps []any
	for _, r := range rows {
		if r.Folded > 0 {
			continue
		}
		was[spend.Hold{Step: r.Step, Attempt: r.Attempt}] = r
		if _, listed := counts[r.Step]; !listed {
			counts[r.Step] = 0
			steps = append(steps, r.Step)
		}
	}
	var kept []spend.Row
	for some := range slices.Chunk(steps, rowsAtOnce) {
		reply, err := s.run(ctx, rowsOfScript, nil, some...)
		if err != nil {
			return nil, err
		}
		found, _ := reply.([]any)
		for _, fields := range found {
			a, err := readAttempt(fieldsOf(fields))
			if err != nil {
				return nil, err
			}
			now := store.Row(a)
			counts[now.Step]++
			before, given := was[spend.Hold{Step: now.Step, Attempt: now.Attempt}]
			if given && before.State == now.State && before.Counted == now.Counted {
				kept = append(kept, now)
			}
		}
	}
	return store.WholeSteps(kept, func(step string) int { return counts[step] }), nil
}

// planFold reads the groups of the rows, and returns what they become.
func (s ledger) planFold(ctx context.Context, rows []spend.Row) (plan foldPlan, blobs []any, err error) {
	before, sums := map[string]string{}, map[string][]store.Sum{}
	steps := map[string]int{}
	for _, r := range rows {
		steps[r.Step]++
	}
	for _, r := range rows {
		plan.Rows = append(plan.Rows, foldRow{
			Step:    r.Step,
			Attempt: r.Attempt,
			Of:      steps[r.Step],
			State:   string(r.State),
			Counted: strconv.FormatInt(int64(r.Counted), 10),
			Agent:   r.Agent,
			Day:     r.Day,
			Dream:   r.Dream,
		})
		g := store.Group(r.Ask)
		name := groupName(g)
		if _, read := before[name]; !read {
			body, err := s.field(ctx, s.ledgerKey(sumsKey), name)
			if err := ignoreMissing(err); err != nil {
				return plan, nil, err
			}
			before[name] = body
			sums[name], err = store.UnpackSums([]byte(body))
			if err != nil {
				return plan, nil, err
			}
			plan.Groups = append(plan.Groups, foldGroup{Name: name, Agent: g.Agent, Day: g.Day, Dream: g.Dream})
		}
		sums[name] = store.AddSum(sums[name], store.SumOf(r))
	}
	for _, g := range plan.Groups {
		after, err := store.PackSums(sums[g.Name])
		if err != nil {
			return plan, nil, err
		}
		blobs = append(blobs, before[g.Name], after)
	}
	return plan, blobs, nil
}

// sumsAtOnce is about how many groups of sums one step reads.
const sumsAtOnce = 1000

// allSums reads the sums of every group.
func (s ledger) allSums(ctx context.Context) (all []store.Sum, err error) {
	groups := map[string]string{} // a scan may return a field twice
	for cursor := uint64(0); ; {
		var fields []string
		err := s.exchange(ctx, func(ctx context.Context) error {
			var next uint64
			var err error
			fields, next, err = s.client.HScan(ctx, s.ledgerKey(sumsKey), cursor, "", sumsAtOnce).Result()
			if err == nil {
				cursor = next
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			groups[fields[i]] = fields[i+1]
		}
		if cursor == 0 {
			break
		}
	}
	for _, body := range groups {
		sums, err := store.UnpackSums([]byte(body))
		if err != nil {
			return nil, err
		}
		all = append(all, sums...)
	}
	slices.SortFunc(all, store.Sum.Compare)
	return all, nil
}

// sums exports the sums, in their order.
func (l *ledgerReader) sums() {
	names := map[string]bool{} // a scan may return a field twice
	for cursor := uint64(0); l.err == nil; {
		fields, next, err := l.tx.HScan(l.ctx, l.ledgerKey(sumsKey), cursor, "", sumsAtOnce).Result()
		l.fail(err)
		for i := 0; i < len(fields); i += 2 {
			names[fields[i]] = true
		}
		cursor = next
		if cursor == 0 {
			break
		}
	}
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(names), compareGroups), sumsAtOnce) {
		if l.err != nil {
			return
		}
		bodies, err := l.tx.HMGet(l.ctx, l.ledgerKey(sumsKey), some...).Result()
		l.fail(err)
		l.changes.refresh()
		for i, name := range some {
			body := text(bodies, i)
			if n, changed := l.changes.of[sumField+name]; changed {
				body = l.changes.before(n, sumField+name)
			}
			sums, err := store.UnpackSums([]byte(body))
			l.fail(store.Wrap(err, "sums ", name))
			slices.SortFunc(sums, store.Sum.Compare)
			for _, sum := range sums {
				l.hold(memory.Record{Sum: &sum}, 300)
			}
		}
	}
}

// compareGroups orders names of groups as their sums are ordered.
func compareGroups(a, b string) int {
	as, bs := strings.SplitN(a, ":", 3), strings.SplitN(b, ":", 3)
	for i := range min(len(as), len(bs)) {
		if c := cmp.Compare(unescaped.Replace(as[i]), unescaped.Replace(bs[i])); i < 2 && c != 0 {
			return c
		}
	}
	return cmp.Compare(as[len(as)-1], bs[len(bs)-1])
}

// sum collects the sums of an import, which come group after group.
func (f *importer) sum(s store.Sum) {
	g := store.SumGroup{Agent: s.Agent, Day: s.Day, Dream: s.Dream}
	if len(f.group) > 0 && g != f.groupOf {
		f.flushSums()
	}
	f.groupOf, f.group = g, append(f.group, s)
}

// flushSums writes the sums of the group that was imported last.
func (f *importer) flushSums() {
	if len(f.group) == 0 {
		return
	}
	g, name := f.groupOf, groupName(f.groupOf)
	body, err := store.PackSums(f.group)
	f.fail(err)
	f.do("HSET", f.ledgerKey(sumsKey), name, body)
	f.do("LPUSH", f.ledgerKey("day:", g.Day, ":", g.Agent), "="+name)
	if g.Dream != "" {
		f.do("LPUSH", f.ledgerKey("dream:", g.Dream), "="+name)
	}
	f.group = nil
}
