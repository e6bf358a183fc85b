// Package core holds what the activities of all phases share: the run of a dream with its spec, paid calls, memories
// that the dream chose, and writes under its policy and review.
package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/inflight"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// writing is the time limit of one write to the store.
const writing = 15 * time.Second

// SpecNote is the key of the note that holds a dream's spec. Stored dreams have it: it cannot change.
const SpecNote = "order"

// Run is what an activity of a dream works with: the ports, the stretch that it belongs to, and the dream's spec.
type Run struct {
	activities.Ports
	activities.Stretch
	Spec activities.Spec // empty until it is read
}

// At returns a run whose spec is not read.
func At(p activities.Ports, s activities.Stretch) *Run { return &Run{Ports: p, Stretch: s} }

// Open returns the run of a stretch with the spec of its dream.
func Open(ctx context.Context, p activities.Ports, s activities.Stretch) (*Run, error) {
	r := At(p, s)
	return r, r.Load(ctx)
}

// Load reads the spec, unless it was read already.
func (r *Run) Load(ctx context.Context) error {
	if r.Spec.Dream != "" {
		return nil
	}
	forgets, err := forgettings(ctx, r)
	if err != nil {
		return err
	}
	CacheOf(r.Ports).dropOutdated(r.Dream, forgets)
	var existing *activities.Spec
	r.Cached(ctx, func(v *CachedRun) { existing = v.spec })
	if existing != nil {
		r.Spec = *existing
		return nil
	}
	body, err := r.Note(ctx, SpecNote)
	if err != nil {
		return fmt.Errorf("read the spec of %s: %w", r.Dream, err)
	}
	var spec activities.Spec
	if err := json.Unmarshal(body, &spec); err != nil {
		return fmt.Errorf("read the spec of %s: %w", r.Dream, err)
	}
	r.Cached(ctx, func(v *CachedRun) { v.spec = &spec })
	r.Spec = spec
	return nil
}

// forgettings is the number of removals from the agent's memory when the activity began to read.
func forgettings(ctx context.Context, r *Run) (int64, error) {
	if seen := seenForgettings(ctx); seen.Set {
		return seen.Forgettings, nil
	}
	return r.Memory.Forgettings(ctx, r.Agent)
}

// Self reads the agent's self-description and the theme of the dream.
func (r *Run) Self(ctx context.Context) (prompt.Self, string, error) {
	var existing *prompt.Self
	var theme string
	r.Cached(ctx, func(v *CachedRun) { existing, theme = v.self, v.theme })
	if existing != nil {
		return *existing, theme, nil
	}
	agent, err := r.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return prompt.Self{}, "", fmt.Errorf("read agent %s: %w", r.Agent, err)
	}
	record, err := r.Record(ctx)
	if err != nil {
		return prompt.Self{}, "", err
	}
	self := prompt.Self{Handle: agent.Handle, Persona: agent.Persona, Interests: agent.Interests}
	r.Cached(ctx, func(v *CachedRun) { v.self, v.theme = &self, record.Theme })
	return self, record.Theme, nil
}

// Call is one paid model call.
type Call struct {
	Phase       dream.Phase
	Limit       budget.Micros // the phase's
	Step        string        // unique in the phase: "2/partial-1"
	Role        dream.Role
	Text        prompt.Text
	Behind      []string // ids of the items that the text contains
	Temperature float64
	MinP        bool
	Seed        int64
	Tokens      int

	LogProbs bool        // token probabilities are wanted, if the model gives them
	Stage    dream.Stage // of the onset; deeper stages are steered more. Empty: as at the peak

	Tone mood.PAD // the mood of the dream
}

// Key identifies the step of a call in the spend ledger.
func (r *Run) Key(c Call) string { return r.Dream + "/" + string(c.Phase) + "/" + c.Step }

// Charge says which accounts a call is booked under.
func (r *Run) Charge(c Call, step string) spend.Charge {
	accounts := append([]budget.Account{{Scope: activities.PhaseScope(r.Dream, c.Phase), Limit: c.Limit}},
		r.Spec.Accounts...)
	return spend.Charge{
		Step:        step,
		Agent:       r.Agent,
		Dream:       r.Dream,
		Phase:       string(c.Phase),
		Day:         r.Spec.Day,
		Accounts:    accounts,
		RequestedAt: r.Stretch.Now,
		StillNeeded: r.unchanged,
	}
}

