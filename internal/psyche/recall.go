package psyche

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Why a turn was given no memories (TurnReport.Skipped).
const (
	SkippedOff     = "off"     // by the request, the agent's settings or the deployment's
	SkippedBudget  = "budget"  // the search took too long
	SkippedBusy    = "busy"    // too many searches were under way
	SkippedFailed  = "failed"  // the embedder or the store; the log says why
	SkippedNothing = "nothing" // nothing is near enough
)

// searching is how long a search may continue after its turn has gone on without it: the first one after a start
// reads an agent's vectors, and later ones use them.
const searching = 30 * time.Second

// mostSearches bounds how many searches run at once.
const mostSearches = 64

// recall finds memories for a turn within its budget.
func (t *turn) recall(ctx context.Context, query string, existing map[string]bool) ([]Memory, string) {
	s := t.service
	if query == "" {
		return nil, SkippedNothing
	}
	type answer struct {
		found []Memory
		why   string
		err   error
	}
	within := s.within(ctx, t.agent)
	answers := make(chan answer, 1)
	if s.searches.Add(1) > mostSearches {
		s.searches.Add(-1)
		s.Log.WarnContext(ctx, "too many searches wait for memory; the turn continues without memories",
			"agent", t.agent.Handle,
			"searches", mostSearches)
		return nil, SkippedBusy
	}
	begun := s.detach(func() {
		defer s.searches.Add(-1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), searching)
		defer cancel()
		defer context.AfterFunc(s.running, cancel)()
		found, byWords, err := s.search(ctx, t.agent, t.Caller, RecallRequest{Query: query, Limit: s.o.Items}, existing,
			within-within/4)
		answers <- answer{found, whyWords(byWords), err}
	})
	if !begun {
		s.searches.Add(-1)
		return nil, SkippedFailed
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case a := <-answers:
		t.report.WordsOnly = a.why
		switch {
		case a.err != nil:
			s.Log.WarnContext(ctx, "memory could not be searched", "agent", t.agent.Handle, "error", a.err)
			return nil, SkippedFailed
		case len(a.found) == 0:
			return nil, SkippedNothing
		}
		s.used(ctx, t.agent, a.found)
		return a.found, ""
	case <-late.C:
		s.Log.WarnContext(ctx, "memory did not answer within its budget; the turn continues without memories", "agent",
			t.agent.Handle, "budget", within)
		return nil, SkippedBudget
	case <-ctx.Done():
		return nil, SkippedBudget
	}
}

// Why a question was compared by its words alone (TurnReport.WordsOnly).
const (
	WordsBudget = "budget" // the embedder took too long
	WordsFailed = "failed" // it failed; the log says why
	WordsSpace  = "space"  // the memories were embedded by another embedder
)

func whyWords(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, memory.ErrSpace):
		return WordsSpace
	case errors.Is(err, context.DeadlineExceeded):
		return WordsBudget
	}
	return WordsFailed
}

// within is how long a turn waits for its memories: longer with an embedder over a network than with the built-in
// one.
func (b *finder) within(ctx context.Context, a dream.Agent) time.Duration {
	if b.o.Within > 0 {
		return b.o.Within
	}
	if spec, err := b.embedderOf(ctx, &a); err == nil && !spec.BuiltIn {
		return defaultWithinFar
	}
	return defaultWithin
}

// search finds memories that the caller may see, without the existing ones. embedErr says why only words were
// compared; the embedder gets at most the time embedWithin.
func (b *finder) search(
	ctx context.Context, a dream.Agent, c Caller, r RecallRequest, existing map[string]bool, embedWithin time.Duration,
) (found []Memory, embedErr, err error) {
	affect, err := b.affect(ctx, a.ID)
	if err != nil {
		return nil, nil, err
	}
	filter, err := b.visible(ctx, a, c)
	if err != nil {
		return nil, nil, err
	}
	limit, mayShow := r.Limit, func(dream.Item) bool { return true }
	if r.Dreamt {
		filter, mayShow = b.dreamt(&a, c, filter)
		limit = mostRecalled // some may be hidden from the caller
	}
	for id := range existing {
		filter.Except = append(filter.Except, id)
	}
	space, unknown := b.Memory.Space(ctx, a.ID)
	spec, unserved := b.embedderIn(&a, space)
	var calibration inference.Calibration
	if unknown == nil && unserved == nil {
		calibration = b.calibration(ctx, &a, &c, spec)
	}
	answer, err := recall.Find(ctx, b.Memory, recall.Question{
		Agent:  a.ID,
		Text:   r.Query,
		Limit:  limit,
		Filter: filter,
		Affect: mood.Settled(affect.PAD, b.o.Baseline, b.now().Sub(affect.Since)),
		Embed: func(ctx context.Context, text string) ([]float32, string, error) {
			if unknown != nil || space == "" { // no vector to compare with, so the question is not embedded
				return nil, "", unknown
			}
			if unserved != nil {
				return nil, "", unserved
			}
			return b.embedQuestion(ctx, a, c, spec, space, text, embedWithin)
		},
		Calibration: calibration,
		Now:         b.now().In(b.zones.of(a.Zone)),
	})
	if answer.EmbedError != nil {
		b.Log.WarnContext(ctx, "the question could not be embedded; memory is searched by words alone",
			"agent", a.Handle, "why", whyWords(answer.EmbedError), "error", answer.EmbedError)
	}
	for _, m := range answer.Memories {
		if len(found) < r.Limit && mayShow(m.Item) {
			found = append(found, memoryOf(m))
		}
	}
	return found, answer.EmbedError, err
}

