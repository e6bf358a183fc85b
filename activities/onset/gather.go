package onset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// shown is a piece in the note: enough to find the text again.
type shown struct {
	Ref  string `json:"ref"`
	Item string `json:"item"`
}

type gathering struct {
	Result activities.GatherResult `json:"result"`
	Shown  []shown                 `json:"shown"`
}

func gatherNote(cycle int) string { return fmt.Sprintf("gathered/%d", cycle) }

// Gather chooses recent, salient and fading memories, breaks them into pieces, biases them by mood, cuts them to the
// window and shuffles them. The choice is frozen in a note, so a repeated activity returns the same.
func (o *Onset) Gather(ctx context.Context, r activities.GatherRequest) (activities.GatherResult, error) {
	run, err := o.open(ctx, r.Stretch)
	if err != nil {
		return activities.GatherResult{}, err
	}
	result, err := run.gather(ctx, r)
	if err != nil {
		return result, err
	}
	if r.Cycle > 0 {
		result.Behaviour, err = run.behaviour(ctx)
	} else {
		result.Depth, err = run.aim(ctx)
	}
	return result, err
}

func (o onsetRun) gather(ctx context.Context, r activities.GatherRequest) (activities.GatherResult, error) {
	if d := r.Deeper; d != nil {
		e := o.Event("onset/depth-"+string(d.To),
			event.DepthChanged{From: d.From, To: d.To, Temperature: d.Temperature})
		if err := o.Write(ctx, memory.Write{Events: []event.Event{e}}); err != nil {
			return activities.GatherResult{}, err
		}
	}
	body, err := o.Memory.Note(ctx, r.Agent, r.Dream, gatherNote(r.Cycle))
	if err == nil {
		return readGathering(r, body)
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return activities.GatherResult{}, fmt.Errorf("read what cycle %d gathered: %w", r.Cycle, err)
	}
	affect, err := o.Memory.Affect(ctx, r.Agent)
	if err != nil {
		return activities.GatherResult{}, err
	}
	affectNow := affect.At(o.Spec.AsOf) // the mood at the spec's time, like everything that is gathered
	if r.Since != nil && affectNow.Distance(*r.Since) <= mood.RebiasAfterShift {
		return activities.GatherResult{Same: true, Affect: *r.Since}, nil
	}
	if err := core.SameSpace(ctx, o.Run); err != nil {
		return activities.GatherResult{}, err
	}
	items, err := o.Choose(ctx)
	if err != nil {
		return activities.GatherResult{}, err
	}
	pooled := func() ([]string, error) { return core.IdsOf(memory.As[*dream.Episode](items)), nil }
	if _, err := o.Frozen(ctx, core.PoolNote, pooled); err != nil {
		return activities.GatherResult{}, err
	}
	var pieces []hypnagogia.Piece
	for _, item := range items {
		pieces = append(pieces, hypnagogia.Decompose(item)...)
	}
	ranked := hypnagogia.Rank(pieces, affectNow, o.Spec.AsOf)
	if r.Cycle == 0 {
		if err := o.listen(ctx); err != nil {
			return activities.GatherResult{}, err
		}
	}
	world, err := o.world(ctx)
	if err != nil {
		return activities.GatherResult{}, err
	}
	fitting := hypnagogia.Fit(ranked, o.window()-outside(world))
	shuffled := hypnagogia.Shuffle(fitting, o.Spec.Knobs.Shuffle,
		hypnagogia.Dice(o.Spec.Seed, dream.Onset, r.Cycle, 0, "shuffle"))
	g := gathering{Result: activities.GatherResult{
		Cycle:    r.Cycle,
		Bias:     affectNow.Bias(),
		Affect:   affectNow,
		Selected: len(pieces),
		Shown:    len(shuffled),
	}}
	g.Result.WithoutVector, err = o.withoutVector(ctx)
	if err != nil {
		return activities.GatherResult{}, err
	}
	for _, p := range shuffled {
		g.Shown = append(g.Shown, shown{Ref: p.Ref, Item: p.Item})
	}
	body, err = json.Marshal(g)
	if err != nil {
		return activities.GatherResult{}, fmt.Errorf("note what was gathered: %w", err)
	}
	body, err = o.Memory.PutNote(ctx, r.Agent, r.Fence(), gatherNote(r.Cycle), body)
	if err != nil {
		return activities.GatherResult{}, err
	}
	return readGathering(r, body) // if another attempt wrote the note first, that one counts
}

