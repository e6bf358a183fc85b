package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

const (
	answerWithin = 3 * time.Minute // the longest that a call may take
	callWithin   = 5 * time.Minute // after which another process takes over a call that was not finished
)

// Keys of the agent's notes about its judge: calls that are planned and not used yet, and those that are used.
const (
	plannedCall = "judge/"
	usedCall    = "judged/"
)

// plan is one call: which episodes are shown with which predictions. It is noted before the call and used after it, so
// that a process that dies in between loses no answer and buys none twice.
type plan struct {
	Holder      string    `json:"holder,omitempty"` // the process that makes the call
	At          time.Time `json:"at"`
	Model       string    `json:"model"`
	Predictions []planned `json:"predictions"`

	digest string // identifies the call, whichever process makes it
}

// planned is a prediction with the episodes that are shown with it.
type planned struct {
	ID       string   `json:"id"`
	Episodes []string `json:"episodes"`
}

func (p plan) isMine(holder string) bool { return p.Holder == holder }

// episodes are the ids of all episodes of a call, in the order of their references e1, e2, ….
func (p plan) episodes() []string {
	var ids []string
	for _, each := range p.Predictions {
		ids = append(ids, each.Episodes...)
	}
	return dream.DistinctIDs(ids)
}

// planOf plans a call, and remembers what it shows.
func (j *judging) planOf(batch []matched) plan {
	p := plan{Holder: j.Holder, At: j.now, Model: j.spec.Name}
	for _, m := range batch {
		each := planned{ID: m.ID}
		for _, e := range m.episodes {
			each.Episodes = append(each.Episodes, e.ID)
			j.shown[e.ID] = e
		}
		p.Predictions = append(p.Predictions, each)
	}
	body, err := json.Marshal([]any{p.Model, p.Predictions})
	if err != nil { // names and ids only
		panic("review: plan a call: " + err.Error())
	}
	sum := sha256.Sum256(body)
	p.digest = hex.EncodeToString(sum[:12])
	return p
}

// step names the call in the spend ledger.
func (j *judging) step(p plan) string { return "judge/" + j.agent.ID + "/" + p.digest }

// loadPlans reads the notes about the agent's judge.
func (j *judging) loadPlans(ctx context.Context) error {
	j.seen, j.used, j.shown = map[string]map[string]bool{}, map[string]plan{}, map[string]*dream.Episode{}
	for _, prefix := range []string{plannedCall, usedCall} {
		notes, err := j.Memory.Notes(ctx, j.agent.ID, "", prefix)
		if err != nil {
			return fmt.Errorf("read what %s was asked about predictions: %w", j.spec.Name, err)
		}
		for key, body := range notes {
			var p plan
			if err := json.Unmarshal(body, &p); err != nil {
				return fmt.Errorf("read the note %s of %s: %w", key, j.agent.Handle, err)
			}
			p.digest = key[len(prefix):]
			if prefix == usedCall {
				j.used[key] = p
				j.markSeen(p)
				continue
			}
			j.plans = append(j.plans, p)
		}
	}
	slices.SortFunc(j.plans, func(a, b plan) int { return a.At.Compare(b.At) })
	return nil
}

// markSeen notes in this pass that the model was shown what a call shows.
func (j *judging) markSeen(p plan) {
	for _, each := range p.Predictions {
		if j.seen[each.ID] == nil {
			j.seen[each.ID] = map[string]bool{}
		}
		for _, id := range each.Episodes {
			j.seen[each.ID][id] = true
		}
	}
}

// finish makes a planned call, unless it was made before, and uses its answer. It reports whether the pass must stop.
func (j *judging) finish(ctx context.Context, p plan) (bool, error) {
	begun, err := j.begin(ctx, p)
	if err == nil && !begun {
		return false, nil
	}
	var outcomes []outcome
	stop := false
	if err == nil {
		outcomes, stop, err = j.ask(ctx, p)
	}
	if err == nil && !stop {
		err = j.use(ctx, p, outcomes)
	}
	switch {
	case errors.Is(err, memory.ErrForgotten): // the next pass reads the memory again, and asks again
		j.done.Reason = "something was forgotten meanwhile; the next pass asks again"
		return true, nil
	case err != nil || stop:
		return true, err
	}
	return false, j.close(ctx, p)
}

