package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

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
	episodes, err := n.draw(ctx, order, r.Sitting, r.direction(), order.Knobs.ReplayEpisodes)
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
	if err != nil {
		return StepResult{}, tell(err)
	}
	w.Add, w.Vectors = append(w.Add, items...), vectors // over a cap, or cut, the items are kept all the same, without their place
	made := make([]Made, len(items))
	for i, item := range items {
		made[i] = Made{ID: item.Header().ID, Score: item.Marks().Score, Kept: true}
	}
	return StepResult{Done: done, Made: made}, tell(p.write(ctx, s, w))
}

// poolNote freezes which episodes a night draws from, so that a deed done again draws the same from another memory.
const poolNote = "pool"

// pool are the episodes that replay and recombination draw from: those an onset chooses from (S4). They must not be changed.
func (p Ports) pool(ctx context.Context, o Order, s Sitting) ([]*dream.Episode, error) {
	var known []*dream.Episode
	if p.shelf.read(o.Dream, func(v *volume) { known = v.episodes }); known != nil {
		return known, nil
	}
	ids, err := p.frozen(ctx, s, poolNote, func() ([]string, error) {
		items, err := p.choose(ctx, o)
		return idsOf(memory.As[*dream.Episode](items)), err
	})
	if err != nil {
		return nil, err
	}
	items, err := p.Memory.Get(ctx, o.Agent, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the episodes of the night: %w", err)
	}
	episodes := memory.As[*dream.Episode](items)
	p.shelf.put(o.Dream, func(v *volume) { v.episodes = episodes })
	return episodes, nil
}

// frozen is a choice of items that is made once in a dream: the first that is noted holds.
func (p Ports) frozen(ctx context.Context, s Sitting, key string, choose func() ([]string, error)) ([]string, error) {
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, key)
	if errors.Is(err, memory.ErrNotFound) {
		var ids []string
		if ids, err = choose(); err != nil {
			return nil, err
		}
		if body, err = json.Marshal(ids); err != nil {
			return nil, fmt.Errorf("note %s: %w", key, err)
		}
		body, err = p.Memory.PutNote(ctx, s.Agent, memory.Fence{Dream: s.Dream, Run: s.Run}, key, body)
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	if err := json.Unmarshal(body, &ids); err != nil {
		return nil, fmt.Errorf("read what was noted as %s: %w", key, err)
	}
	return ids, nil
}

func idsOf[T dream.Item](items []T) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Header().ID
	}
	return ids
}

// draw samples episodes by surprise (H10, Schaul 2016), without replacement.
func (p Ports) draw(ctx context.Context, o Order, s Sitting, purpose string, n int) ([]*dream.Episode, error) {
	all, err := p.pool(ctx, o, s)
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
	volatility, err := n.volatility(ctx, order, r.Sitting)
	if err != nil {
		return StepResult{}, tell(err)
	}
	entries, err := n.fading(ctx, order, r.Sitting, volatility)
	if err != nil {
		return StepResult{}, tell(err)
	}
	if len(entries) == 0 {
		return StepResult{}, tell(n.archive(ctx, order, r.Sitting, volatility))
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
	items, w := n.distil(order, r.Sitting, entries, gistsBySource(answer, lines, texts, spec.Judges))
	result, err := n.keep(ctx, r.Sitting, c, items, w)
	if err != nil {
		return result, err
	}
	return result, tell(n.archive(ctx, order, r.Sitting, volatility, entries...))
}

// fading is how many live entries a last look considers, soonest due first, and what it does with them.
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
			if gisted, err := n.gisted(ctx, o.Agent, e.ID); err != nil {
				return nil, err
			} else if !gisted {
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

func (n *Replay) gisted(ctx context.Context, agent, id string) (bool, error) {
	known, err := n.Memory.Get(ctx, agent, gistID(id))
	return err == nil && len(known) > 0 && known[0].Header().State == dream.Live, err
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
		gisted, err := n.gisted(ctx, o.Agent, e.ID)
		if err != nil {
			return err
		}
		seen := slices.ContainsFunc(looked, func(l *dream.Semantic) bool { return l.ID == e.ID })
		if !gisted && !seen {
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
