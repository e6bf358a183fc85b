package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Onset has the activities of the onset: induction, Dali cycles and lucid capture.
type Onset struct{ Ports }

// StepRequest is the part of a request that most paid steps share.
type StepRequest struct {
	Stretch
	Limit       budget.Micros `json:"limit"` // the phase's cap
	Cycle       int           `json:"cycle,omitempty"`
	Turn        int           `json:"turn,omitempty"`
	Temperature float64       `json:"heat"`
	Source      int           `json:"source,omitempty"` // the cycle whose gathering is used
	Drift       float64       `json:"drift,omitempty"`  // for a judge: the temperature of the partial
	Tone        mood.PAD      `json:"tone"`

	Phase dream.Phase `json:"phase,omitempty"` // the phase that embeds memories; empty: the onset

	// the stage of the step; empty: derived from the temperature, and the peak for a partial
	Stage dream.Stage `json:"stage,omitempty"`
}

// StepResult is what a paid step made.
type StepResult struct {
	Done
	Made []Made `json:"made,omitempty"`

	// nothing was done: another process is embedding what is needed
	Waiting bool `json:"waiting,omitempty"`

	Ideas int `json:"ideas,omitempty"` // number of partials that one call produced, as turns 1, 2, … of its cycle
}

func fragmentStep(cycle, turn int) string { return fmt.Sprintf("%d.%d", cycle, turn) }

// batch is how many texts one embedding call carries.
const batch = 64

// Place embeds memories that have no vector, so that distances can be measured: with half of the memory unembedded,
// everything would seem new. It makes one call of at most a batch. If another process embeds them in the background,
// it waits for that for a while.
func (o *Onset) Place(ctx context.Context, r StepRequest) (StepResult, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if result, waits, err := o.awaitEmbedding(ctx, spec); waits || err != nil {
		return result, toApplicationError(err)
	}
	space, err := o.Memory.Space(ctx, r.Agent)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	items, err := o.Memory.WithoutVector(ctx, r.Agent, space, measurable, batch)
	if err != nil || len(items) == 0 {
		return StepResult{Done: Done{NoCall: err == nil}}, toApplicationError(err)
	}
	c := call{
		spec:    spec,
		phase:   cmp.Or(r.Phase, dream.Onset),
		limit:   r.Limit,
		tone:    r.Tone,
		stretch: r.Stretch,
	}
	vectors, done, err := o.place(ctx, c, fmt.Sprintf("place-%d", r.Turn), items)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	return StepResult{Made: make([]Made, len(vectors))},
		toApplicationError(o.write(ctx, r.Stretch, memory.Write{Vectors: vectors}))
}

// The longest wait of one activity for background embedding, and the interval of its checks.
const (
	awaitEmbeddingFor = 20 * time.Second
	embeddingLook     = 200 * time.Millisecond
)

// awaitEmbedding waits until no other process embeds the agent's memories. waits is true when one still does, or when
// the dream was woken or cancelled meanwhile.
func (p Ports) awaitEmbedding(ctx context.Context, spec Spec) (result StepResult, waits bool, err error) {
	if p.Jobs == nil {
		return StepResult{}, false, nil
	}
	ctx, done := withHeartbeat(ctx)
	defer done()
	look := time.NewTicker(embeddingLook)
	defer look.Stop()
	enough := time.NewTimer(min(awaitEmbeddingFor, spec.Knobs.CallTimeout/2))
	defer enough.Stop()
	for {
		j, err := p.Jobs.EmbedJob(ctx, spec.Agent)
		switch {
		case errors.Is(err, memory.ErrNotFound) || err == nil && !j.Live(p.Now()):
			return StepResult{}, false, nil
		case err != nil && ctx.Err() == nil:
			return StepResult{}, false, err
		}
		select {
		case <-look.C:
		case <-enough.C:
			return StepResult{Waiting: true, Done: Done{NoCall: true}}, true, nil
		case <-ctx.Done():
			d, err := p.ended(ctx, spec.Models[dream.Embedder], ctx.Err())
			return StepResult{Done: d}, true, err
		}
	}
}