// begin notes a call that is to be made; false when another process makes it, or nothing of it is needed any more.
func (j *judging) begin(ctx context.Context, p plan) (bool, error) {
	needed := p.Model == j.spec.Name && slices.ContainsFunc(p.Predictions,
		func(each planned) bool { return j.open[each.ID] != nil })
	if !needed {
		return false, j.Memory.DropNotes(ctx, j.agent.ID, "", []string{plannedCall + p.digest})
	}
	j.markSeen(p)
	mine := p
	mine.Holder, mine.At = j.Holder, j.now
	body, err := json.Marshal(mine)
	if err != nil {
		return false, fmt.Errorf("note a call: %w", err)
	}
	stored, err := j.Memory.PutNote(ctx, j.agent.ID, memory.Fence{Read: j.reading}, plannedCall+p.digest, body)
	if err != nil {
		return false, fmt.Errorf("note a call: %w", err)
	}
	var first plan
	if err := json.Unmarshal(stored, &first); err != nil {
		return false, fmt.Errorf("read the note %s of %s: %w", plannedCall+p.digest, j.agent.Handle, err)
	}
	if !first.isMine(j.Holder) && j.now.Sub(first.At) < callWithin {
		_, answered, err := j.Guard.Ledger.Answer(ctx, j.step(p))
		if err != nil || !answered {
			j.done.Reason = "another process is asking"
			return false, err
		}
	}
	return true, j.readShown(ctx, p)
}