// readGathering reads the note of a cycle.
func readGathering(r activities.GatherRequest, body []byte) (activities.GatherResult, error) {
	var g gathering
	if err := json.Unmarshal(body, &g); err != nil {
		return activities.GatherResult{}, fmt.Errorf("read what cycle %d gathered: %w", r.Cycle, err)
	}
	return g.Result, nil
}

// Prompt tokens besides the memories, and the fewest bytes that a token of memories takes.
const (
	besideMemories = 700
	bytesPerToken  = 3
)

// window is how many characters of memory fit into the generator's prompt: the knob's value, or what the model's
// context leaves.
func (o onsetRun) window() int {
	most := o.Spec.Knobs.ShownCharacters
	model, err := o.Catalog.Lookup(o.Spec.Models[dream.Generator])
	if err != nil || model.Context == 0 {
		return most
	}
	out := o.Spec.Knobs.AnswerTokens
	if model.Reasoning {
		out += o.Spec.Knobs.ReasoningTokens
	}
	return max(500, min(most, bytesPerToken*(model.Context-out-besideMemories)))
}

// withoutVector counts memories that have no vector in the agent's space yet, at most as many as a dream reads.
func (o onsetRun) withoutVector(ctx context.Context) (int, error) {
	space, err := o.Memory.Space(ctx, o.Agent)
	if err != nil {
		return 0, err
	}
	items, err := o.Memory.WithoutVector(ctx, o.Agent, space, core.Measurable,
		o.Spec.Knobs.Recent+o.Spec.Knobs.Salient+o.Spec.Knobs.Decaying)
	return len(items), err
}

// remember reads a gathering as the lines of a prompt, with the id of the item behind each line.
func (o onsetRun) remember(ctx context.Context, cycle int) ([]prompt.Line, []string, error) {
	var existing *core.Remembered
	o.Cached(ctx, func(v *core.CachedRun) { existing = v.Shown[cycle] })
	if existing != nil {
		return existing.Lines, existing.Behind, nil
	}
	body, err := o.Note(ctx, gatherNote(cycle))
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
	items, err := o.Again(ctx, ids)
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
	o.Cached(ctx, func(v *core.CachedRun) { v.Shown[cycle] = &core.Remembered{Lines: lines, Behind: behind} })
	return lines, behind, nil
}

// behaviour is the agent's behaviour now: by the vitality set from outside, otherwise by the smallest share left of
// its day's and month's caps. It is empty for a spec without behaviour.
func (o onsetRun) behaviour(ctx context.Context) (dream.Behaviour, error) {
	if o.Spec.Behaviour == "" {
		return "", nil
	}
	agent, err := o.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", o.Agent, err)
	}
	var caps []circadian.Cap
	for _, account := range o.Spec.Accounts {
		if o.Spec.Free || !strings.HasPrefix(account.Scope, "day:") && !strings.HasPrefix(account.Scope, "month:") {
			continue
		}
		balance, err := o.Guard.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return "", fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		caps = append(caps,
			circadian.Cap{Left: max(0, account.Limit-balance.Reserved-balance.Spent), Limit: account.Limit})
	}
	bounds := circadian.DefaultThresholds
	if o.Spec.Thresholds != nil {
		bounds = *o.Spec.Thresholds
	}
	return circadian.BehaviourOf(circadian.Vitality(agent.Vitality, caps...), bounds), nil
}
