package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Sizes of what a model is asked about predictions.
const (
	predictionsAtOnce = 8   // most predictions in a call
	episodesAtOnce    = 4   // most episodes shown with each
	callsAtOnce       = 20  // most calls in one pass over an agent
	refusedAtOnce     = 8   // most calls that a provider refuses in one pass over an agent
	searched          = 40  // episodes that a search returns, before those that are no evidence are left out
	shownOfEpisode    = 560 // letters of an episode, beside its day
	tokensOfVerdict   = 160 // of the answer, for each prediction
	tokensOfAnswer    = 64  // of the answer, beside the verdicts
)

// Judge asks a model whether what was lived shows that predictions came true. It decides nothing by itself: a verdict
// counts only with a sentence that a program finds word for word in an episode that is evidence, was lived after the
// prediction was made and not after its horizon, and was shown. What no episode speaks of stays open.
type Judge struct {
	Resolver
	Guard    *spend.Guard
	Model    string // of agents that have no observer of their own, "provider/model"
	AutoPaid bool   // a model that costs money may be asked although nobody requested it
	Holder   string // identifies this process among those that judge
	// Accounts are the caps on an agent's day, YYYY-MM-DD in its zone, which pay beside the judge's own.
	Accounts func(agent dream.Agent, day string) []budget.Account
}

// Judgement is what one pass over an agent's predictions came to.
type Judgement struct {
	Decided  []*dream.Prediction `json:"decided"`
	Model    string              `json:"model,omitempty"`
	Compared int                 `json:"compared"` // predictions that the model was asked about
	Calls    int                 `json:"calls"`
	Cost     budget.Micros       `json:"cost_micros"`
	Ignored  []IgnoredVerdict    `json:"ignored"` // verdicts that do not count
	Left     int                 `json:"left"`    // predictions with episodes that the model has not seen yet
	Refused  int                 `json:"refused"` // of these, those that the provider refuses to take
	// Reason says why the model was not asked, or not about all; empty when nothing is left.
	Reason string `json:"reason,omitempty"`
	Capped bool   `json:"capped,omitempty"` // the reason is a cap
}

// IgnoredVerdict is a model's verdict that does not count.
type IgnoredVerdict struct {
	Prediction string `json:"prediction_id"`
	Verdict    string `json:"verdict"`
	Reason     string `json:"reason"`
}

// JudgeScope is the spend account of judging an agent's predictions on a day.
func JudgeScope(agent, day string) string { return "judge:" + agent + "/" + day }

// JudgePhase is the phase of the judge's calls in the spend ledger.
const JudgePhase = "judge"

// Asks returns the model that judges the predictions of an agent; empty, with the reason, when none does. requested
// says that a person asked for it.
func (j Judge) Asks(agent dream.Agent, requested bool) (inference.Spec, string) {
	if j.Guard == nil {
		return inference.Spec{}, "this process has no models"
	}
	if j.Rules.JudgeDaily <= 0 {
		return inference.Spec{}, "predictions.judge_daily is $0.00"
	}
	spec, err := j.Guard.Catalog.Lookup(cmp.Or(agent.Models[dream.Observer], j.Model))
	switch {
	case err != nil:
		return inference.Spec{}, err.Error()
	case spec.BuiltIn || !spec.Judges:
		return inference.Spec{}, fmt.Sprintf(
			"%s, the observer, cannot judge: predictions in prose stay open until a person or a tool resolves them", spec.Name)
	case spec.Price == nil:
		return inference.Spec{}, fmt.Sprintf("%s, the observer, has no price", spec.Name)
	case !requested && *spec.Price != (budget.Price{}) && !j.AutoPaid:
		return inference.Spec{}, fmt.Sprintf(
			"%s costs money and consent.auto_paid is off; oneiros predictions check --agent %s asks it", spec.Name,
			agent.Handle)
	}
	return spec, ""
}

