package retention_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// What stands at the beginning of a year and must stand at its end.
const (
	waiting    = "dream/iris00/9001" // may be resumed for two years
	farsighted = "dream/iris00/9002" // its predictions are open for two years
	proven     = "dream/iris00/9003" // one of its predictions came true, and one of its hypotheses is promoted
)

// begin lives the first day: what was said, a dream that waits, and dreams that something rests on.
func (w *world) begin() {
	w.Helper()
	agent := agentID(0)
	var episodes []dream.Item
	seen := map[string]bool{}
	for _, kept := range w.night.Items { // what the recorded night was dreamt from
		item, err := dream.Decode(dream.Kind(kept.Kind), kept.Body)
		require.NoError(w, err)
		origins, err := past.Origins(item)
		require.NoError(w, err)
		for _, id := range origins {
			if len(id) > 3 && id[:3] == "ep_" && !seen[id] {
				seen[id] = true
				episodes = append(episodes, &dream.Episode{
					Head: dream.Head{
						ID:    id,
						Agent: agent,
						Kind:  dream.KindEpisode,
						At:    w.now,
						State: dream.Live,
						Taint: dream.FromHuman,
					},
					Content: "what was said: " + id,
				})
			}
		}
	}
	w.episodes, w.responds = len(episodes), true
	for _, e := range episodes[:3] {
		w.lived = append(w.lived, e.Header().ID)
	}
	_, err := w.store.Commit(w.Context(), memory.Write{Agent: agent, Cause: "talk", Add: episodes})
	require.NoError(w, err)
	for _, id := range []string{waiting, farsighted, proven} {
		if id == waiting && w.noneWaits {
			continue
		}
		outcome := dream.Completed
		if id == waiting {
			outcome = dream.Interrupted
		}
		before := len(w.open)
		w.dream(agent, id, outcome)
		w.open = w.open[:before] // they stay open
		w.now = w.now.Add(time.Minute)
	}
	w.prove(agent)
	calibration := spend.Ask{
		Step:     "calibration/1/script/embedder",
		Agent:    agent,
		Model:    "script/embedder",
		Day:      "2026-01-01",
		At:       w.now,
		Amount:   5,
		Accounts: []budget.Account{{Scope: "fleet:2026-01-01", Limit: budget.Unlimited}},
	}
	h, err := w.ledger.Reserve(w.Context(), calibration)
	require.NoError(w, err)
	bill := spend.Bill{State: spend.Settled, Amount: 5, Answer: []byte("vectors"), At: w.now}
	require.NoError(w, w.ledger.Settle(w.Context(), h, bill))
}

// prove lets predictions of a dream come true or be void, and promotes a hypothesis that names a scenario.
func (w *world) prove(agent string) {
	w.Helper()
	items, err := w.store.Find(w.Context(), memory.Query{Agent: agent, Dream: proven})
	require.NoError(w, err)
	at := w.now.UTC()
	write := memory.Write{Agent: agent, Cause: "operator"}
	for i, p := range memory.As[*dream.Prediction](items) {
		p.Status, p.ResolvedAt, p.ResolvedBy = dream.PredictionVoid, &at, dream.ByHorizon
		if i == 0 {
			p.Status, p.ResolvedBy = dream.PredictionRight, dream.ByPerson
			w.cameTrue = p.Fragment
		} else {
			w.void = append(w.void, p.ID)
		}
		write.Change = append(write.Change, p)
	}
	scenario := memory.As[*dream.Scenario](items)[0]
	w.promoted = scenario.ID
	w.claimed(&write)
	write.Add = append(write.Add, &dream.Hypothesis{
		Head: dream.Head{
			ID:      "promoted",
			Agent:   agent,
			Kind:    dream.KindHypothesis,
			At:      at,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   proven,
			Phase:   dream.Integration,
			Sources: []string{scenario.ID},
		},
		Claim: "The tide comes.", Confidence: .3, Status: dream.HypothesisPromoted, Promoted: at,
	})
	_, err = w.store.Commit(w.Context(), write)
	require.NoError(w, err)
}

// broken lists the promises that a swept store has broken.
func (w *world) broken() error {
	w.Helper()
	checks := []struct {
		promise string
		keeps   func(context.Context) error
	}{
		{"sums of money answer as before", w.sumsHold},
		{"caps count what was folded", w.capsHold},
		{"what people said stays", w.saidStays},
		{"a dream that may go on has everything", w.waitingIsWhole},
		{"open predictions have their sources", w.openIsWhole},
		{"what a promoted hypothesis and a true prediction rest on stays", w.evidenceStays},
		{"what a claim rests on stays", w.claimStands},
		{"every prediction has its words", w.predictionsHaveWords},
		{"forgetting finds what was made from a memory", w.descentIsKnown},
		{"a calibration is bought once", w.calibrationStays},
		{"today's answers are not bought again", w.todayIsAnswered},
		{"answers to go on from are kept for their own time", w.responsesAge},
		{"events that are kept have no gap", w.eventsAreWhole},
		{"a dream within the window can be undone", w.undoWorks},
	}
	var faults []error
	for _, c := range checks {
		if err := c.keeps(w.Context()); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.promise, err))
		}
	}
	return errors.Join(faults...)
}

