package activities

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// EmbedFunc embeds texts with an agent's embedder and names its vector space.
type EmbedFunc func(ctx context.Context, texts []string) (places [][]float32, space string, err error)

// Needs computes how much an agent needs to dream. It writes nothing.
type Needs struct {
	Memory memory.Store
	Place  EmbedFunc // nil: claims are not embedded, and no residual counts as novel
	Why    string    // why Place is nil
}

// lastDream is the dream since which new memories are counted.
type lastDream struct {
	record *dream.Record // the last dream that read memory; nil: none yet
	newest string        // the newest record, even of a refused dream
}

// lookback is how many records are searched for one that began; the others were refused.
const lookback = 20

func (n Needs) lastDream(ctx context.Context, agent string) (lastDream, error) {
	items, err := n.Memory.Find(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: lookback})
	if err != nil {
		return lastDream{}, fmt.Errorf("read when %s dreamt last: %w", agent, err)
	}
	var last lastDream
	for _, record := range memory.As[*dream.Record](items) {
		if last.newest == "" {
			last.newest = record.ID
		}
		if record.Episodes != nil || len(record.Phases) > 0 {
			last.record = record
			break
		}
	}
	return last, nil
}

// everLived counts all episodes of an agent that still exist, in any state.
func everLived(ctx context.Context, store memory.Store, agent string) (int, error) {
	n, err := store.Count(ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindEpisode},
		States: []dream.State{dream.Live, dream.Superseded, dream.Archived},
	})
	if err != nil {
		return 0, fmt.Errorf("count the episodes of %s: %w", agent, err)
	}
	return n, nil
}

// fresh counts the episodes that no dream could have seen: those added since the last dream, whenever they happened.
// If the last dream's record has no count of episodes, those that happened since then are counted.
func (n Needs) fresh(ctx context.Context, agent string, last lastDream) (int, error) {
	if last.record != nil && last.record.Episodes == nil {
		count, err := n.Memory.Count(ctx,
			memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Since: last.record.AsOf})
		if err != nil {
			return 0, fmt.Errorf("count the new episodes of %s: %w", agent, err)
		}
		return count, nil
	}
	all, err := everLived(ctx, n.Memory, agent)
	if err != nil || last.record == nil {
		return all, err
	}
	return max(0, all-*last.record.Episodes), nil
}

// Fresh counts an agent's new episodes since its last dream.
func (n Needs) Fresh(ctx context.Context, agent string) (int, error) {
	last, err := n.lastDream(ctx, agent)
	if err != nil {
		return 0, err
	}
	return n.fresh(ctx, agent, last)
}

// Input collects what an agent's urgency is computed from.
func (n Needs) Input(ctx context.Context, agent string, now time.Time) (circadian.UrgencyInput, error) {
	last, err := n.lastDream(ctx, agent)
	if err != nil {
		return circadian.UrgencyInput{}, err
	}
	l := circadian.UrgencyInput{Never: last.record == nil}
	var since time.Time
	if last.record != nil {
		since = last.record.AsOf
		if ended := last.record.Ended; !ended.IsZero() {
			l.Since = max(0, now.Sub(ended))
		}
	}
	l.Episodes, err = n.fresh(ctx, agent, last)
	if err != nil {
		return l, err
	}
	items, err := n.Memory.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Limit: hypnagogia.InputEpisodes})
	if err != nil {
		return l, fmt.Errorf("read the newest episodes of %s: %w", agent, err)
	}
	episodes := memory.As[*dream.Episode](items) // newest first
	l.Affect = felt(episodes[:min(len(episodes), l.Episodes, circadian.FeltEpisodes)])
	surprises := make([]float64, len(episodes))
	for i, e := range episodes {
		surprises[len(episodes)-1-i] = e.Surprise
	}
	all, err := Outcomes(ctx, n.Memory, agent)
	if err != nil {
		return l, err
	}
	outcomes := prediction.KnownAt(all, now)
	l.Volatility = hypnagogia.DepthInputOf(prediction.Residuals(prediction.Recent(outcomes, hypnagogia.InputResiduals)),
		surprises).Change
	recent := prediction.Recent(prediction.After(outcomes, since), circadian.RecentResiduals)
	l.Residuals = len(recent)
	if l.Residuals == 0 {
		return l, nil
	}
	novel, unplaced, err := n.Novel(ctx, agent, recent, now)
	for _, yes := range novel {
		if yes {
			l.Novel++
		}
	}
	l.Unplaced = unplaced
	return l, err
}

// felt is the mean distance of episodes from a neutral mood, weighted by salience, in [0, 1].
func felt(episodes []*dream.Episode) float64 {
	sum, mass := 0.0, 0.0
	for _, e := range episodes {
		sum += e.Salience * math.Min(1, e.Affect.Distance(mood.PAD{}))
		mass += e.Salience
	}
	if mass == 0 {
		return 0
	}
	return sum / mass
}

// Novel says of each outcome whether its claim is unlike every episode and insight in memory: its cosine to the
// nearest is below 0.3, calibrated to the agent's vector space. unplaced is why that could not be measured.
func (n Needs) Novel(ctx context.Context, agent string, outcomes []prediction.Outcome,
	now time.Time,
) (novel []bool, unplaced string, err error) {
	space, err := n.Memory.Space(ctx, agent)
	if err != nil {
		return nil, "", fmt.Errorf("read the space of %s: %w", agent, err)
	}
	switch {
	case space == "":
		return nil, "nothing in its memory has a place yet", nil
	case n.Place == nil:
		return nil, n.Why, nil
	}
	claims, err := n.claims(ctx, agent, outcomes)
	if err != nil {
		return nil, "", err
	}
	places, of, err := n.Place(ctx, claims)
	var without withoutVectors
	if errors.As(err, &without) {
		return nil, string(without), nil
	}
	if err != nil {
		return nil, "", err
	}
	if of != space || len(places) != len(claims) {
		return nil, "its memory lies in the space of another embedder", nil
	}
	c, err := Ports{Memory: n.Memory}.calibration(ctx, Spec{Agent: agent, AsOf: now})
	if err != nil {
		return nil, "", err
	}
	existing := circadian.Space{Mean: c.Mean, SD: c.SD, Calibrated: c.Calibrated()}
	novel = make([]bool, len(outcomes))
	for i, place := range places {
		hits, err := n.Memory.Near(ctx, memory.Near{
			Agent:  agent,
			Space:  space,
			V:      place,
			Limit:  1,
			Filter: memory.Filter{Kinds: measurable},
		})
		if err != nil {
			return nil, "", fmt.Errorf("look for what is like a claim: %w", err)
		}
		novel[i] = len(hits) == 0 || existing.Novel(hits[0].Cosine)
	}
	return novel, "", nil
}

func (n Needs) claims(ctx context.Context, agent string, outcomes []prediction.Outcome) ([]string, error) {
	ids := make([]string, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.Prediction
	}
	items, err := n.Memory.Get(ctx, agent, ids...)
	if err != nil {
		return nil, fmt.Errorf("read what was foretold: %w", err)
	}
	values := map[string]string{}
	for _, item := range items {
		values[item.Header().ID] = item.Text()
	}
	claims := make([]string, len(ids))
	for i, id := range ids {
		claims[i] = values[id]
	}
	return claims, nil
}