// Once asks about every open prediction in prose that an episode matches which the model was not shown with it before.
// What a pass before has bought and not used, it uses first. A request that the provider refuses is made again in
// halves, until only the prediction that it refuses is left out. Any other error of the model or a cap ends the pass,
// as Reason says; the error is one of the store.
func (j Judge) Once(ctx context.Context, agent dream.Agent, requested bool) (Judgement, error) {
	done := Judgement{Decided: []*dream.Prediction{}, Ignored: []IgnoredVerdict{}}
	spec, reason := j.Asks(agent, requested)
	if reason != "" {
		done.Reason = reason
		return done, nil
	}
	done.Model = spec.Name
	forgettings, err := j.Memory.Forgettings(ctx, agent.ID)
	if err != nil {
		return done, fmt.Errorf("read what was forgotten: %w", err)
	}
	p := &judging{
		Judge:   j,
		agent:   agent,
		spec:    spec,
		reading: memory.SeenForgettings{Set: true, Forgettings: forgettings},
		done:    &done,
	}
	p.Resolver.reading = p.reading
	if err := p.load(ctx); err != nil {
		return done, err
	}
	err = p.run(ctx)
	if err == nil {
		err = p.sweep(ctx)
	}
	return done, err
}

// judging is one pass over an agent's predictions.
type judging struct {
	Judge
	agent   dream.Agent
	spec    inference.Spec
	reading memory.SeenForgettings
	done    *Judgement

	open  map[string]*dream.Prediction // in prose, by id
	plans []plan                       // bought or about to be, and not used yet
	seen  map[string]map[string]bool   // ids of the episodes that were shown with a prediction
	used  map[string]plan              // by key of their notes
	shown map[string]*dream.Episode    // by id
	now   time.Time

	refusals int // calls that the provider refused
}

// load reads the open predictions in prose and what the model was asked about them before.
func (j *judging) load(ctx context.Context) error {
	j.now = j.Now().UTC()
	open, err := j.Resolver.open(ctx, memory.Query{Agent: j.agent.ID, Sort: memory.SoonestDue})
	if err != nil {
		return err
	}
	items := make([]dream.Item, 0, len(open))
	j.open = map[string]*dream.Prediction{}
	for _, p := range open {
		if prediction.IsProse(p) {
			items = append(items, p)
			j.open[p.ID] = p
		}
	}
	if err := memory.ReadClaims(ctx, j.Memory, j.agent.ID, items); err != nil {
		return err
	}
	return j.loadPlans(ctx)
}

// run finishes what is planned, then plans and makes calls until nothing is left or something stops it.
func (j *judging) run(ctx context.Context) error {
	for _, p := range j.plans {
		stop, err := j.finish(ctx, p)
		if refused, ok := errors.AsType[refusedRequest](err); ok {
			stop, err = j.leaveOut(refused, p)
		}
		if stop || err != nil {
			return err
		}
	}
	waiting, err := j.unseen(ctx)
	if err != nil {
		return err
	}
	for len(waiting) > 0 {
		j.done.Left = len(waiting) + j.done.Refused
		if j.done.Calls >= callsAtOnce {
			j.done.Reason = fmt.Sprintf("%d calls were made in one pass; the next goes on", callsAtOnce)
			return nil
		}
		batch, err := j.fit(ctx, waiting[:min(len(waiting), predictionsAtOnce)])
		if err != nil || len(batch) == 0 {
			return err
		}
		if stop, err := j.compare(ctx, batch); stop || err != nil {
			return err
		}
		waiting = waiting[len(batch):]
	}
	j.done.Left = j.done.Refused
	if j.done.Refused > 0 {
		j.done.Reason = fmt.Sprintf("%s refuses to be asked about them", j.spec.Name)
	}
	return nil
}

// compare asks about a batch, and where the provider refuses the request, about its halves. It reports whether the pass
// must stop.
func (j *judging) compare(ctx context.Context, batch []matched) (bool, error) {
	p := j.planOf(batch)
	stop, err := j.finish(ctx, p)
	refused, ok := errors.AsType[refusedRequest](err)
	switch {
	case !ok:
		return stop, err
	case len(batch) == 1:
		return j.leaveOut(refused, p)
	}
	stop, err = j.countRefusal(refused)
	for half := range slices.Chunk(batch, (len(batch)+1)/2) {
		if !stop && err == nil {
			stop, err = j.compare(ctx, half)
		}
	}
	return stop, err
}

