package retention

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/quality"
)

// Cause is the cause of the revisions in which a result names the origins of what was discarded in place of that.
const Cause = "retention"

// recordsAtOnce is how many records of dreams are read at once.
const recordsAtOnce = 50

// clocksDiffer is more than the clocks of two workers, which write when dreams began, can be apart.
const clocksDiffer = 48 * time.Hour

// details discards the fragments and scenarios of dreams that ended long ago, dream by dream in the order that they
// began. Where a dream is not closed, the next pass begins with that dream again, and passes the later ones that are done.
func (p *pass) details(agent string) error {
	cutoff, some := p.before(p.Ages.Dreams)
	if !some {
		return nil
	}
	aged, err := p.Store.Aged(p.ctx, agent)
	if err != nil {
		return err
	}
	old, err := p.Store.Count(p.ctx, memory.Query{
		Agent:  agent,
		Kinds:  []dream.Kind{dream.KindRecord},
		States: dream.States,
		Since:  aged.Details,
		Until:  cutoff,
	})
	if err != nil || old == 0 {
		return err // most passes find nothing
	}
	cutoff, err = p.measured(agent, cutoff)
	if err != nil || cutoff.IsZero() {
		return err
	}
	needed := needs{pass: p, agent: agent, from: aged.Details}
	from, done := aged.Details, aged.Details
	for closed := true; ; {
		records, err := p.Store.Find(p.ctx, memory.Query{
			Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States,
			Since: from, Until: cutoff, Sort: memory.Oldest, Limit: recordsAtOnce,
		})
		if err != nil {
			return err
		}
		for _, r := range memory.As[*dream.Record](records) {
			if r.Unsettled() || !r.Ended.Before(cutoff) {
				closed = false
				continue
			}
			name := [2]string{agent, r.ID}
			if closed {
				done = r.At.Add(time.Nanosecond) // the dreams that began before it are done
			} else if p.passed[name] {
				continue
			}
			if err := p.discard(&needed, r, done, cutoff); err != nil {
				return err
			}
			p.remember(name, closed)
		}
		if len(records) < recordsAtOnce {
			return nil
		}
		from = records[len(records)-1].Header().At.Add(time.Nanosecond)
	}
}

// remember notes a dream that is done, until those before it are as well.
func (s *Sweeper) remember(dream [2]string, closed bool) {
	switch {
	case s.Dry:
	case closed:
		delete(s.passed, dream)
	default:
		if s.passed == nil {
			s.passed = map[[2]string]bool{}
		}
		s.passed[dream] = true
	}
}

// measured returns the time that the earliest of the newest dreams began, by which quality is measured, or the cutoff if
// that is earlier. Without enough dreams nothing goes.
func (p *pass) measured(agent string, cutoff time.Time) (time.Time, error) {
	newest, err := p.Store.Find(p.ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States, Sort: memory.Newest,
		Limit: quality.Dreams,
	})
	if err != nil || len(newest) < quality.Dreams {
		return time.Time{}, err
	}
	if first := newest[len(newest)-1].Header().At; first.Before(cutoff) {
		return first, nil
	}
	return cutoff, nil
}

// discard discards what a dream left beside its results.
func (p *pass) discard(needed *needs, r *dream.Record, done, cutoff time.Time) error {
	items, err := p.Store.Find(p.ctx, memory.Query{Agent: r.Agent, Dream: r.ID, States: dream.States})
	if err != nil {
		return err
	}
	removable, err := needed.without(items, cutoff)
	if err != nil || p.Dry {
		p.removed.Items += len(removable)
		return err
	}
	if _, err := p.Store.Discard(p.ctx, r.Agent, nil, time.Time{}); err != nil {
		return err // the agent dreams
	}
	changed, err := rename(items, removable)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(changed, step) {
		w := memory.Write{Agent: r.Agent, Cause: Cause, Change: some}
		if _, err := p.Store.Commit(p.ctx, w); err != nil {
			return fmt.Errorf("name the origins of what %s made: %w", r.ID, err)
		}
	}
	ids := make([]string, 0, len(removable))
	for id := range removable {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for len(ids) > step {
		n, err := p.write(func() (int, error) { return p.Store.Discard(p.ctx, r.Agent, ids[:step], time.Time{}) })
		p.removed.Items += n
		if err != nil {
			return err
		}
		ids = ids[step:]
	}
	n, err := p.write(func() (int, error) { return p.Store.Discard(p.ctx, r.Agent, ids, done) })
	p.removed.Items += n
	return err
}

// needs are the items of an agent that something unfinished rests on.
type needs struct {
	*pass
	agent string
	from  time.Time // dreams that began before it are not asked about
	read  bool
	named map[string]bool // what open predictions, undecided and promoted hypotheses, claims and proposals name
	taken map[string]bool // dreams that another one took over
}

// load reads what is unfinished, once a pass.
func (n *needs) load() error {
	if n.read {
		return nil
	}
	n.named, n.taken = map[string]bool{}, map[string]bool{}
	for _, q := range []memory.Query{
		{Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen}},
		{
			Kinds:    []dream.Kind{dream.KindHypothesis},
			Statuses: []string{dream.HypothesisStaged, dream.HypothesisPromoted},
		},
		{Kinds: []dream.Kind{dream.KindClaim, dream.KindPlaybook, dream.KindProposal}},
	} {
		q.Agent, q.States = n.agent, []dream.State{dream.Live, dream.Proposed}
		items, err := n.Store.Find(n.ctx, q)
		if err != nil {
			return err
		}
		for _, item := range items {
			ids, err := named(item)
			if err != nil {
				return err
			}
			for _, id := range ids {
				n.named[id] = true
			}
		}
	}
	since := n.from
	if !since.IsZero() {
		since = since.Add(-clocksDiffer)
	}
	records, err := n.Store.Find(n.ctx, memory.Query{ // a dream is taken over after it began
		Agent: n.agent, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States, Since: since,
	})
	for _, r := range memory.As[*dream.Record](records) {
		if r.Redreams != nil {
			n.taken[r.Redreams.Dream] = true
		}
	}
	n.read = err == nil
	return err
}

