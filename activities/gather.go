package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// GatherRequest is the input of Onset.Gather.
type GatherRequest struct {
	Stretch
	Cycle int `json:"cycle"`
	// affect at the last gathering; memories are gathered again only when it moved by more than 0.15
	Since  *mood.PAD `json:"since,omitempty"`
	Deeper *Deeper   `json:"deeper,omitempty"` // announced before the cycle
}

// GatherResult summarises what was chosen. The pieces themselves are in the cycle's note in the store.
type GatherResult struct {
	Cycle    int       `json:"cycle"` // the cycle whose note holds the pieces
	Bias     mood.Bias `json:"bias"`
	Affect   mood.PAD  `json:"affect"`
	Selected int       `json:"selected"`
	Shown    int       `json:"shown"`
	Bare     int       `json:"bare"` // chosen items that have no vector yet
	Same     bool      `json:"same"` // affect has not moved: the previous gathering applies

	Behaviour dream.Behaviour `json:"behaviour,omitempty"` // the agent's behaviour now, if it limits the dream
	// the depth of the onset, returned by the first gathering; nil: the peak
	Depth *dream.Depth `json:"depth,omitempty"`
}

// shown is a piece in the note: enough to find the text again.
type shown struct {
	Ref  string `json:"ref"`
	Item string `json:"item"`
}

type gathering struct {
	Result GatherResult `json:"result"`
	Shown  []shown      `json:"shown"`
}

func gatherNote(cycle int) string { return fmt.Sprintf("gathered/%d", cycle) }

// Gather chooses recent, salient and fading memories, breaks them into pieces, biases them by mood, cuts them to the
// window and shuffles them. The choice is frozen in a note, so a repeated activity returns the same.
func (o *Onset) Gather(ctx context.Context, r GatherRequest) (GatherResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	result, err := o.gather(ctx, r, spec)
	if err != nil {
		return result, err
	}
	if r.Cycle > 0 {
		result.Behaviour, err = o.behaviour(ctx, spec)
	} else {
		result.Depth, err = o.aim(ctx, spec, r.Stretch)
	}
	return result, toApplicationError(err)
}

func (o *Onset) gather(ctx context.Context, r GatherRequest, spec Spec) (GatherResult, error) {
	if d := r.Deeper; d != nil {
		e := o.event(r.Stretch, "onset/depth-"+string(d.To),
			event.DepthChanged{From: d.From, To: d.To, Temperature: d.Temperature})
		if err := o.write(ctx, r.Stretch, memory.Write{Events: []event.Event{e}}); err != nil {
			return GatherResult{}, toApplicationError(err)
		}
	}
	body, err := o.Memory.Note(ctx, r.Agent, r.Dream, gatherNote(r.Cycle))
	if err == nil {
		return readGathering(r, body)
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return GatherResult{}, toApplicationError(fmt.Errorf("read what cycle %d gathered: %w", r.Cycle, err))
	}
	affect, err := o.Memory.Affect(ctx, r.Agent)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	affectNow := affect.At(spec.AsOf) // the mood at the spec's time, like everything that is gathered
	if r.Since != nil && affectNow.Distance(*r.Since) <= mood.RebiasAfterShift {
		return GatherResult{Same: true, Affect: *r.Since}, nil
	}
	if err := o.sameSpace(ctx, spec); err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	items, err := o.choose(ctx, spec)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	pooled := func() ([]string, error) { return idsOf(memory.As[*dream.Episode](items)), nil }
	if _, err := o.frozen(ctx, r.Stretch, poolNote, pooled); err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	var pieces []hypnagogia.Piece
	for _, item := range items {
		pieces = append(pieces, hypnagogia.Decompose(item)...)
	}
	ranked := hypnagogia.Rank(pieces, affectNow, spec.AsOf)
	if r.Cycle == 0 {
		if err := o.listen(ctx, spec, r.Stretch); err != nil {
			return GatherResult{}, toApplicationError(err)
		}
	}
	world, err := o.world(ctx, spec, r.Stretch)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	fitting := hypnagogia.Fit(ranked, o.window(spec)-outside(world))
	shuffled := hypnagogia.Shuffle(fitting, spec.Knobs.Shuffle,
		hypnagogia.Dice(spec.Seed, dream.Onset, r.Cycle, 0, "shuffle"))
	g := gathering{Result: GatherResult{
		Cycle:    r.Cycle,
		Bias:     affectNow.Bias(),
		Affect:   affectNow,
		Selected: len(pieces),
		Shown:    len(shuffled),
	}}
	g.Result.Bare, err = o.bare(ctx, spec, shuffled)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	for _, p := range shuffled {
		g.Shown = append(g.Shown, shown{Ref: p.Ref, Item: p.Item})
	}
	body, err = json.Marshal(g)
	if err != nil {
		return GatherResult{}, fmt.Errorf("note what was gathered: %w", err)
	}
	body, err = o.Memory.PutNote(ctx, r.Agent, r.fence(), gatherNote(r.Cycle), body)
	if err != nil {
		return GatherResult{}, toApplicationError(err)
	}
	return readGathering(r, body) // if another attempt wrote the note first, that one counts
}

// readGathering reads the note of a cycle.
func readGathering(r GatherRequest, body []byte) (GatherResult, error) {
	var g gathering
	if err := json.Unmarshal(body, &g); err != nil {
		return GatherResult{}, fmt.Errorf("read what cycle %d gathered: %w", r.Cycle, err)
	}
	return g.Result, nil
}