func memoryOf(m recall.Memory) Memory {
	h := m.Item.Header()
	out := Memory{
		ID:      h.ID,
		Kind:    h.Kind,
		At:      m.At,
		Content: m.Item.Text(),
		Taint:   h.Taint,
		Speaker: m.Speaker,
		Score:   m.Score,
		Dreamt:  h.Dreamt(),
	}
	if out.Dreamt {
		out.Dream, out.Label = h.Dream, DreamtLabel
	}
	return out
}

// dreamt widens a filter by what dreams made. Operators, who may read all of it, find everything. A client that may
// see dreams finds what it is shown of them anyway: what was promoted, and significant insights. For other clients
// nothing is widened. The returned function reports whether the caller may see an item that was found.
func (b *finder) dreamt(a *dream.Agent, c Caller, f memory.Filter) (memory.Filter, func(dream.Item) bool) {
	operator := c.May(access.Operator, a.Handle)
	if !operator && (f.Dreamt != memory.PromotedDreamt || b.switched(a, Switches{}).digest != journal.DigestMessage) {
		return f, func(dream.Item) bool { return true }
	}
	f.Kinds, f.Dreamt = slices.Concat(recall.Kinds, recall.DreamtKinds), memory.AllDreamt
	return f, func(item dream.Item) bool {
		if operator || slices.Contains(recall.Kinds, item.Header().Kind) {
			return true
		}
		_, reported := insightFrom(item, "")
		return reported
	}
}

// embedQuestion embeds a question in the agent's space, within a time limit.
func (b *finder) embedQuestion(
	ctx context.Context, a dream.Agent, c Caller, spec inference.Spec, space, text string, within time.Duration,
) ([]float32, string, error) {
	if !spec.Makes(space) {
		return nil, "", memory.ErrSpace
	}
	type embedded struct {
		v     []float32
		space string
		err   error
	}
	done := make(chan embedded, 1)
	ctx, cancel := context.WithTimeout(ctx, within)
	// An embedder that ignores its deadline blocks this goroutine alone.
	if !b.detach(func() {
		defer cancel()
		v, space, err := b.embedBy(ctx, a, c, spec, []string{text})
		if err != nil {
			done <- embedded{err: err}
			return
		}
		done <- embedded{v: v[0], space: space}
	}) {
		cancel()
		return nil, "", context.Canceled
	}
	select {
	case p := <-done:
		if p.err == nil && p.space != space {
			return nil, "", memory.ErrSpace
		}
		return p.v, p.space, p.err
	case <-ctx.Done():
		select {
		case p := <-done:
			return p.v, p.space, p.err
		default:
			return nil, "", ctx.Err()
		}
	}
}

// visible filters what a caller may recall: the agent's own memories and what was said in the caller's talks. Of what
// dreams made only what was promoted counts, for callers that may see dreams.
func (b *finder) visible(ctx context.Context, a dream.Agent, c Caller) (memory.Filter, error) {
	maySee, err := b.knownOwners.maySeeDreams(ctx, c, a.ID, a.Handle, b.o.Shared)
	if err != nil {
		return memory.Filter{}, err
	}
	f := memory.Filter{Kinds: recall.Kinds, Owners: []string{"", c.Owner()}, Dreamt: memory.NoneDreamt}
	if maySee && !b.o.Private {
		f.Dreamt = memory.PromotedDreamt
	}
	return f, nil
}

// embed embeds texts. The built-in embedder costs nothing and is called directly.
func (b *finder) embed(ctx context.Context, a dream.Agent, c Caller, texts []string) ([][]float32, string, error) {
	spec, err := b.embedderOf(ctx, &a)
	if err != nil {
		return nil, "", err
	}
	return b.embedBy(ctx, a, c, spec, texts)
}

func (b *finder) embedBy(ctx context.Context, a dream.Agent, c Caller, spec inference.Spec,
	texts []string,
) ([][]float32, string, error) {
	ctx = asks(ctx, &c)
	if spec.BuiltIn {
		v, err := b.Guard.Model.Embed(ctx, spec.Name, texts, "")
		return v.V, v.Space, err
	}
	v, err := b.Guard.EmbedTransient(ctx, b.charge(&a, &c), spec.Name, texts)
	if err == nil && len(v.V) != len(texts) {
		err = errors.New("the embedder gave another number of vectors than texts")
	}
	return v.V, v.Space, err
}