// without returns those of a dream's items that may go.
func (n *needs) without(items []dream.Item, cutoff time.Time) (map[string]dream.Item, error) {
	removable := map[string]dream.Item{}
	for _, item := range items {
		if beside(item) {
			removable[item.Header().ID] = item
		}
	}
	if len(removable) == 0 {
		return nil, nil
	}
	if err := n.load(); err != nil {
		return nil, err
	}
	if n.taken[items[0].Header().Dream] {
		return nil, nil
	}
	var keep []string
	for id := range n.named {
		keep = append(keep, id)
	}
	for _, p := range memory.As[*dream.Prediction](items) {
		if p.Status == dream.PredictionRight || p.Status == dream.PredictionWrong { // the observer learns from it
			keep = append(keep, p.Fragment)
		}
	}
	for id := range removable {
		young, err := n.changedSince(id, cutoff)
		if err != nil {
			return nil, err
		}
		if young {
			keep = append(keep, id)
		}
	}
	for len(keep) > 0 {
		id := keep[len(keep)-1]
		keep = keep[:len(keep)-1]
		item, goes := removable[id]
		if !goes {
			continue
		}
		delete(removable, id)
		ids, err := named(item)
		if err != nil {
			return nil, err
		}
		keep = append(keep, ids...)
	}
	return removable, nil
}

// beside reports whether an item is something that a dream left beside its results: a fragment, a scenario, or an
// entry of the journal that was archived. What waits for a review stays.
func beside(item dream.Item) bool {
	h := item.Header()
	if h.Dream == "" || h.State == dream.Proposed {
		return false
	}
	switch item.(type) {
	case *dream.Fragment, *dream.Scenario:
		return true
	case *dream.Journal:
		return h.State == dream.Archived
	}
	return false
}

// changedSince reports whether an item was changed after a time, such as by a later dream or a person.
func (n *needs) changedSince(id string, since time.Time) (bool, error) {
	revisions, err := n.Store.Revisions(n.ctx, n.agent, id)
	if err != nil || len(revisions) == 0 {
		return false, err
	}
	return !revisions[len(revisions)-1].At.Before(since), nil
}

// rename returns the items that stay and name some that go, with the origins of these in their place: what a result was
// made from must be found when something is forgotten.
func rename(items []dream.Item, removable map[string]dream.Item) ([]dream.Item, error) {
	removed := map[string]bool{}
	for id := range removable {
		removed[id] = true
	}
	var changed []dream.Item
	for _, item := range items {
		if removed[item.Header().ID] {
			continue
		}
		body, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		scrubbed, names, err := past.Scrub(item.Header().Kind, body, removed)
		if err != nil {
			return nil, err
		}
		if !names {
			continue
		}
		next, err := dream.Decode(item.Header().Kind, scrubbed)
		if err != nil {
			return nil, err
		}
		from, err := past.Origins(item)
		if err != nil {
			return nil, err
		}
		origins, err := lived(from, removable)
		if err != nil {
			return nil, err
		}
		takeWords(next, item, removable)
		h := next.Header()
		h.Revision = item.Header().Revision
		h.Sources = dream.DistinctIDs(append(h.Sources, origins...))
		changed = append(changed, next)
	}
	return changed, nil
}

// takeWords gives a prediction the words of the fragment that it foretells, which goes.
func takeWords(next, before dream.Item, removable map[string]dream.Item) {
	p, predicts := next.(*dream.Prediction)
	if !predicts || p.Claim != "" {
		return
	}
	if f, goes := removable[before.(*dream.Prediction).Fragment].(*dream.Fragment); goes {
		p.Claim = f.Content
	}
}

// lived returns what the items that go, among these ids, were made from, directly or through others that go.
func lived(ids []string, removable map[string]dream.Item) (origins []string, err error) {
	seen := map[string]bool{}
	for len(ids) > 0 {
		id := ids[0]
		ids = ids[1:]
		item, goes := removable[id]
		if !goes || seen[id] {
			continue
		}
		seen[id] = true
		from, err := past.Origins(item)
		if err != nil {
			return nil, err
		}
		for _, origin := range from {
			if _, goes := removable[origin]; goes {
				ids = append(ids, origin)
			} else {
				origins = append(origins, origin)
			}
		}
	}
	return origins, nil
}

// named lists what an item names.
func named(item dream.Item) ([]string, error) {
	body, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	return past.Named(body)
}