func (w *world) sumsHold(ctx context.Context) error {
	rows, err := w.ledger.Rows(ctx, spend.Query{})
	if err != nil {
		return err
	}
	sums := map[string]spentSum{}
	for _, r := range rows {
		if spend.Lasting(r.Step) {
			continue
		}
		principal := ""
		for _, account := range r.Accounts {
			s := sums[account.Scope]
			s.calls, s.sum = s.calls+r.Calls(), s.sum+r.Counted
			sums[account.Scope] = s
			if len(account.Scope) > 4 && account.Scope[:4] == "key:" {
				principal = account.Scope[4:8]
			}
		}
		name := r.Agent + " " + r.Day + " " + principal
		s := sums[name]
		s.calls, s.sum = s.calls+r.Calls(), s.sum+r.Counted
		sums[name] = s
	}
	for name, want := range w.spent {
		if sums[name] != want {
			return fmt.Errorf("%q is %+v, and %+v was spent", name, sums[name], want)
		}
	}
	if len(sums) != len(w.spent) {
		return fmt.Errorf("%d sums, expected %d", len(sums), len(w.spent))
	}
	return nil
}

func (w *world) capsHold(ctx context.Context) error {
	month := "month:" + agentID(0) + "/2026-01"
	b, err := w.ledger.Balance(ctx, month)
	if err != nil || b.Spent != w.spent[month].sum {
		return fmt.Errorf("%s is %+v, and %d was spent (%w)", month, b, w.spent[month].sum, err)
	}
	_, err = w.ledger.Reserve(ctx, spend.Ask{
		Step: "one more", Agent: agentID(0), Amount: 1, At: w.now,
		Accounts: []budget.Account{{Scope: month, Limit: b.Spent}},
	})
	if _, over := spend.AsOverCap(err); !over {
		return fmt.Errorf("a call beyond the cap of %s: %w", month, err)
	}
	return nil
}

func (w *world) saidStays(ctx context.Context) error {
	n, err := w.store.Count(ctx, memory.Query{Agent: agentID(0), Kinds: []dream.Kind{dream.KindEpisode}})
	if err == nil && n != w.episodes {
		err = fmt.Errorf("%d of %d episodes are left", n, w.episodes)
	}
	return err
}

// left counts what is left of a dream: its items, events and single calls.
func (w *world) left(ctx context.Context, dreamID string) (items, calls int, err error) {
	items, err = w.store.Count(ctx, memory.Query{Agent: agentID(0), Dream: dreamID, States: dream.States})
	if err != nil {
		return 0, 0, err
	}
	rows, err := w.ledger.Rows(ctx, spend.Query{Dream: dreamID})
	for _, r := range rows {
		if r.Folded == 0 {
			calls++
		}
	}
	return items, calls, err
}

func (w *world) waitingIsWhole(ctx context.Context) error {
	if w.noneWaits {
		return nil
	}
	items, calls, err := w.left(ctx, waiting)
	if err == nil && (items != len(w.night.Items) || calls != len(w.night.Rows)) {
		err = fmt.Errorf("it has %d items of %d, and %d calls of %d", items, len(w.night.Items), calls,
			len(w.night.Rows))
	}
	events, fault := w.store.Events(ctx, agentID(0), 0, 0)
	n := 0
	for _, e := range events {
		if e.Dream == waiting {
			n++
		}
	}
	if n != len(w.night.Events) {
		err = errors.Join(err, fmt.Errorf("it has %d of %d events", n, len(w.night.Events)))
	}
	return errors.Join(err, fault)
}

func (w *world) openIsWhole(ctx context.Context) error {
	items, err := w.store.Find(ctx, memory.Query{Agent: agentID(0), Dream: farsighted, States: dream.States})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, item := range items {
		there[item.Header().ID] = true
	}
	for _, p := range memory.As[*dream.Prediction](items) {
		if p.Fragment == "" || !there[p.Fragment] {
			return fmt.Errorf("%s is open, and its fragment %q is gone", p.ID, p.Fragment)
		}
	}
	return nil
}

func (w *world) evidenceStays(ctx context.Context) error {
	items, err := w.store.Get(ctx, agentID(0), w.cameTrue, w.promoted)
	if err == nil && len(items) != 2 {
		err = fmt.Errorf("of %s and %s %d are left", w.cameTrue, w.promoted, len(items))
	}
	return err
}