// Request is what a provider is sent for a call.
func (r *Run) Request(c Call) inference.Request {
	k := r.Spec.Knobs
	request := inference.Request{
		Model: r.Spec.Models[c.Role],
		Messages: []inference.Message{
			{Role: "system", Content: c.Text.System},
			{Role: "user", Content: c.Text.User()},
		},
		Sampling:  inference.Sampling{Temperature: &c.Temperature, Seed: &c.Seed},
		MaxTokens: c.Tokens, Reasoning: k.ReasoningTokens, IdleToken: k.IdleToken,
		LogProbs: c.LogProbs,
	}
	if c.MinP {
		request.Sampling.MinP = &k.MinP
	}
	if c.Phase == dream.Onset && c.Role == dream.Generator { // only generated ideas are steered, judgements never
		request.Steering = steering(r, c.Stage)
	}
	if c.Text.Schema != nil {
		request.Schema = &inference.Schema{Name: c.Text.Name, JSON: c.Text.Schema}
	}
	return request
}

// steering is the steering of ideas at a stage. A server that steers by the model's name has its own strength, which no
// request changes.
func steering(r *Run, stage dream.Stage) *inference.Steering {
	full := r.Spec.Steering
	if full == nil {
		return nil
	}
	model, err := r.Catalog.Lookup(r.Spec.Models[dream.Generator])
	if err == nil && model.Steers != nil && model.Steers.Alias != "" {
		return full
	}
	scaled := *full
	scaled.Alpha = math.Round(1000*full.Alpha*hypnagogia.Steer(stage)) / 1000
	return &scaled
}

// Ask buys one answer of at most c.Tokens visible tokens. Reaching a cap or being cancelled is returned as a
// CallOutcome, not as an error.
func (r *Run) Ask(ctx context.Context, c Call) (spend.PaidAnswer, activities.CallOutcome, error) {
	return r.Buy(ctx, c, r.Key(c), r.Request(c))
}

// Buy makes a call once: an answer that was paid for before is returned again.
func (r *Run) Buy(ctx context.Context, c Call, key string,
	request inference.Request,
) (spend.PaidAnswer, activities.CallOutcome, error) {
	ctx, done := WithHeartbeat(ctx)
	defer done()
	began := r.Now()
	charge := r.Charge(c, key)
	var cut *activities.CutCall
	charge.OnPartial = func(broken spend.PaidAnswer) {
		if _, woken := inflight.WokenBy(ctx); woken || canceled(ctx) {
			cut = r.Cut(ctx, c, broken, began)
		}
	}
	paid, err := r.Guard.Generate(ctx, charge, request, func(string) bool { return true })
	if err == nil {
		return paid, activities.CallOutcome{Reused: paid.Reused}, nil
	}
	d, err := r.ended(ctx, request.Model, err)
	if d.End == activities.EndWoken || d.End == activities.EndCut {
		d.Cut = cut
		if cut == nil { // the call ended before it reached the model
			d.Cut = r.Cut(ctx, c, paid, began)
		}
	}
	return paid, d, err
}

// Unreadable is why an answer could not be used; its text stays out of the history.
const Unreadable = "the answer could not be read, nor its repair"

// AskFor buys an answer that must be one JSON value, with one attempt at a repair, whose cost is added.
func (r *Run) AskFor(ctx context.Context, c Call, into any) (spend.PaidAnswer, activities.CallOutcome, error) {
	paid, done, err := r.Ask(ctx, c)
	if err != nil || done.End != activities.EndDone {
		return paid, done, err
	}
	problem := inference.ReadJSON(paid.Text, into)
	if problem == nil {
		return paid, done, nil
	}
	request := r.Request(c)
	request.Messages = append(request.Messages, inference.Repair(problem, paid.Text)...)
	again, done, err := r.Buy(ctx, c, r.Key(c)+Repairing, request)
	if err != nil || done.End != activities.EndDone {
		return paid, done, err
	}
	again.Cost += paid.Cost
	if problem := inference.ReadJSON(again.Text, into); problem != nil {
		return again, activities.CallOutcome{End: activities.EndUnreadable, Reason: Unreadable}, nil
	}
	return again, done, nil
}

// Embed buys vectors for texts and checks that they belong to the agent's space.
func (r *Run) Embed(ctx context.Context, c Call, step string,
	texts []string,
) (inference.Vectors, activities.CallOutcome, error) {
	ctx, done := WithHeartbeat(ctx)
	defer done()
	// the step contains the texts, because vectors of other texts are useless
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	key := r.Dream + "/" + string(c.Phase) + "/" + step + "-" + hex.EncodeToString(sum[:6])
	vectors, err := r.Guard.Embed(ctx, r.Charge(c, key), r.Spec.Models[dream.Embedder], texts)
	if err == nil && len(vectors.V) != len(texts) {
		err = &inference.Failure{
			Kind: inference.Malformed, Billed: true,
			Message: fmt.Sprintf("%d vectors for %d texts", len(vectors.V), len(texts)),
		}
	}
	if err == nil {
		return vectors, activities.CallOutcome{}, nil
	}
	d, err := r.ended(ctx, r.Spec.Models[dream.Embedder], err)
	return vectors, d, err
}

