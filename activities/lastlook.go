package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

type gists struct {
	Gists []struct {
		Source string `json:"source"`
		Gist   string `json:"gist"`
	} `json:"gists"`
}

// LastLook lets entries near their demurrage threshold give up their gist, and archives those whose strength has faded
// below it (H11). A gist that still carries numbers, dates or addresses is cut down until it does not.
func (n *Replay) LastLook(ctx context.Context, r StepRequest) (StepResult, error) {
	order, err := n.order(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	volatility, err := n.volatility(ctx, order, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	entries, err := n.fading(ctx, order, r.Sitting, volatility)
	if err != nil {
		return StepResult{}, tell(err)
	}
	if len(entries) == 0 {
		return StepResult{Done: Done{Unasked: true}}, tell(n.archive(ctx, order, r.Sitting, volatility))
	}
	self, _, err := n.self(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	texts := make([]string, len(entries))
	behind := make([]string, len(entries))
	for i, e := range entries {
		texts[i], behind[i] = e.Content, e.ID
	}
	lines := prompt.Lines("r", texts...)
	c := call{
		order: order, phase: dream.NREM, limit: r.Limit, tone: r.Tone, sitting: r.Sitting, step: "last-look", role: dream.Replayer, heat: r.Heat, text: prompt.LastLook(self, lines), behind: behind,
		tokens: order.Knobs.AnswerTokens + 40*len(entries), seed: seedOf(order, dream.NREM, 0, 50),
	}
	var answer gists
	spec, err := n.Catalog.Lookup(order.Models[dream.Replayer])
	if err != nil {
		return StepResult{}, tell(err)
	}
	done := Done{}
	if spec.Judges {
		if _, done, err = n.askFor(ctx, c, &answer); err != nil || done.End != EndDone {
			return StepResult{Done: done}, tell(err)
		}
	}
	items, w := n.distil(order, r.Sitting, entries, gistsBySource(answer, lines, texts, spec.Judges))
	result, err := n.keep(ctx, r.Sitting, c, done, items, w)
	if err != nil {
		return result, err
	}
	return result, tell(n.archive(ctx, order, r.Sitting, volatility, entries...))
}

// fadingNote freezes what is looked at tonight, out of the fadingPool live entries that are due soonest.
const fadingNote, fadingPool = "fading", 1000

// fading are the entries nearest to their demurrage threshold that have not given up their gist yet, at the rate of
// forgetting that the volatility of the night's episodes sets (H11). The choice is frozen in a note.
func (n *Replay) fading(ctx context.Context, o Order, s Sitting, volatility float64) ([]*dream.Semantic, error) {
	ids, err := n.frozen(ctx, s, fadingNote, func() ([]string, error) {
		all, err := n.entries(ctx, o)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range all {
			if len(ids) == o.Knobs.LastLookEntries || n.due(o, e, volatility).After(o.AsOf.Add(o.Knobs.HalfLife/4)) {
				continue
			}
			if state, err := n.gisted(ctx, o.Agent, e.ID); err != nil {
				return nil, err
			} else if state != dream.Live && state != dream.Proposed {
				ids = append(ids, e.ID)
			}
		}
		return ids, nil
	})
	if err != nil {
		return nil, fmt.Errorf("choose fading knowledge: %w", err)
	}
	items, err := n.Memory.Get(ctx, o.Agent, ids...)
	return memory.As[*dream.Semantic](items), err
}

// entries is live knowledge, soonest due first.
func (n *Replay) entries(ctx context.Context, o Order) ([]*dream.Semantic, error) {
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: o.Agent, Kinds: []dream.Kind{dream.KindSemantic}, Order: memory.SoonestDue, Limit: fadingPool, Until: o.AsOf.Add(1),
	})
	return memory.As[*dream.Semantic](items), err
}

// due is when an entry reaches the threshold at this volatility; what the store sorts by is the due time without any.
func (n *Replay) due(o Order, e *dream.Semantic, volatility float64) time.Time {
	return forgetting.Due(e.At, e.Strength, o.Knobs.HalfLife, volatility, o.Knobs.FadeBelow)
}

// gisted is the state of the gist of an entry; empty when there is none.
func (n *Replay) gisted(ctx context.Context, agent, id string) (dream.State, error) {
	known, err := n.Memory.Get(ctx, agent, gistID(id))
	if err != nil || len(known) == 0 {
		return "", err
	}
	return known[0].Header().State, nil
}

// volatility is the dispersion of the surprise of the night's episodes (H11).
func (n *Replay) volatility(ctx context.Context, o Order, s Sitting) (float64, error) {
	episodes, err := n.pool(ctx, o, s)
	if err != nil {
		return 0, err
	}
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[i] = e.Surprise
	}
	return forgetting.Volatility(surprises), nil
}

func gistID(source string) string { return "gist/" + source }

// gistsBySource takes the model's gist of each entry, or, without one, what is left of the entry when specifics go.
func gistsBySource(answer gists, lines []prompt.Line, texts []string, asked bool) []string {
	bySource := make([]string, len(lines))
	for i, line := range lines {
		if !asked {
			bySource[i] = texts[i]
		}
		for _, g := range answer.Gists {
			if trimRef(g.Source) == line.Ref {
				bySource[i] = g.Gist
			}
		}
	}
	return bySource
}

// distil makes the gists of entries.
func (n *Replay) distil(o Order, s Sitting, entries []*dream.Semantic, texts []string) ([]dream.Item, memory.Write) {
	var items []dream.Item
	w := memory.Write{}
	for i, e := range entries {
		gist, ok := forgetting.Gist(texts[i])
		if !ok {
			continue
		}
		g := &dream.Gist{Head: head(o, dream.NREM, dream.KindGist, "", []string{e.ID}), Content: gist}
		g.ID = gistID(e.ID)
		items = append(items, g)
		w.Events = append(w.Events, n.event(s, fmt.Sprintf("nrem/gist-%d", i+1), event.GistExtracted{Gist: g.ID, Source: e.ID}))
	}
	return items, w
}

// archive lets go of the knowledge whose strength has faded below the threshold: what has given up its gist, and what
// was looked at tonight and had none to give. The rest waits for its last look.
func (n *Replay) archive(ctx context.Context, o Order, s Sitting, volatility float64, looked ...*dream.Semantic) error {
	all, err := n.entries(ctx, o)
	if err != nil {
		return err
	}
	w := memory.Write{}
	for _, e := range all {
		if n.due(o, e, volatility).After(o.AsOf) {
			continue
		}
		state, err := n.gisted(ctx, o.Agent, e.ID)
		if err != nil {
			return err
		}
		gisted := state == dream.Live || state == dream.Proposed && o.Review == dream.ReviewAsk
		seen := slices.ContainsFunc(looked, func(l *dream.Semantic) bool { return l.ID == e.ID })
		if !gisted && !seen || state == dream.Proposed && !seen { // the gist is not there yet, or waits for a person
			continue
		}
		if e.State = dream.Archived; gisted {
			e.NewerID = gistID(e.ID)
		}
		w.Change = append(w.Change, e)
	}
	if len(w.Change) == 0 {
		return nil
	}
	return n.write(ctx, s, w)
}
