package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Ports are the stores and services that all activities use.
type Ports struct {
	Memory  memory.Store
	Guard   *spend.Guard
	Catalog inference.Catalog
	Now     func() time.Time

	Presence presence.Store // kept by the same store as Memory
	WakeBus  presence.WakeBus
	Feeds    memory.Feeds
	Jobs     memory.EmbedQueue // nil: no background embedding
	World    World             // nil: no recorded background, and nothing from outside
	Hooks    Hooks             // the hooks configured in this process

	cache *runCache // nil: every read goes to the store
}

// writing is the time limit of one write to the store.
const writing = 15 * time.Second

const specNote = "order"

// spec reads the frozen spec of a dream.
func (p Ports) spec(ctx context.Context, s Stretch) (Spec, error) {
	var spec Spec
	forgets, err := p.forgettings(ctx, s.Agent)
	if err != nil {
		return spec, err
	}
	p.cache.dropOutdated(s.Dream, forgets)
	var existing *Spec
	p.cache.read(ctx, s.Dream, func(v *cachedRun) { existing = v.spec })
	if existing != nil {
		return *existing, nil
	}
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, specNote)
	if err != nil {
		return spec, fmt.Errorf("read the spec of %s: %w", s.Dream, err)
	}
	if err := json.Unmarshal(body, &spec); err != nil {
		return spec, fmt.Errorf("read the spec of %s: %w", s.Dream, err)
	}
	p.cache.put(ctx, s.Dream, func(v *cachedRun) { v.spec = &spec })
	return spec, nil
}

// forgettings is the number of removals from the agent's memory when the activity began to read.
func (p Ports) forgettings(ctx context.Context, agent string) (int64, error) {
	if r := readingOf(ctx); r.Set {
		return r.Forgettings, nil
	}
	return p.Memory.Forgettings(ctx, agent)
}

// self reads the agent's self-description and the theme of the dream.
func (p Ports) self(ctx context.Context, s Stretch) (prompt.Self, string, error) {
	var existing *prompt.Self
	var theme string
	p.cache.read(ctx, s.Dream, func(v *cachedRun) { existing, theme = v.self, v.theme })
	if existing != nil {
		return *existing, theme, nil
	}
	agent, err := p.Memory.Agent(ctx, s.Agent)
	if err != nil {
		return prompt.Self{}, "", fmt.Errorf("read agent %s: %w", s.Agent, err)
	}
	record, err := memory.One[*dream.Record](ctx, p.Memory, s.Agent, s.Dream)
	if err != nil {
		return prompt.Self{}, "", err
	}
	self := prompt.Self{Handle: agent.Handle, Persona: agent.Persona, Interests: agent.Interests}
	p.cache.put(ctx, s.Dream, func(v *cachedRun) { v.self, v.theme = &self, record.Theme })
	return self, record.Theme, nil
}

// call is one paid model call.
type call struct {
	spec        Spec
	phase       dream.Phase
	limit       budget.Micros // the phase's
	step        string        // unique in the phase: "2/partial-1"
	role        dream.Role
	text        prompt.Text
	behind      []string // ids of the items that the text contains
	temperature float64
	minP        bool
	seed        int64
	tokens      int

	logProbs bool // token probabilities are wanted, if the model gives them

	stretch Stretch  // on whose behalf the call is made
	tone    mood.PAD // the mood of the dream
}

func (c call) key() string { return c.spec.Dream + "/" + string(c.phase) + "/" + c.step }

func (c call) charge(step string) spend.Charge {
	accounts := append([]budget.Account{{Scope: PhaseScope(c.spec.Dream, c.phase), Limit: c.limit}}, c.spec.Accounts...)
	return spend.Charge{
		Step:        step,
		Agent:       c.spec.Agent,
		Dream:       c.spec.Dream,
		Phase:       string(c.phase),
		Day:         c.spec.Day,
		Accounts:    accounts,
		RequestedAt: c.stretch.Now,
	}
}

func (c call) request() inference.Request {
	k := c.spec.Knobs
	r := inference.Request{
		Model: c.spec.Models[c.role],
		Messages: []inference.Message{
			{Role: "system", Content: c.text.System},
			{Role: "user", Content: c.text.User()},
		},
		Sampling:  inference.Sampling{Temperature: &c.temperature, Seed: &c.seed},
		MaxTokens: c.tokens, Reasoning: k.ReasoningTokens, IdleToken: k.IdleToken,
		LogProbs: c.logProbs,
	}
	if c.minP {
		r.Sampling.MinP = &k.MinP
	}
	if c.phase == dream.Onset && c.role == dream.Generator { // only generated ideas are steered, judgements never
		r.Steering = c.spec.Steering
	}
	if c.text.Schema != nil {
		r.Schema = &inference.Schema{Name: c.text.Name, JSON: c.text.Schema}
	}
	return r
}

// ask buys one answer of at most c.tokens visible tokens. Reaching a cap or being cancelled is returned as a Done,
// not as an error.
func (p Ports) ask(ctx context.Context, c call) (spend.PaidAnswer, Done, error) {
	return p.buy(ctx, c, c.key(), c.request())
}