func (w *world) predictionsHaveWords(ctx context.Context) error {
	items, err := w.store.Find(ctx, memory.Query{Agent: agentID(0), Kinds: []dream.Kind{dream.KindPrediction}})
	if err != nil {
		return err
	}
	predictions := memory.As[*dream.Prediction](items)
	if err := memory.ReadClaims(ctx, w.store, agentID(0), items); err != nil {
		return err
	}
	for _, p := range predictions {
		if p.Claim == "" {
			return fmt.Errorf("%s says nothing", p.ID)
		}
	}
	return nil
}

// descentIsKnown checks that what was made from a memory still leads back to it, though what was between is gone.
func (w *world) descentIsKnown(ctx context.Context) error {
	items, err := w.store.Find(ctx, memory.Query{Agent: agentID(0), States: dream.States})
	if err != nil {
		return err
	}
	from := map[string][]string{}
	for _, item := range items {
		from[item.Header().ID], err = past.Origins(item)
		if err != nil {
			return err
		}
	}
	for _, kept := range w.night.Items {
		item, err := dream.Decode(dream.Kind(kept.Kind), kept.Body)
		if err != nil {
			return err
		}
		f, ok := item.(*dream.Fragment)
		if !ok || len(f.Sources) == 0 {
			continue
		}
		for _, journal := range w.journals(f.ID) {
			for _, id := range []string{w.dreamID(agentID(0), 0, 0), waiting, proven} {
				if id == waiting && w.noneWaits {
					continue
				}
				want := string(w.renamed([]byte(journal), agentID(0), id))
				if !leads(from, want, f.Sources[0]) {
					return fmt.Errorf("%s was made from %s, and is not found by it", want, f.Sources[0])
				}
			}
		}
	}
	return nil
}

