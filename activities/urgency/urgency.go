// Package urgency computes how much an agent needs to dream.
package urgency

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// EmbedFunc embeds texts with an agent's embedder and names its vector space.
type EmbedFunc func(ctx context.Context, texts []string) (places [][]float32, space string, err error)

// Reader computes how much an agent needs to dream. It writes nothing.
type Reader struct {
	Memory memory.DreamStore
	Place  EmbedFunc // nil: claims are not embedded, and no residual counts as novel
	Reason string    // why Place is nil
}

// Input collects what an agent's urgency is computed from.
func (n Reader) Input(ctx context.Context, agent string, now time.Time) (circadian.UrgencyInput, error) {
	last, err := triggers.ReadLastDream(ctx, n.Memory, agent)
	if err != nil {
		return circadian.UrgencyInput{}, err
	}
	l := circadian.UrgencyInput{Never: last.Record == nil}
	var since time.Time
	if last.Record != nil {
		since = last.Record.AsOf
		if ended := last.Record.Ended; !ended.IsZero() {
			l.Since = max(0, now.Sub(ended))
		}
	}
	l.Episodes, err = last.NewEpisodes(ctx, n.Memory, agent)
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
	all, err := review.Outcomes(ctx, n.Memory, agent)
	if err != nil {
		return l, err
	}
	outcomes := prediction.KnownAt(all, now)
	surprises := make([]float64, len(episodes))
	surpriseOf := prediction.SurpriseOf(outcomes)
	for i, e := range episodes {
		surprises[len(episodes)-1-i] = surpriseOf(e.ID, e.Surprise)
	}
	regime := hypnagogia.DepthInputOf(prediction.Surprises(prediction.Recent(outcomes, hypnagogia.InputOutcomes)),
		surprises).Change
	changes, err := core.Changes(ctx, n.Memory, agent, now, regime)
	if err != nil {
		return l, err
	}
	l.Volatility = changes.Volatility()
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
func (n Reader) Novel(ctx context.Context, agent string, outcomes []prediction.Outcome,
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
		return nil, n.Reason, nil
	}
	claims, err := n.claims(ctx, agent, outcomes)
	if err != nil {
		return nil, "", err
	}
	places, of, err := n.Place(ctx, claims)
	var without WithoutVectors
	if errors.As(err, &without) {
		return nil, string(without), nil
	}
	if err != nil {
		return nil, "", err
	}
	if of != space || len(places) != len(claims) {
		return nil, "its memory lies in the space of another embedder", nil
	}
	c, err := core.Calibration(ctx, n.Memory, agent, now)
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
			Filter: memory.Filter{Kinds: core.Measurable},
		})
		if err != nil {
			return nil, "", fmt.Errorf("look for what is like a claim: %w", err)
		}
		novel[i] = len(hits) == 0 || existing.Novel(hits[0].Cosine)
	}
	return novel, "", nil
}

func (n Reader) claims(ctx context.Context, agent string, outcomes []prediction.Outcome) ([]string, error) {
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

// WithoutVectors is why a check continues without embedding.
type WithoutVectors string

func (w WithoutVectors) Error() string { return string(w) }