// ended sorts what stopped a paid call: reaching a cap and being cancelled are ends, everything else is a failure.
func (r *Run) ended(ctx context.Context, model string, err error) (activities.CallOutcome, error) {
	if over, ok := spend.AsOverCap(err); ok {
		return activities.CallOutcome{End: activities.EndCap, Scope: over.Scope, Reason: over.Error()}, nil
	}
	if _, woken := inflight.WokenBy(ctx); woken {
		return activities.CallOutcome{End: activities.EndWoken, Reason: "woken"}, nil
	}
	if canceled(ctx) {
		return activities.CallOutcome{End: activities.EndCut, Reason: "cancelled"}, nil
	}
	if forgottenMeanwhile(err) {
		return activities.CallOutcome{}, err
	}
	if activity.IsActivity(ctx) {
		text := err.Error()
		if failure, ok := inference.AsFailure(err); ok { // a provider's own message may quote the prompt
			activity.GetLogger(ctx).Debug("a call failed; the provider's own words", "model", model, "error", err)
			text = activities.Brief(failure)
		}
		activity.GetLogger(ctx).Warn("a call failed", "model", model, "error", text)
	}
	return activities.CallOutcome{}, &activities.CallFailed{Model: model, Err: err}
}

// Write adds to the store, fenced by the stretch.
func (r *Run) Write(ctx context.Context, w memory.Write) error {
	// what was paid for is written even if the caller has gone
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	defer cancel()
	w, err := r.Held(ctx, w)
	if err != nil {
		return err
	}
	w.Agent, w.Cause = r.Agent, r.Dream
	w.Fence = r.Fence()
	if _, err := r.Memory.Commit(ctx, w); err != nil {
		return fmt.Errorf("write what %s made: %w", r.Dream, err)
	}
	return nil
}

// Remaining is what accounts still allow.
func Remaining(ctx context.Context, r *Run, accounts []budget.Account) (budget.Micros, error) {
	left := budget.Unlimited
	for _, account := range accounts {
		if account.Limit == budget.Unlimited {
			continue
		}
		balance, err := r.Guard.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return 0, fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		left = min(left, max(0, account.Limit-balance.Reserved-balance.Spent))
	}
	return left, nil
}

// Record reads the record of the dream.
func (r *Run) Record(ctx context.Context) (*dream.Record, error) {
	return memory.One[*dream.Record](ctx, r.Memory, r.Agent, r.Dream)
}

// Get reads items of the agent.
func (r *Run) Get(ctx context.Context, ids ...string) ([]dream.Item, error) {
	return r.Memory.Get(ctx, r.Agent, ids...)
}

// Note reads a note of the dream.
func (r *Run) Note(ctx context.Context, key string) ([]byte, error) {
	return r.Memory.Note(ctx, r.Agent, r.Dream, key)
}

// PutNote keeps a note of the dream and returns the one that is kept: the first.
func (r *Run) PutNote(ctx context.Context, key string, body []byte) ([]byte, error) {
	return r.Memory.PutNote(ctx, r.Agent, r.Fence(), key, body)
}

// FreeSlot frees the agent's dreaming slot if the stretch holds it.
func (r *Run) FreeSlot(ctx context.Context) error { return r.Memory.FreeSlot(ctx, r.Agent, r.Fence()) }

// Now is the later of the clock and the workflow's time, which runs ahead when a test server skips idle time.
func (r *Run) Now() time.Time {
	if now := r.Ports.Now(); now.After(r.Stretch.Now) {
		return now
	}
	return r.Stretch.Now
}

// Event makes an event whose id derives from the activity's name, so that a repeated activity announces once.
func (r *Run) Event(activityName string, payload event.Payload) event.Event {
	return event.New(r.Dream+"/"+activityName+"/"+payload.EventType(), r.Agent, r.Dream, r.Now(), payload)
}

// Head is the common part of the items that a dream makes.
func (r *Run) Head(phase dream.Phase, kind dream.Kind, step string, sources []string) dream.Head {
	return dream.Head{
		ID:      r.Dream + "/" + string(phase) + "/" + step,
		Agent:   r.Agent,
		Kind:    kind,
		At:      r.Spec.AsOf,
		State:   dream.Live,
		Taint:   dream.FromDream,
		Dream:   r.Dream,
		Phase:   phase,
		Sources: sources,
	}
}

// DepthNote is the note that freezes the depth of a dream.
const DepthNote = "depth"

// WorldNote freezes the readings of the agent's feed at the beginning of the dream.
const WorldNote = "world"