// leads reports whether an item was made from another, directly or through others.
func leads(from map[string][]string, id, origin string) bool {
	seen := map[string]bool{}
	for open := []string{id}; len(open) > 0; open = open[1:] {
		for _, next := range from[open[0]] {
			if next == origin {
				return true
			}
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return false
}

// journals lists the entries of the recorded night's journal that name a fragment.
func (w *world) journals(fragment string) (ids []string) {
	for _, kept := range w.night.Items {
		item, err := dream.Decode(dream.Kind(kept.Kind), kept.Body)
		require.NoError(w, err)
		if j, ok := item.(*dream.Journal); ok && slices.Contains(j.Sources, fragment) {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

func (w *world) calibrationStays(ctx context.Context) error {
	_, found, err := w.ledger.Answer(ctx, "calibration/1/script/embedder")
	if err == nil && !found {
		err = errors.New("its answer is gone")
	}
	return err
}

func (w *world) todayIsAnswered(ctx context.Context) error {
	a := spend.Ask{
		Step:   "call/today",
		Agent:  agentID(0),
		Amount: 1,
		At:     w.now,
		Day:    w.now.Format(time.DateOnly),
	}
	h, err := w.ledger.Reserve(ctx, a)
	if err != nil {
		return err
	}
	bill := spend.Bill{State: spend.Settled, Amount: 0, Answer: []byte("an answer"), At: w.now}
	if err := w.ledger.Settle(ctx, h, bill); err != nil {
		return err
	}
	w.now = w.now.Add(23 * time.Hour)
	if _, err := w.sweeps.Pass(ctx); err != nil {
		return err
	}
	if _, err := w.ledger.Reserve(ctx, a); !errors.Is(err, spend.ErrAnswered) {
		return fmt.Errorf("it would be bought again: %w", err)
	}
	return nil
}

func (w *world) eventsAreWhole(ctx context.Context) error {
	for n := range w.agents {
		events, err := w.store.Events(ctx, agentID(n), 0, 0)
		if err != nil {
			return err
		}
		heads, err := w.store.Heads(ctx)
		if err != nil {
			return err
		}
		for i, e := range events {
			if e.Seq != events[0].Seq+int64(i) {
				return fmt.Errorf("event %d of %s comes after %d", e.Seq, agentID(n), events[i-1].Seq)
			}
		}
		if len(events) == 0 || events[len(events)-1].Seq != heads[agentID(n)] {
			return fmt.Errorf("the newest event of %s is gone", agentID(n))
		}
		cutoff := w.now.Add(-w.kept)
		if n > 0 && events[0].At.Before(cutoff.Add(-2*day)) {
			return fmt.Errorf("the oldest event of %s is of %s", agentID(n), events[0].At)
		}
	}
	return nil
}

// undoWorks undoes a dream that changed a memory within the window, after others changed it.
func (w *world) undoWorks(ctx context.Context) error {
	agent := agentID(0)
	last, err := memory.One[*dream.Record](ctx, w.store, agent, w.changing)
	if err != nil {
		return err
	}
	if _, err := w.store.Undo(ctx, agent, last.ID); err != nil {
		return err
	}
	fact, err := memory.One[*dream.Semantic](ctx, w.store, agent, "fact")
	if err != nil {
		return err
	}
	if fact.State != dream.Live || math.Abs(fact.Strength-.25) > 1e-9 {
		return fmt.Errorf("what it changed is %s with strength %v, and was live with .25 before", fact.State,
			fact.Strength)
	}
	return nil
}

// change lets a dream change a memory, which it finds as another left it.
func (w *world) change(dreamID string) {
	w.Helper()
	ctx, agent := w.Context(), agentID(0)
	fact := func(strength float64) *dream.Semantic {
		return &dream.Semantic{
			Head: dream.Head{
				ID:    "fact",
				Agent: agent,
				Kind:  dream.KindSemantic,
				At:    dawn,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "The tide comes twice a day.", Strength: strength, Due: w.now.AddDate(9, 0, 0),
		}
	}
	_, err := w.store.Commit(ctx, memory.Write{Agent: agent, Cause: "import", Add: []dream.Item{fact(.5)}})
	require.NoError(w, err)
	_, err = w.store.Commit(ctx, memory.Write{Agent: agent, Cause: "operator", Change: []dream.Item{fact(.25)}})
	require.NoError(w, err)
	w.now = w.now.Add(time.Minute)
	w.dream(agent, dreamID, dream.Completed)
	f := memory.Fence{Dream: dreamID, Run: "again"}
	_, err = w.store.TakeSlot(ctx, agent, memory.Slot{Fence: f, Workflow: dreamID, Since: w.now}, memory.Fence{})
	require.NoError(w, err)
	_, err = w.store.Commit(ctx, memory.Write{Agent: agent, Fence: f, Change: []dream.Item{fact(.75)}})
	require.NoError(w, err)
	require.NoError(w, w.store.FreeSlot(ctx, agent, f))
	w.changing = dreamID
}

// yearOf lives a year, but for what spoils it, and returns which promises are broken at its end.
func yearOf(t *testing.T, kind string, l span, spoil func(*world)) (*world, error) {
	t.Helper()
	w := newWorld(t, kind, l)
	if spoil != nil {
		spoil(w)
	}
	w.begin()
	window := int(l.kept / day)
	for today := 0; today < l.days; today++ {
		w.live(today, today+1, true)
		if today == l.days-window/2 {
			w.change("dream/iris00/9004")
		}
	}
	return w, w.broken()
}

func TestAYearBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		l := spanOf(t, kind)
		w, err := yearOf(t, kind, l, nil)
		require.NoError(t, err)
		w.copied(kind)
		require.NoError(t, w.forgets())
		state, err := w.store.Swept(t.Context())
		require.NoError(t, err)
		require.Positive(t, state.Total.Attempts)
		require.Positive(t, state.Total.Events)
		require.Positive(t, state.Total.Revisions)
		require.Positive(t, state.Total.Items)
		single, _, err := w.ledger.Attempts(t.Context(), 0, math.MaxInt32)
		require.NoError(t, err)
		days := int(l.kept/day) + 2
		require.Less(t, len(single), (days*l.agents+10)*(l.nights*len(w.night.Rows)+2*l.turns))
	})
}

// copied checks that a swept store can be moved to one of the other kind.
func (w *world) copied(kind string) {
	w.Helper()
	var there memory.Movable
	if kind == "SQLite" {
		s, err := redisstore.Open(w.Context(), redis.Shared(w).URL, redisstore.Prefix(redis.Prefix(w)+"copy:"),
			redisstore.Timeout(time.Minute))
		require.NoError(w, err)
		w.Cleanup(func() { require.NoError(w, s.Close()) })
		there = s
	} else {
		s, err := sqlitestore.Open(w.Context(), filepath.Join(w.TempDir(), "copy.db"))
		require.NoError(w, err)
		w.Cleanup(func() { require.NoError(w, s.Close()) })
		there = s
	}
	given, err := there.Import(w.Context(), w.store.Export(w.Context()))
	require.NoError(w, err)
	kept, err := archive.Count(w.store.Export(w.Context()))
	require.NoError(w, err)
	require.Equal(w, kept, given)
}

// A sweep that does not keep what can be undone is found.
func TestASweepThatIgnoresTheUndoWindowIsFound(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		l := spanOf(t, kind)
		l.agents, l.days = 1, 34
		l.nights, l.turns = 1, 1
		l.kept = 32 * day
		_, err := yearOf(t, kind, l, func(w *world) {
			w.sweeps.Ages.Undo = time.Second
			w.noneWaits = true // it would be kept from the sweep, and with it everything since
		})
		require.ErrorContains(t, err, "a dream within the window can be undone")
	})
}