// place buys the vectors of items that lack them or are about to be written.
func (p Ports) place(ctx context.Context, c call, step string, items []dream.Item) ([]memory.Vector, Done, error) {
	if len(items) == 0 {
		return nil, Done{}, nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	got, done, err := p.embed(ctx, c, step, texts)
	if err != nil || done.End != EndDone {
		return nil, done, err
	}
	vectors := make([]memory.Vector, len(items))
	for i, item := range items {
		vectors[i] = memory.Vector{Item: item.Header().ID, Space: got.Space, V: got.V[i]}
	}
	return vectors, Done{}, nil
}

type inducedFragments struct {
	Fragments []struct {
		Text        string   `json:"text"`
		Sources     []string `json:"sources"`
		Probability *float64 `json:"probability"`
	} `json:"fragments"`
}

// Induce makes the one call of the induction and compares its fragments with memory.
func (o *Onset) Induce(ctx context.Context, r StepRequest) (StepResult, error) {
	spec, text, behind, err := o.prepare(ctx, r)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	c := call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        "induction",
		role:        dream.Generator,
		text:        prompt.Induce(text),
		behind:      behind,
		temperature: hypnagogia.PartialTemperature(spec.Loosening[dream.Generator], r.Temperature),
		minP:        true,
		seed:        seedOf(spec, dream.Onset, 0, 0),
		tokens:      spec.Knobs.AnswerTokens,
	}
	var answer inducedFragments
	paid, done, err := o.askFor(ctx, c, &answer)
	if err != nil || done.End != EndDone {
		return StepResult{Done: done}, toApplicationError(err)
	}
	var fragments []*dream.Fragment
	for i, f := range answer.Fragments {
		if strings.TrimSpace(f.Text) == "" {
			continue
		}
		set := settings(c, paid.Effective)
		set.Probability, set.Steering = stated(f.Probability), paid.Steered
		fragments = append(fragments, &dream.Fragment{
			Head: head(spec, dream.Onset, dream.KindFragment, fragmentStep(0, i+1),
				sourcesOf(f.Sources, text.Lines, behind)),
			Content: f.Text, Tone: r.Tone, Stage: cmp.Or(r.Stage, hypnagogia.StageAt(r.Temperature)), Settings: set,
		})
	}
	return o.judgeMeasured(ctx, r, c, fragments)
}

// Partial makes one partial completion that is cut off or, for a model that is loosened by words, all partials of a
// cycle. The text stays in the spend ledger until it is judged.
func (o *Onset) Partial(ctx context.Context, r StepRequest) (StepResult, error) {
	spec, text, behind, err := o.prepare(ctx, r)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	if hypnagogia.Verbal(spec.Loosening[dream.Generator]) {
		return o.verbalise(ctx, spec, r, text, behind)
	}
	c := o.partialCall(spec, r, text)
	c.behind = behind
	_, done, err := o.ask(ctx, c)
	return StepResult{Done: done}, toApplicationError(err)
}

// partialCall is the call of one partial.
func (o *Onset) partialCall(spec Spec, r StepRequest, text prompt.Onset) call {
	return call{
		spec:        spec,
		phase:       dream.Onset,
		limit:       r.Limit,
		tone:        r.Tone,
		stretch:     r.Stretch,
		step:        partialStep(r.Cycle, r.Turn),
		role:        dream.Generator,
		text:        prompt.Partial(text, seedWords(spec, r, text.Lines, 3)),
		logProbs:    true,
		temperature: hypnagogia.PartialTemperature(spec.Loosening[dream.Generator], r.Temperature),
		minP:        true,
		seed:        seedOf(spec, dream.Onset, r.Cycle, r.Turn),
		tokens:      spec.Knobs.PartialTokens,
	}
}

// seedWords are words of randomly chosen memories: noise that works with every model.
func seedWords(spec Spec, r StepRequest, lines []prompt.Line, n int) []string {
	dice := hypnagogia.Dice(spec.Seed, dream.Onset, r.Cycle, r.Turn, "seed words")
	var words []string
	for range min(n, len(lines)) {
		words = append(words, journal.Topics(lines[dice.IntN(len(lines))].Text, 1)...)
	}
	return words
}

func partialStep(cycle, turn int) string { return fmt.Sprintf("%d/partial-%d", cycle, turn) }

// prepare reads what the prompts of an onset step show.
func (o *Onset) prepare(ctx context.Context, r StepRequest) (Spec, prompt.Onset, []string, error) {
	spec, err := o.spec(ctx, r.Stretch)
	if err != nil {
		return spec, prompt.Onset{}, nil, err
	}
	self, theme, err := o.self(ctx, r.Stretch)
	if err != nil {
		return spec, prompt.Onset{}, nil, err
	}
	lines, behind, err := o.remember(ctx, r.Stretch, r.Source)
	if err != nil {
		return spec, prompt.Onset{}, nil, err
	}
	world, err := o.letIn(ctx, spec, r)
	text := prompt.Onset{Self: self, Theme: theme, Lines: lines, World: world}
	if hypnagogia.Verbal(spec.Loosening[dream.Generator]) {
		text.Rare = hypnagogia.Rare
	}
	return spec, text, behind, err
}

// seedOf derives the provider's seed of a call from the dream's dice; it fits the 32 bits that providers accept.
func seedOf(spec Spec, phase dream.Phase, cycle, step int) int64 {
	return int64(hypnagogia.Dice(spec.Seed, phase, cycle, step, "provider seed").Uint32() >> 1)
}

// settings are the settings of a call as they are stored with its items.
func settings(c call, effective string) dream.Settings {
	s := dream.Settings{
		Model: c.spec.Models[c.role], Temperature: &c.temperature, Effective: effective,
		Loosening: c.spec.Loosening[c.role],
	}
	if c.minP {
		s.MinP = &c.spec.Knobs.MinP
	}
	return s
}