// refusedRequest is the error of a call that the provider refuses to take, such as for its content or its size.
type refusedRequest struct{ reason string }

func (r refusedRequest) Error() string { return r.reason }

// leaveOut leaves the predictions of a refused call out of this pass.
func (j *judging) leaveOut(r refusedRequest, p plan) (bool, error) {
	for _, each := range p.Predictions {
		if j.open[each.ID] == nil {
			continue
		}
		j.done.Refused++
		j.ignore(each.ID, "", r.reason)
	}
	return j.countRefusal(r)
}

// countRefusal reports whether the pass must stop, since a provider that refuses so many calls refuses them all.
func (j *judging) countRefusal(r refusedRequest) (bool, error) {
	j.refusals++
	if j.refusals < refusedAtOnce {
		return false, nil
	}
	j.done.Reason = fmt.Sprintf("%d calls of one pass were refused, the last because %s", j.refusals, r.reason)
	return true, nil
}

// matched is a prediction with the episodes that match it and were not shown with it before.
type matched struct {
	*dream.Prediction
	episodes []*dream.Episode
	score    float64 // of the best
}

// unseen are the open predictions that unseen episodes match, the soonest due first, then the best match.
func (j *judging) unseen(ctx context.Context) ([]matched, error) {
	if len(j.open) == 0 {
		return nil, nil
	}
	finder, err := j.newFinder(ctx)
	if err != nil || len(finder.evidence) == 0 {
		return nil, err
	}
	var waiting []matched
	for _, p := range j.open {
		if p.Claim == "" { // its fragment was forgotten
			continue
		}
		m, err := finder.match(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(m.episodes) > 0 {
			waiting = append(waiting, m)
		}
	}
	slices.SortFunc(waiting, func(a, b matched) int {
		return cmp.Or(a.Horizon.Truncate(24*time.Hour).Compare(b.Horizon.Truncate(24*time.Hour)),
			cmp.Compare(b.score, a.score), cmp.Compare(a.ID, b.ID))
	})
	return waiting, nil
}

// fit cuts a batch to what the caps and the model's window hold; it sets the reason where not even one prediction fits.
func (j *judging) fit(ctx context.Context, batch []matched) ([]matched, error) {
	var over *spend.OverCap
	for n := len(batch); n > 0; n /= 2 {
		request := j.request(j.planOf(batch[:n]))
		prompt := inference.CountPrompt(j.spec, request)
		out := int64(request.MaxTokens) + spend.Overrun
		if j.spec.Reasoning {
			out += int64(request.Reasoning)
		}
		if j.spec.Context > 0 && prompt+out > int64(j.spec.Context) {
			continue
		}
		ask := spend.Ask{Amount: j.spec.Price.Worst(prompt, out), Accounts: j.accounts()}
		balances := map[string]spend.Balance{}
		for _, a := range ask.Accounts {
			b, err := j.Guard.Ledger.Balance(ctx, a.Scope)
			if err != nil {
				return nil, fmt.Errorf("read account %s: %w", a.Scope, err)
			}
			balances[a.Scope] = b
		}
		err := ask.Check(balances)
		if err == nil {
			return batch[:n], nil
		}
		if !errors.As(err, &over) {
			return nil, err
		}
	}
	j.done.Reason = fmt.Sprintf("one prediction with its episodes does not fit into the %d tokens of %s", j.spec.Context,
		j.spec.Name)
	if over != nil {
		j.done.Reason, j.done.Capped = over.Error(), true
	}
	return nil, nil
}

// day is the agent's day, in its zone.
func (j *judging) day() string {
	zone, err := time.LoadLocation(j.agent.Zone)
	if err != nil {
		zone = time.UTC
	}
	return j.now.In(zone).Format(time.DateOnly)
}

func (j *judging) accounts() []budget.Account {
	day := j.day()
	own := budget.Account{Scope: JudgeScope(j.agent.ID, day), Limit: j.Rules.JudgeDaily}
	if j.Accounts == nil {
		return []budget.Account{own}
	}
	return append([]budget.Account{own}, j.Accounts(j.agent, day)...)
}