// sameSpace refuses a dream whose embedder differs from that of the agent's vectors, since their distances would have
// no meaning.
func (p Ports) sameSpace(ctx context.Context, spec Spec) error {
	space, err := p.Memory.Space(ctx, spec.Agent)
	if err != nil || space == "" {
		return err
	}
	model, err := p.Catalog.Lookup(spec.Models[dream.Embedder])
	if err != nil {
		return err
	}
	if !model.Makes(space) {
		return fmt.Errorf(
			"the vectors of %s are of %s and the embedder is %s; run oneiros memory embed --agent %s first: %w",
			spec.Handle, space, model.Name, spec.Handle, memory.ErrSpace)
	}
	return nil
}

// Prompt tokens besides the memories, and the fewest bytes that a token of memories takes.
const (
	besideMemories = 700
	bytesPerToken  = 3
)

// window is how many characters of memory fit into the generator's prompt: the knob's value, or what the model's
// context leaves.
func (o *Onset) window(spec Spec) int {
	most := spec.Knobs.ShownCharacters
	model, err := o.Catalog.Lookup(spec.Models[dream.Generator])
	if err != nil || model.Context == 0 {
		return most
	}
	out := spec.Knobs.AnswerTokens
	if model.Reasoning {
		out += spec.Knobs.ReasoningTokens
	}
	return max(500, min(most, bytesPerToken*(model.Context-out-besideMemories)))
}

// choose selects the newest, the most salient and the soonest fading memories, each once, none later than the spec's
// time. The result is cached and must not be changed.
func (p Ports) choose(ctx context.Context, spec Spec) ([]dream.Item, error) {
	var existing []dream.Item
	p.cache.read(ctx, spec.Dream, func(v *cachedRun) { existing = v.chosen })
	if existing != nil {
		return existing, nil
	}
	k, until := spec.Knobs, spec.AsOf.Add(1)
	episodes := []dream.Kind{dream.KindEpisode}
	queries := []memory.Query{
		{
			Agent: spec.Agent,
			Kinds: episodes,
			Sort:  memory.Newest,
			Limit: k.Recent,
			Until: until,
		},
		{
			Agent:       spec.Agent,
			Kinds:       episodes,
			Sort:        memory.MostSalient,
			SalientFrom: k.SalientAbove,
			Limit:       k.Salient,
			Until:       until,
		},
		{
			Agent: spec.Agent,
			Kinds: []dream.Kind{dream.KindSemantic},
			Sort:  memory.SoonestDue,
			Limit: k.Decaying,
			Until: until,
		},
	}
	var chosen []dream.Item
	seen := map[string]dream.Item{}
	for _, q := range queries {
		if q.Limit == 0 {
			continue
		}
		items, err := p.Memory.Find(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("choose memories (%s): %w", q.Sort, err)
		}
		for _, item := range items {
			if id := item.Header().ID; seen[id] == nil {
				seen[id] = item
				chosen = append(chosen, item)
			}
		}
	}
	p.cache.put(ctx, spec.Dream, func(v *cachedRun) { v.chosen, v.byID = chosen, seen })
	return chosen, nil
}

// again reads memories that a dream has chosen, from the cache if possible. They must not be changed.
func (p Ports) again(ctx context.Context, s Stretch, ids []string) ([]dream.Item, error) {
	var existing []dream.Item
	p.cache.read(ctx, s.Dream, func(v *cachedRun) { existing = v.those(ids) })
	if existing != nil {
		return existing, nil
	}
	return p.Memory.Get(ctx, s.Agent, ids...)
}

func (o *Onset) bare(ctx context.Context, spec Spec, pieces []hypnagogia.Piece) (int, error) {
	space, err := o.Memory.Space(ctx, spec.Agent)
	if err != nil {
		return 0, err
	}
	bare, err := o.Memory.WithoutVector(ctx, spec.Agent, space, measurable,
		spec.Knobs.Recent+spec.Knobs.Salient+spec.Knobs.Decaying)
	return len(bare), err
}

// measurable are the kinds that distances are measured against.
var measurable = []dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindPlaybook, dream.KindGist}

// remember reads a gathering as the lines of a prompt, with the id of the item behind each line.
func (o *Onset) remember(ctx context.Context, s Stretch, cycle int) ([]prompt.Line, []string, error) {
	var existing *remembered
	o.cache.read(ctx, s.Dream, func(v *cachedRun) { existing = v.shown[cycle] })
	if existing != nil {
		return existing.lines, existing.behind, nil
	}
	body, err := o.Memory.Note(ctx, s.Agent, s.Dream, gatherNote(cycle))
	if err != nil {
		return nil, nil, fmt.Errorf("read what cycle %d gathered: %w", cycle, err)
	}
	var g gathering
	if err := json.Unmarshal(body, &g); err != nil {
		return nil, nil, fmt.Errorf("read what cycle %d gathered: %w", cycle, err)
	}
	ids := make([]string, 0, len(g.Shown))
	seen := map[string]bool{}
	for _, piece := range g.Shown {
		if !seen[piece.Item] {
			seen[piece.Item] = true
			ids = append(ids, piece.Item)
		}
	}
	items, err := o.again(ctx, s, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read the memories of cycle %d: %w", cycle, err)
	}
	texts := map[string]string{}
	for _, item := range items {
		for _, piece := range hypnagogia.Decompose(item) {
			texts[piece.Ref] = piece.Text
		}
	}
	var lines []prompt.Line
	var behind []string
	for _, piece := range g.Shown {
		text, ok := texts[piece.Ref]
		if !ok {
			continue // removed since
		}
		lines = append(lines, prompt.Line{Ref: fmt.Sprintf("r%d", len(lines)+1), Text: text})
		behind = append(behind, piece.Item)
	}
	o.cache.put(ctx, s.Dream, func(v *cachedRun) { v.shown[cycle] = &remembered{lines, behind} })
	return lines, behind, nil
}
