// Package replay holds the activities of NREM: replay of episodes, and the gists of fading knowledge.
package replay

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Replay has the activities of NREM.
type Replay struct{ activities.Ports }

// replayRun is what an activity of NREM works with.
type replayRun struct{ *core.Run }

func (n *Replay) open(ctx context.Context, s activities.Stretch) (replayRun, error) {
	run, err := core.Open(ctx, n.Ports, s)
	return replayRun{run}, err
}

func direction(r activities.ReplayRequest) string {
	if r.Backward {
		return "backward"
	}
	return "forward"
}

type patterns struct {
	Patterns []struct {
		Claim      string   `json:"claim"`
		Criterion  string   `json:"criterion"`
		Days       int      `json:"days"`
		Confidence float64  `json:"confidence"`
		Trace      string   `json:"trace"`
		Sources    []string `json:"sources"`
	} `json:"patterns"`
}

// shownCounted is how many regularities a replay is shown: as many as it may find patterns.
const shownCounted = 3

// Run replays the most surprising episodes forward or backward and keeps the patterns it finds as predictions. Before
// the first replay it reviews the reasoning behind predictions that were resolved.
func (n *Replay) Run(ctx context.Context, r activities.ReplayRequest) (activities.StepResult, error) {
	run, err := n.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	if !r.Backward {
		paused, err := run.reviewReasoning(ctx, r)
		if err != nil || paused.Interrupted() {
			return activities.StepResult{CallOutcome: paused}, err
		}
	}
	self, _, err := run.Self(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	episodes, paused, err := run.queue(ctx, r)
	if err != nil || paused.Interrupted() || len(episodes) == 0 {
		paused.NoCall = err == nil && !paused.Interrupted()
		return activities.StepResult{CallOutcome: paused}, err
	}
	sort.SliceStable(episodes, func(i, j int) bool {
		if r.Backward {
			i, j = j, i
		}
		if !episodes[i].At.Equal(episodes[j].At) {
			return episodes[i].At.Before(episodes[j].At)
		}
		return episodes[i].Content < episodes[j].Content
	})
	lines, behind := reportEpisodes(episodes)
	counted, err := run.Counted(ctx)
	if err != nil {
		return activities.StepResult{}, err
	}
	part := core.CountedForward
	if r.Backward {
		part = core.CountedBackward
	}
	counted = core.Deal(counted, part, core.CountedParts)
	shown, shows := core.CountedLines(counted[:min(len(counted), shownCounted)])
	c := core.Call{
		Phase:       dream.NREM,
		Limit:       r.Limit,
		Tone:        r.Tone,
		Step:        direction(r),
		Role:        dream.Replayer,
		Temperature: r.Temperature,
		Behind:      dream.DistinctIDs(append(slices.Clone(behind), shows...)),
		Text:        prompt.Replay(prompt.ReplayInput{Self: self, Lines: lines, Backward: r.Backward, Counted: shown}),
		Tokens:      run.Spec.Knobs.AnswerTokens,
		Seed:        run.SeedOf(dream.NREM, 0, len(direction(r))),
	}
	var answer patterns
	_, done, err := run.AskFor(ctx, c, &answer)
	if err != nil || done.End != activities.EndDone {
		return activities.StepResult{CallOutcome: done}, err
	}
	var found []dream.Item
	w := memory.Write{}
	for i, p := range answer.Patterns {
		sources := core.SourcesOf(p.Sources, lines, behind)
		if strings.TrimSpace(p.Claim) == "" {
			continue
		}
		item := run.Foretell(dream.NREM, fmt.Sprintf("%s/%d", direction(r), i+1), p.Claim, p.Criterion, p.Days,
			p.Confidence, p.Trace, sources)
		core.RestsOn(item, counted)
		already, err := run.Foretold(ctx, item)
		if err != nil {
			return activities.StepResult{}, err
		}
		if already != "" {
			continue
		}
		found = append(found, item)
		w.Events = append(w.Events, run.Event(fmt.Sprintf("nrem/%s/%d", direction(r), i+1),
			event.PatternFound{Prediction: item.ID, Confidence: item.Confidence, Direction: direction(r)}))
	}
	return run.Keep(ctx, c, done, found, w)
}

// reportEpisodes makes one line of each episode: what happened, the outcome, and when.
func reportEpisodes(episodes []*dream.Episode) ([]prompt.Line, []string) {
	lines := make([]prompt.Line, len(episodes))
	behind := make([]string, len(episodes))
	for i, e := range episodes {
		text := e.Content
		if e.Outcome != "" && !strings.Contains(e.Content, e.Outcome) {
			text += " Then: " + e.Outcome
		}
		lines[i] = prompt.Line{Ref: fmt.Sprintf("r%d", i+1), Text: text + " (" + e.At.Format("2 Jan, 15:04") + ")"}
		behind[i] = e.ID
	}
	return lines, behind
}
