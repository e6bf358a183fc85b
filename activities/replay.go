package activities

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Replay has the activities of NREM.
type Replay struct{ Ports }

// ReplayRequest is the input of Replay.Run.
type ReplayRequest struct {
	StepRequest
	Backward bool `json:"backward"`
}

func (r ReplayRequest) direction() string {
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

// Run replays the most surprising episodes forward or backward and keeps the patterns it finds as predictions.
func (n *Replay) Run(ctx context.Context, r ReplayRequest) (StepResult, error) {
	spec, err := n.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	self, _, err := n.self(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	episodes, paused, err := n.queue(ctx, spec, r)
	if err != nil || paused.Interrupted() || len(episodes) == 0 {
		paused.NoCall = err == nil && !paused.Interrupted()
		return StepResult{Done: paused}, toApplicationError(err)
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
	c := call{
		spec:        spec,
		phase:       dream.NREM,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        r.direction(),
		role:        dream.Replayer,
		temperature: r.Temperature,
		behind:      behind,
		text:        prompt.Replay(prompt.Replaying{Self: self, Lines: lines, Backward: r.Backward}),
		tokens:      spec.Knobs.AnswerTokens,
		seed:        seedOf(spec, dream.NREM, 0, len(r.direction())),
	}
	var answer patterns
	_, done, err := n.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	var found []dream.Item
	w := memory.Write{}
	for i, p := range answer.Patterns {
		sources := sourcesOf(p.Sources, lines, behind)
		if strings.TrimSpace(p.Claim) == "" {
			continue
		}
		item := foretell(spec, dream.NREM, fmt.Sprintf("%s/%d", r.direction(), i+1), p.Claim, p.Criterion, p.Days,
			p.Confidence, p.Trace, sources)
		found = append(found, item)
		w.Events = append(w.Events, n.event(r.Stretch, fmt.Sprintf("nrem/%s/%d", r.direction(), i+1),
			event.PatternFound{Prediction: item.ID, Confidence: item.Confidence, Direction: r.direction()}))
	}
	return n.keep(ctx, r.Stretch, c, done, found, w)
}

// keep writes what a step made. Kinds that distances are measured against are embedded; the others are not, which
// saves the call.
func (p Ports) keep(ctx context.Context, s Stretch, c call, result Done, items []dream.Item,
	w memory.Write,
) (StepResult, error) {
	items, err := p.sift(s, c.spec, items, &w)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	var placed []dream.Item
	for _, item := range items {
		if slices.Contains(measurable, item.Header().Kind) {
			placed = append(placed, item)
		}
	}
	vectors, done, err := p.place(ctx, c, c.step+"/embed", placed)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	// if a cap is reached or the call is interrupted, the items are kept without vectors
	w.Add, w.Vectors = append(w.Add, items...), vectors
	made := make([]Made, len(items))
	for i, item := range items {
		made[i] = Made{
			ID: item.Header().ID, Score: item.Marks().Score,
			Kept: c.spec.Review != dream.JournalOnly || item.Header().Kind == dream.KindJournal,
		}
	}
	done.Reused = result.Reused
	return StepResult{Done: done, Made: made}, toApplicationError(p.write(ctx, s, w))
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
