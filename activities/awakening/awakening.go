// Package awakening holds the activities of the hypnopompic return: insights for the journal, and the mood.
package awakening

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Awakening has the activities of the hypnopompic return.
type Awakening struct{ activities.Ports }

// awakeningRun is what an activity of the return works with.
type awakeningRun struct{ *core.Run }

func (a *Awakening) open(ctx context.Context, s activities.Stretch) (awakeningRun, error) {
	run, err := core.Open(ctx, a.Ports, s)
	return awakeningRun{run}, err
}

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
func (a *Awakening) Surface(ctx context.Context, r activities.ConsolidateRequest) (activities.StepResult, error) {
	run, err := a.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	view, behind, err := core.Material(ctx, run.Run, r, insights)
	if err != nil || len(view.Lines) == 0 {
		return activities.StepResult{CallOutcome: activities.CallOutcome{NoCall: err == nil}}, err
	}
	c := core.Call{
		Phase:       dream.Return,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        "surface",
		Role:        dream.Integrator,
		Temperature: r.Temperature,
		Text:        prompt.Surface(view),
		Behind:      behind,
		Tokens:      run.Spec.Knobs.AnswerTokens,
		Seed:        run.SeedOf(dream.Return, 0, 0),
	}
	var answer surfaced
	done := activities.CallOutcome{}
	if run.Spec.Tier == dream.Hardened {
		_, done, err = run.AskFor(ctx, c, &answer)
		if err != nil || done.End != activities.EndDone {
			return activities.StepResult{CallOutcome: done}, err
		}
	}
	var items []dream.Item
	add := func(n int, text string, sources []string) error {
		entry, err := run.entry(ctx, r, n, text, sources)
		if err == nil && entry.Significance >= journal.Threshold && len(items) < insights {
			items = append(items, entry) // insignificant insights are not written
		}
		return err
	}
	for i, found := range answer.Insights {
		if text := strings.TrimSpace(found.Insight); text != "" {
			if err := add(i+1, text, core.SourcesOf(found.Sources, view.Lines, behind)); err != nil {
				return activities.StepResult{}, err
			}
		}
	}
	if run.Spec.Tier == dream.Core { // the core tier makes no call: its fragments are the insights
		for i, line := range view.Lines {
			if err := add(i+1, line.Text, []string{behind[i]}); err != nil {
				return activities.StepResult{}, err
			}
		}
	}
	return run.Keep(ctx, c, done, items, memory.Write{})
}

// entry is a journal entry. Its significance counts the distinct lived memories that it goes back to.
func (a awakeningRun) entry(ctx context.Context, r activities.ConsolidateRequest, n int, text string,
	sources []string,
) (*dream.Journal, error) {
	lived := map[string]bool{}
	if err := core.Roots(ctx, a.Run, sources, 4, lived); err != nil {
		return nil, err
	}
	if a.Spec.Review == dream.JournalOnly { // intermediate items will be removed
		sources = slices.Sorted(maps.Keys(lived))
	}
	return &dream.Journal{
		Head:    a.Head(dream.Return, dream.KindJournal, fmt.Sprintf("%d", n), sources),
		Content: text, Significance: journal.Significance(text, len(lived), r.Tone), Affect: r.Tone,
		Topics: journal.Topics(text, 3),
	}, nil
}

// SettleMood moves the waking mood part of the way toward the mood of the dream, once, and reports by how much. In a
// resumed dream, what an interruption has already applied is not applied again (see resume.go).
func (a *Awakening) SettleMood(ctx context.Context,
	r activities.SettleMoodRequest,
) (activities.SettleMoodResult, error) {
	run, err := a.open(ctx, r.Stretch)
	if err != nil {
		return activities.SettleMoodResult{}, err
	}
	record, err := run.Record(ctx)
	if err != nil {
		return activities.SettleMoodResult{}, err
	}
	kept, err := run.Get(ctx, r.Kept...)
	if err != nil {
		return activities.SettleMoodResult{}, err
	}
	after, err := core.MoodAfter(ctx, run.Run, memory.As[*dream.Fragment](kept), record)
	if err != nil {
		return activities.SettleMoodResult{}, err
	}
	asks := run.moodProposal(record.Before, after)
	if run.Spec.Review.Holds() {
		after = record.Before
	}
	since := record.BeforeAt // the mood decays from the time when it was read, so reading it changes nothing
	if since.IsZero() {
		since = run.Spec.AsOf
	}
	result := activities.SettleMoodResult{Before: record.Before, After: after, Delta: record.Before.Distance(after)}
	record.AfterAt = since
	record.After = after
	record.Insights = r.Insights
	record.Selected = r.Selected
	record.Shown = r.Shown
	return result, run.Write(ctx, memory.Write{
		Add:    asks,
		Change: []dream.Item{record},
		Affect: &dream.Affect{PAD: after, Since: since, Cause: r.Dream},
		OnWake: &memory.OnWake{Digest: r.Insights},
		Events: []event.Event{run.Event("return/end", event.HypnopompicCompleted{
			Insights: len(r.Insights), Transitioned: result.Delta > 0, Delta: result.Delta,
		})},
	})
}

// moodProposal proposes to let a dream move the mood; nil without review, or when the mood would not change.
func (a awakeningRun) moodProposal(from, to mood.PAD) []dream.Item {
	if a.Spec.Review != dream.ReviewAsk || from == to {
		return nil
	}
	return []dream.Item{&dream.Proposal{
		Head: a.Head(dream.Return, dream.KindProposal, "mood", nil), Does: dream.ProposeMood, From: &from, To: &to,
	}}
}