func (p Ports) buy(ctx context.Context, c call, key string, r inference.Request) (spend.PaidAnswer, Done, error) {
	ctx, done := withHeartbeat(ctx)
	defer done()
	began := p.now(c.stretch)
	charge := c.charge(key)
	charge.StillNeeded = func(ctx context.Context) error { return p.unchanged(ctx, c.spec.Agent) }
	var cut *Cut
	charge.OnPartial = func(broken spend.PaidAnswer) {
		if _, woken := wokenBy(ctx); woken || canceled(ctx) {
			cut = p.cut(ctx, c.stretch, c, broken, began)
		}
	}
	paid, err := p.Guard.Generate(ctx, charge, r, func(string) bool { return true })
	if err == nil {
		return paid, Done{Reused: paid.Reused}, nil
	}
	d, err := p.ended(ctx, r.Model, err)
	if d.End == EndWoken || d.End == EndCut {
		d.Cut = cut
		if cut == nil { // the call ended before it reached the model
			d.Cut = p.cut(ctx, c.stretch, c, paid, began)
		}
	}
	return paid, d, err
}

// unreadable is why an answer could not be used; its text stays out of the history.
const unreadable = "the answer could not be read, nor its repair"

// askFor buys an answer that must be one JSON value, with one attempt at a repair, whose cost is added.
func (p Ports) askFor(ctx context.Context, c call, into any) (spend.PaidAnswer, Done, error) {
	paid, done, err := p.ask(ctx, c)
	if err != nil || done.End != EndDone {
		return paid, done, err
	}
	problem := inference.ReadJSON(paid.Text, into)
	if problem == nil {
		return paid, done, nil
	}
	r := c.request()
	r.Messages = append(r.Messages, inference.Repair(problem, paid.Text)...)
	again, done, err := p.buy(ctx, c, c.key()+"/repair", r)
	if err != nil || done.End != EndDone {
		return paid, done, err
	}
	again.Cost += paid.Cost
	if problem := inference.ReadJSON(again.Text, into); problem != nil {
		return again, Done{End: EndUnreadable, Reason: unreadable}, nil
	}
	return again, done, nil
}

// embed buys vectors for texts and checks that they belong to the agent's space.
func (p Ports) embed(ctx context.Context, c call, step string, texts []string) (inference.Vectors, Done, error) {
	ctx, done := withHeartbeat(ctx)
	defer done()
	// the step contains the texts, because vectors of other texts are useless
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	key := c.spec.Dream + "/" + string(c.phase) + "/" + step + "-" + hex.EncodeToString(sum[:6])
	charge := c.charge(key)
	charge.StillNeeded = func(ctx context.Context) error { return p.unchanged(ctx, c.spec.Agent) }
	vectors, err := p.Guard.Embed(ctx, charge, c.spec.Models[dream.Embedder], texts)
	if err == nil && len(vectors.V) != len(texts) {
		err = &inference.Failure{
			Kind: inference.Malformed, Billed: true,
			Message: fmt.Sprintf("%d vectors for %d texts", len(vectors.V), len(texts)),
		}
	}
	if err == nil {
		return vectors, Done{}, nil
	}
	d, err := p.ended(ctx, c.spec.Models[dream.Embedder], err)
	return vectors, d, err
}

// ended sorts what stopped a paid call: reaching a cap and being cancelled are ends, everything else is a failure.
func (p Ports) ended(ctx context.Context, model string, err error) (Done, error) {
	if over, ok := spend.AsOverCap(err); ok {
		return Done{End: EndCap, Scope: over.Scope, Reason: over.Error()}, nil
	}
	if _, woken := wokenBy(ctx); woken {
		return Done{End: EndWoken, Reason: "woken"}, nil
	}
	if canceled(ctx) {
		return Done{End: EndCut, Reason: "cancelled"}, nil
	}
	if forgottenMeanwhile(err) {
		return Done{}, err
	}
	if activity.IsActivity(ctx) {
		text := err.Error()
		if failure, ok := inference.AsFailure(err); ok { // a provider's own message may quote the prompt
			activity.GetLogger(ctx).Debug("a call failed; the provider's own words", "model", model, "error", err)
			text = brief(failure)
		}
		activity.GetLogger(ctx).Warn("a call failed", "model", model, "error", text)
	}
	return Done{}, &callFailed{model, err}
}

// write adds to the store, fenced by the stretch.
func (p Ports) write(ctx context.Context, s Stretch, w memory.Write) error {
	// what was paid for is written even if the caller has gone
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	defer cancel()
	w, err := p.held(ctx, s, w)
	if err != nil {
		return err
	}
	w.Agent, w.Cause = s.Agent, s.Dream
	w.Fence = s.fence()
	if _, err := p.Memory.Commit(ctx, w); err != nil {
		return fmt.Errorf("write what %s made: %w", s.Dream, err)
	}
	return nil
}

// now is the later of the clock and the workflow's time, which runs ahead when a test server skips idle time.
func (p Ports) now(s Stretch) time.Time {
	if now := p.Now(); now.After(s.Now) {
		return now
	}
	return s.Now
}

// event makes an event whose id derives from the activity's name, so that a repeated activity announces once.
func (p Ports) event(s Stretch, activityName string, payload event.Payload) event.Event {
	return event.New(s.Dream+"/"+activityName+"/"+payload.EventType(), s.Agent, s.Dream, p.now(s), payload)
}

// head is the common part of the items that a dream makes.
func head(spec Spec, phase dream.Phase, kind dream.Kind, step string, sources []string) dream.Head {
	return dream.Head{
		ID:      spec.Dream + "/" + string(phase) + "/" + step,
		Agent:   spec.Agent,
		Kind:    kind,
		At:      spec.AsOf,
		State:   dream.Live,
		Taint:   dream.FromDream,
		Dream:   spec.Dream,
		Phase:   phase,
		Sources: sources,
	}
}
