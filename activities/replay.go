package activities

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Replay does the deeds of NREM.
type Replay struct{ Ports }

// ReplayRequest asks to replay episodes in one direction.
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

// Run replays the most surprising episodes forward or backward and keeps the patterns found as predictions (H12).
func (n *Replay) Run(ctx context.Context, r ReplayRequest) (StepResult, error) {
	order, err := n.order(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	self, _, err := n.self(ctx, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	episodes, err := n.draw(ctx, order, r.direction(), order.Knobs.ReplayEpisodes)
	if err != nil || len(episodes) == 0 {
		return StepResult{}, tell(err)
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
	lines, behind := tellEpisodes(episodes)
	c := call{
		order: order, phase: dream.NREM, limit: r.Limit, step: r.direction(), role: dream.Replayer, heat: r.Heat,
		text:   prompt.Replay(prompt.Replaying{Self: self, Lines: lines, Backward: r.Backward}),
		tokens: order.Knobs.AnswerTokens, seed: seedOf(order, dream.NREM, 0, len(r.direction())),
	}
	var answer patterns
	_, done, err := n.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, tell(err)
	}
	var found []dream.Item
	w := memory.Write{}
	for i, p := range answer.Patterns {
		sources := sourcesOf(p.Sources, lines, behind)
		if strings.TrimSpace(p.Claim) == "" {
			continue
		}
		item := foretell(order, dream.NREM, fmt.Sprintf("%s/%d", r.direction(), i+1), p.Claim, p.Criterion, p.Days, p.Confidence, p.Trace, sources)
		found = append(found, item)
		w.Events = append(w.Events, n.event(r.Sitting, fmt.Sprintf("nrem/%s/%d", r.direction(), i+1),
			event.PatternFound{Prediction: item.ID, Confidence: item.Confidence, Direction: r.direction()}))
	}
	return n.keep(ctx, r.Sitting, c, found, w)
}

// keep writes what a step made. What distances are measured against gets its place in the embedder's space; the rest
// needs none, and costs none.
func (p Ports) keep(ctx context.Context, s Sitting, c call, items []dream.Item, w memory.Write) (StepResult, error) {
	var placed []dream.Item
	for _, item := range items {
		if slices.Contains(measurable, item.Header().Kind) {
			placed = append(placed, item)
		}
	}
	vectors, done, err := p.place(ctx, c, c.step+"/embed", placed)
	if err != nil || done.End == EndCut {
		return StepResult{Done: done}, tell(err)
	}
	w.Add, w.Vectors = append(w.Add, items...), vectors // over a cap the items are kept all the same, without their place
	made := make([]Made, len(items))
	for i, item := range items {
		made[i] = Made{ID: item.Header().ID, Score: item.Marks().Score, Kept: true}
	}
	return StepResult{Done: done, Made: made}, tell(p.write(ctx, s, w))
}

// pool are the episodes that replay and recombination draw from: those an onset chooses from (S4). They must not be changed.
func (p Ports) pool(ctx context.Context, o Order) ([]*dream.Episode, error) {
	var known []*dream.Episode
	if p.shelf.read(o.Dream, func(v *volume) { known = v.episodes }); known != nil {
		return known, nil
	}
	items, err := p.choose(ctx, o)
	if err != nil {
		return nil, err
	}
	episodes := memory.As[*dream.Episode](items)
	p.shelf.put(o.Dream, func(v *volume) { v.episodes = episodes })
	return episodes, nil
}

// draw samples episodes by surprise (H10, Schaul 2016), without replacement.
func (p Ports) draw(ctx context.Context, o Order, purpose string, n int) ([]*dream.Episode, error) {
	all, err := p.pool(ctx, o)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(all))
	for i, e := range all {
		weights[i] = e.Surprise
	}
	drawn := hypnagogia.Sample(weights, min(n, len(all)), o.Knobs.ReplayAlpha, hypnagogia.Dice(o.Seed, dream.NREM, 0, 0, purpose))
	episodes := make([]*dream.Episode, len(drawn))
	for i, at := range drawn {
		episodes[i] = all[at]
	}
	return episodes, nil
}

// tellEpisodes makes one line of each episode: what, how it came out, and when.
func tellEpisodes(episodes []*dream.Episode) ([]prompt.Line, []string) {
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
	entries, err := n.fading(ctx, order)
	if err != nil || len(entries) == 0 {
		return StepResult{}, tell(err)
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
		order: order, phase: dream.NREM, limit: r.Limit, step: "last-look", role: dream.Replayer, heat: r.Heat, text: prompt.LastLook(self, lines),
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
	items, w := n.fade(order, r.Sitting, entries, gistsBySource(answer, lines, texts, spec.Judges))
	return n.keep(ctx, r.Sitting, c, items, w)
}

// fading are the entries due soonest that have not given up their gist yet.
func (n *Replay) fading(ctx context.Context, o Order) ([]*dream.Semantic, error) {
	if o.Knobs.LastLookEntries == 0 {
		return nil, nil
	}
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: o.Agent, Kinds: []dream.Kind{dream.KindSemantic}, Order: memory.SoonestDue, Limit: o.Knobs.LastLookEntries,
		Until: o.AsOf.Add(1), DueBefore: o.AsOf.Add(o.Knobs.HalfLife / 4),
	})
	if err != nil {
		return nil, fmt.Errorf("find fading knowledge: %w", err)
	}
	var entries []*dream.Semantic
	for _, e := range memory.As[*dream.Semantic](items) {
		known, err := n.Memory.Get(ctx, o.Agent, gistID(e.ID))
		if err != nil {
			return nil, err
		}
		if len(known) == 0 {
			entries = append(entries, e)
		}
	}
	return entries, nil
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

func (n *Replay) fade(o Order, s Sitting, entries []*dream.Semantic, texts []string) ([]dream.Item, memory.Write) {
	var items []dream.Item
	w := memory.Write{}
	for i, e := range entries {
		newer := ""
		if gist, ok := forgetting.Gist(texts[i]); ok {
			g := &dream.Gist{Head: head(o, dream.NREM, dream.KindGist, "", []string{e.ID}), Content: gist}
			g.ID = gistID(e.ID)
			items = append(items, g)
			newer = g.ID
			w.Events = append(w.Events, n.event(s, fmt.Sprintf("nrem/gist-%d", i+1), event.GistExtracted{Gist: g.ID, Source: e.ID}))
		}
		if !e.Due.IsZero() && !e.Due.After(o.AsOf) {
			e.State, e.NewerID = dream.Archived, newer
			w.Change = append(w.Change, e)
		}
	}
	return items, w
}
