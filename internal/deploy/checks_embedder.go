package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// measuredText is embedded to measure the embedder: as long as a usual question.
const measuredText = "What did we say about the harbour last week?"

// checkEmbedder measures how long the usual embedder takes for one text, compares it with the time that recall may
// take, and names the agents whose memory was embedded by another one. A paid embedder is not called: the doctor
// spends nothing.
func (d doctor) checkEmbedder(ctx context.Context) Finding {
	c := d.cfg
	spec, err := c.Lookup(c.Roles.Models()[dream.Embedder])
	if err != nil {
		return failed("Correct roles.embedder.", "%v", err)
	}
	within := recallWithin(c.Serve.RecallBudget, spec)
	text := fmt.Sprintf("%s; recall budget %s", spec.Name, within)
	late := false
	if spec.Price != nil && *spec.Price == (budget.Price{}) {
		models, _ := providers(c)
		took, err := timeEmbedder(ctx, models[spec.Provider], spec)
		if err != nil {
			return failed("docs/models.md says what an embedder needs.", "%s does not answer: %v", spec.Name, err)
		}
		late = took > within
		text = fmt.Sprintf("%s: %s for one text; recall budget %s", spec.Name, rounded(took), within)
	} else {
		text += "; not measured, since a call costs money"
	}
	var behind []string
	var pending string
	d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding { // checkStore reports the store's errors
		behind, _ = Behind(ctx, h.store, spec)
		pending, _ = unembedded(ctx, h, time.Now())
		return Finding{}
	})
	if len(behind) > 0 {
		return warned(
			"Change over with oneiros memory embed --agent "+behind[0]+
				"; until then the embedder of its space serves it.",
			"%s; the memory of %s is in another embedding space", text, strings.Join(behind, ", "))
	}
	if pending != "" {
		return warned("They are found by their words until then.", "%s; %s", text, pending)
	}
	if late {
		return warned(
			"Raise serve.recall_budget above it, or choose a faster embedder: until then most turns recall by words alone.",
			"%s", text)
	}
	return passed("%s", text)
}

// recallWithin is how long a turn waits for its memories: the configured budget, or the default for this embedder.
func recallWithin(configured time.Duration, spec inference.Spec) time.Duration {
	switch {
	case configured > 0:
		return configured
	case spec.BuiltIn:
		return 40 * time.Millisecond
	}
	return time.Second
}

// timeEmbedder returns the median of three calls with one text each, after a first call that may have to load the
// model.
func timeEmbedder(ctx context.Context, m inference.Model, spec inference.Spec) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, providerWithin)
	defer cancel()
	var took []time.Duration
	for range 4 {
		began := time.Now()
		if _, err := m.Embed(ctx, spec.Name, []string{measuredText}, ""); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	took = took[1:]
	slices.Sort(took)
	return took[1], nil
}

func rounded(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond / 10)
}
