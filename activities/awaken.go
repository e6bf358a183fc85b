package activities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Awakening has the activities of the hypnopompic return.
type Awakening struct{ Ports }

// insights is the most insights that a dream may add to the journal.
const insights = 3

type surfaced struct {
	Insights []struct {
		Insight string   `json:"insight"`
		Sources []string `json:"sources"`
	} `json:"insights"`
}

// Surface asks the model which thoughts are worth remembering when awake, and writes them into the journal with their
// significance.
func (a *Awakening) Surface(ctx context.Context, r ConsolidateRequest) (StepResult, error) {
	spec, err := a.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	view, behind, err := a.material(ctx, r, insights)
	if err != nil || len(view.Lines) == 0 {
		return StepResult{Done: Done{NoCall: err == nil}}, toApplicationError(err)
	}
	c := call{
		spec:        spec,
		phase:       dream.Return,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "surface",
		role:        dream.Integrator,
		temperature: r.Temperature,
		text:        prompt.Surface(view),
		behind:      behind,
		tokens:      spec.Knobs.AnswerTokens,
		seed:        seedOf(spec, dream.Return, 0, 0),
	}
	var answer surfaced
	done := Done{}
	if spec.Tier == dream.Hardened {
		_, done, err = a.askFor(ctx, c, &answer)
		if err != nil || done.End != EndDone {
			return StepResult{Done: done}, toApplicationError(err)
		}
	}
	var items []dream.Item
	add := func(n int, text string, sources []string) error {
		entry, err := a.entry(ctx, spec, r, n, text, sources)
		if err == nil && entry.Significance >= journal.Threshold && len(items) < insights {
			items = append(items, entry) // insignificant insights are not written
		}
		return err
	}
	for i, found := range answer.Insights {
		if text := strings.TrimSpace(found.Insight); text != "" {
			if err := add(i+1, text, sourcesOf(found.Sources, view.Lines, behind)); err != nil {
				return StepResult{}, toApplicationError(err)
			}
		}
	}
	if spec.Tier == dream.Core { // the core tier makes no call: its fragments are the insights
		for i, line := range view.Lines {
			if err := add(i+1, line.Text, []string{behind[i]}); err != nil {
				return StepResult{}, toApplicationError(err)
			}
		}
	}
	return a.keep(ctx, r.Stretch, c, done, items, memory.Write{})
}

// entry is a journal entry. Its significance counts the distinct lived memories that it goes back to.
func (a *Awakening) entry(ctx context.Context, spec Spec, r ConsolidateRequest, n int, text string,
	sources []string,
) (*dream.Journal, error) {
	roots := map[string]bool{}
	if err := a.roots(ctx, r.Stretch, sources, 4, roots); err != nil {
		return nil, err
	}
	if spec.Review == dream.JournalOnly { // intermediate items will be removed
		sources = slices.Sorted(maps.Keys(roots))
	}
	return &dream.Journal{
		Head:    head(spec, dream.Return, dream.KindJournal, fmt.Sprintf("%d", n), sources),
		Content: text, Significance: journal.Significance(text, len(roots), r.Tone), Affect: r.Tone,
		Topics: journal.Topics(text, 3),
	}, nil
}

// roots collects the lived memories that items go back to in at most depth steps.
func (p Ports) roots(ctx context.Context, s Stretch, ids []string, depth int, found map[string]bool) error {
	if depth == 0 || len(ids) == 0 {
		return nil
	}
	items, err := p.made(ctx, s, ids...)
	if err != nil {
		return fmt.Errorf("follow sources: %w", err)
	}
	for _, item := range items {
		if h := item.Header(); h.Dream == "" {
			found[h.ID] = true
		} else if err := p.roots(ctx, s, h.Sources, depth-1, found); err != nil {
			return err
		}
	}
	return nil
}

// SettleRequest is the input of Awakening.Settle.
type SettleRequest struct {
	Stretch
	Insights []string `json:"insights"` // ids of journal entries
	Kept     []string `json:"kept"`     // ids of the fragments whose tones made the dream's mood
	Selected int      `json:"selected"`
	Shown    int      `json:"shown"`
}

// SettleResult is how the mood changed.
type SettleResult struct {
	Before mood.PAD `json:"before"`
	After  mood.PAD `json:"after"`
	Delta  float64  `json:"delta"`
}

// Settle moves the waking mood part of the way toward the mood of the dream, once, and reports by how much. In a
// resumed dream, what an interruption has already applied is not applied again (see resume.go).
func (a *Awakening) Settle(ctx context.Context, r SettleRequest) (SettleResult, error) {
	spec, err := a.spec(ctx, r.Stretch)
	if err != nil {
		return SettleResult{}, toApplicationError(err)
	}
	record, err := memory.One[*dream.Record](ctx, a.Memory, r.Agent, r.Dream)
	if err != nil {
		return SettleResult{}, toApplicationError(err)
	}
	kept, err := a.Memory.Get(ctx, r.Agent, r.Kept...)
	if err != nil {
		return SettleResult{}, toApplicationError(err)
	}
	after, err := a.left(ctx, spec, memory.As[*dream.Fragment](kept), record)
	if err != nil {
		return SettleResult{}, toApplicationError(err)
	}
	asks := moodProposal(spec, record.Before, after)
	if spec.Review.Holds() {
		after = record.Before
	}
	since := record.BeforeAt // the mood decays from the time when it was read, so reading it changes nothing
	if since.IsZero() {
		since = spec.AsOf
	}
	result := SettleResult{Before: record.Before, After: after, Delta: record.Before.Distance(after)}
	record.AfterAt = since
	record.After = after
	record.Insights = r.Insights
	record.Selected = r.Selected
	record.Shown = r.Shown
	return result, toApplicationError(a.write(ctx, r.Stretch, memory.Write{
		Add:    asks,
		Change: []dream.Item{record},
		Affect: &dream.Affect{PAD: after, Since: since, Cause: r.Dream},
		Waking: &memory.Waking{Digest: r.Insights},
		Events: []event.Event{a.event(r.Stretch, "return/end", event.HypnopompicCompleted{
			Insights: len(r.Insights), Transitioned: result.Delta > 0, Delta: result.Delta,
		})},
	}))
}