// readShown reads the episodes of a call that are not at hand.
func (j *judging) readShown(ctx context.Context, p plan) error {
	var missing []string
	for _, id := range p.episodes() {
		if j.shown[id] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	items, err := j.Memory.Get(ctx, j.agent.ID, missing...)
	if err != nil {
		return fmt.Errorf("read the episodes of a call: %w", err)
	}
	for _, e := range memory.As[*dream.Episode](items) {
		j.shown[e.ID] = e
	}
	return nil
}

// request is what the model is asked. What is no evidence any more, and predictions that are not open any more, are
// left out; the references of the others stay.
func (j *judging) request(p plan) inference.Request {
	var o prompt.OutcomesInput
	refs, claimed := map[string]string{}, ""
	for _, each := range p.Predictions {
		if open := j.open[each.ID]; open != nil {
			claimed += open.Claim + "\n" + open.Criterion + "\n"
		}
	}
	for i, id := range p.episodes() {
		e := j.shown[id]
		if e == nil || !j.isEvidence(e) {
			continue
		}
		refs[id] = fmt.Sprintf("e%d", i+1)
		o.Memories = append(o.Memories, prompt.Line{
			Ref:  refs[id],
			Text: e.At.UTC().Format(time.DateOnly) + ": " + claims.Excerpt(e.Content, claimed, shownOfEpisode),
		})
	}
	for i, each := range p.Predictions {
		open := j.open[each.ID]
		if open == nil {
			continue
		}
		f := prompt.Foretold{
			Ref:       fmt.Sprintf("p%d", i+1),
			Claim:     open.Claim,
			Criterion: open.Criterion,
			Made:      open.At.UTC().Format(time.DateOnly),
			Due:       open.Horizon.UTC().Format(time.DateOnly),
		}
		for _, id := range each.Episodes {
			if refs[id] != "" {
				f.Memories = append(f.Memories, refs[id])
			}
		}
		o.Predictions = append(o.Predictions, f)
	}
	text := prompt.Outcomes(o)
	knobs, cold := dream.DefaultKnobs(), 0.0
	return inference.Request{
		Model: j.spec.Name,
		Messages: []inference.Message{
			{Role: "system", Content: text.System},
			{Role: "user", Content: text.User()},
		},
		Sampling:  inference.Sampling{Temperature: &cold},
		MaxTokens: tokensOfAnswer + tokensOfVerdict*len(p.Predictions),
		Reasoning: knobs.ReasoningTokens,
		IdleToken: knobs.IdleToken,
		Schema:    &inference.Schema{Name: text.Name, JSON: text.Schema},
	}
}

// outcome is what the model says of a prediction.
type outcome struct {
	Ref       string `json:"ref"`
	Verdict   string `json:"verdict"`
	Memory    string `json:"memory"`
	Quotation string `json:"quotation"`
}

// ask buys the answer of a call, or reads the one that was bought before. An answer that cannot be read, nor its
// repair, says nothing. It reports whether the pass must stop, for the reason that it sets.
func (j *judging) ask(ctx context.Context, p plan) ([]outcome, bool, error) {
	var answer struct {
		Outcomes []outcome `json:"outcomes"`
	}
	request := j.request(p)
	paid, stop, err := j.buy(ctx, p, j.step(p), request)
	if err != nil || stop {
		return nil, stop, err
	}
	problem := inference.ReadJSON(paid.Text, &answer)
	if problem == nil {
		return answer.Outcomes, false, nil
	}
	request.Messages = append(request.Messages, inference.Repair(problem, paid.Text)...)
	paid, stop, err = j.buy(ctx, p, j.step(p)+"/repair", request)
	if err != nil || stop {
		return nil, stop, err
	}
	answer.Outcomes = nil
	if problem := inference.ReadJSON(paid.Text, &answer); problem != nil {
		for _, each := range p.Predictions {
			j.ignore(each.ID, "", "the answer could not be read, nor its repair")
		}
		return nil, false, nil
	}
	return answer.Outcomes, false, nil
}

// buy makes one paid call.
func (j *judging) buy(ctx context.Context, p plan, step string,
	request inference.Request,
) (spend.PaidAnswer, bool, error) {
	inTime, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	paid, err := j.Guard.Generate(inTime, spend.Charge{
		Step:        step,
		Agent:       j.agent.ID,
		Phase:       JudgePhase,
		Day:         j.day(),
		Accounts:    j.accounts(),
		RequestedAt: j.now,
		StillNeeded: func(ctx context.Context) error {
			forgettings, err := j.Memory.Forgettings(ctx, j.agent.ID)
			if err == nil && j.reading.Stale(forgettings) {
				err = memory.ErrForgotten
			}
			return err
		},
	}, request, func(string) bool { return true })
	_, isOver := spend.AsOverCap(err)
	failure, isFailure := inference.AsFailure(err)
	switch {
	case err == nil:
		if !paid.Reused {
			j.done.Calls++
			j.done.Cost += paid.Cost
		}
		return paid, false, nil
	case ctx.Err() != nil:
		return paid, true, context.Cause(ctx)
	case isOver:
		j.done.Reason, j.done.Capped = err.Error(), true
	case isFailure && failure.Kind == inference.BadRequest:
		if err := j.unplan(ctx, p); err != nil {
			return paid, true, err
		}
		return paid, true, refusedRequest{j.spec.Name + ": " + failure.Error()}
	case isFailure:
		j.done.Reason = j.spec.Name + ": " + failure.Error()
	case inTime.Err() != nil:
		j.done.Reason = fmt.Sprintf("%s gave no answer within %s", j.spec.Name, answerWithin)
	default:
		return paid, true, err
	}
	return paid, true, j.unplan(ctx, p)
}

// unplan drops the note of a call that was not made, even where ctx has ended.
func (j *judging) unplan(ctx context.Context, p plan) error {
	err := j.Memory.DropNotes(context.WithoutCancel(ctx), j.agent.ID, "", []string{plannedCall + p.digest})
	if err != nil {
		return fmt.Errorf("drop the note of a call: %w", err)
	}
	return nil
}

// use writes the verdicts of an answer that count. Writing them twice changes nothing.
func (j *judging) use(ctx context.Context, p plan, outcomes []outcome) error {
	byRef := map[string][]outcome{}
	for _, o := range outcomes {
		byRef[o.Ref] = append(byRef[o.Ref], o)
	}
	ids := p.episodes()
	items, err := j.Memory.Get(ctx, j.agent.ID, ids...) // what was forgotten since is not there
	if err != nil {
		return fmt.Errorf("read the episodes of a call: %w", err)
	}
	now := map[string]*dream.Episode{}
	for _, e := range memory.As[*dream.Episode](items) {
		now[e.ID] = e
	}
	var faults []error
	for i, each := range p.Predictions {
		open := j.open[each.ID]
		if open == nil {
			continue
		}
		j.done.Compared++
		verdicts := map[string]prediction.Verdict{}
		for _, o := range byRef[fmt.Sprintf("p%d", i+1)] {
			if o.Verdict == dream.PredictionOpen {
				continue
			}
			v, reason := j.verdict(open, o, ids, now)
			if reason != "" {
				j.ignore(open.ID, o.Verdict, reason)
				continue
			}
			if _, found := verdicts[v.Status]; !found {
				verdicts[v.Status] = v
			}
		}
		if len(verdicts) > 1 {
			j.ignore(open.ID, "", "the answer says both correct and incorrect")
			continue
		}
		for _, v := range verdicts {
			faults = append(faults, j.write(ctx, open, v))
		}
	}
	return errors.Join(faults...)
}

// verdict is what an outcome decides, or the reason why it counts for nothing.
func (j *judging) verdict(p *dream.Prediction, o outcome, shown []string,
	episodes map[string]*dream.Episode,
) (prediction.Verdict, string) {
	if o.Verdict != dream.PredictionRight && o.Verdict != dream.PredictionWrong {
		return prediction.Verdict{}, "the verdict is none of correct, incorrect and open"
	}
	number, err := strconv.Atoi(strings.TrimPrefix(o.Memory, "e"))
	if err != nil || number < 1 || number > len(shown) {
		return prediction.Verdict{}, "it names no episode that was shown"
	}
	e := episodes[shown[number-1]]
	switch {
	case e == nil:
		return prediction.Verdict{}, "the episode that it names was forgotten"
	case !j.isEvidence(e):
		return prediction.Verdict{}, e.ID + " is no evidence"
	case !inTime(p, e.At):
		return prediction.Verdict{}, e.ID + " was not lived between the prediction and its horizon"
	}
	quotation, found := claims.Quoted(e.Content, o.Quotation)
	if !found {
		return prediction.Verdict{}, "the quotation is no whole sentence of " + e.ID + ", word for word"
	}
	return prediction.Verdict{
		Status:   o.Verdict,
		By:       dream.ByJudge + j.spec.Name,
		Evidence: fmt.Sprintf("%q (%s)", quotation, e.ID),
		Episodes: []string{e.ID},
		At:       j.now,
	}, ""
}

// write writes a verdict, unless the prediction was resolved meanwhile.
func (j *judging) write(ctx context.Context, p *dream.Prediction, v prediction.Verdict) error {
	done, err := j.Resolve(ctx, j.agent.ID, p.ID, v)
	switch {
	case errors.Is(err, prediction.ErrResolved), errors.Is(err, memory.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("resolve %s: %w", p.ID, err)
	case done.Changed:
		j.done.Decided = append(j.done.Decided, done.Prediction)
	}
	delete(j.open, p.ID)
	return nil
}

func (j *judging) ignore(id, verdict, reason string) {
	j.done.Ignored = append(j.done.Ignored, IgnoredVerdict{Prediction: id, Verdict: verdict, Reason: reason})
}

// close notes that the answer of a call was used.
func (j *judging) close(ctx context.Context, p plan) error {
	body, err := json.Marshal(plan{At: p.At, Model: p.Model, Predictions: p.Predictions})
	if err != nil {
		return fmt.Errorf("note a used call: %w", err)
	}
	if _, err := j.Memory.PutNote(ctx, j.agent.ID, memory.Fence{}, usedCall+p.digest, body); err != nil {
		return fmt.Errorf("note a used call: %w", err)
	}
	j.used[usedCall+p.digest] = p
	return j.Memory.DropNotes(ctx, j.agent.ID, "", []string{plannedCall + p.digest})
}

// sweep drops the notes of calls whose predictions are all decided.
func (j *judging) sweep(ctx context.Context) error {
	var over []string
	for key, p := range j.used {
		if !slices.ContainsFunc(p.Predictions, func(each planned) bool { return j.open[each.ID] != nil }) {
			over = append(over, key)
		}
	}
	if err := j.Memory.DropNotes(ctx, j.agent.ID, "", over); err != nil {
		return fmt.Errorf("drop the notes of used calls: %w", err)
	}
	return nil
}
