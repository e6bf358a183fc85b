package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// LookedUp is what a look at what was lived has decided.
type LookedUp struct {
	Decided []*dream.Prediction `json:"decided"`          // resolved by their checks
	Claims  []*dream.Claim      `json:"claims,omitempty"` // that passed the gate, or ended

	Hypotheses []*dream.Hypothesis `json:"hypotheses,omitempty"` // that were promoted, or ended
}

// LookUp compares an agent's claims, and its open predictions that carry a check, with what was lived, and resolves
// what can be decided by now. What a dream or the agent itself said is no evidence, and neither are copies.
func (k Resolver) LookUp(ctx context.Context, agent string) (LookedUp, error) {
	var found LookedUp
	var open []*dream.Prediction
	var e evidence
	err := retryStale(func() error {
		all, err := Claims(ctx, k.Memory, agent)
		if err != nil {
			return err
		}
		open, err = k.open(ctx, memory.Query{Agent: agent, Sort: memory.Oldest})
		if err != nil {
			return err
		}
		since, any := earliest(all, open)
		if !any {
			return nil
		}
		e, err = k.evidence(ctx, agent, since.Add(-claims.Usual))
		if err != nil {
			return err
		}
		// first, so that each prediction has been counted when it is resolved
		found.Claims, err = k.countClaims(ctx, agent, all, open, e)
		return err
	})
	if err != nil {
		return found, err
	}
	var settled error
	found.Decided, err = k.resolveChecks(ctx, agent, open, e)
	settled = retryStale(func() (err error) {
		found.Hypotheses, err = k.settleHypotheses(ctx, agent)
		return err
	})
	return found, errors.Join(err, settled)
}

// earliest is the time from which on what was lived is needed; false when nothing is to be looked up.
func earliest(all []*dream.Claim, open []*dream.Prediction) (time.Time, bool) {
	var first time.Time
	needs := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, p := range open {
		if p.Check != nil {
			needs(p.At)
		}
	}
	for _, c := range all {
		if !c.Watched() {
			continue
		}
		needs(c.From)
		for _, d := range c.Decoys {
			needs(d.From)
		}
	}
	return first, !first.IsZero()
}

// resolveChecks resolves the open predictions that their checks decide.
func (k Resolver) resolveChecks(ctx context.Context, agent string, open []*dream.Prediction,
	e evidence,
) ([]*dream.Prediction, error) {
	now, covered := k.Now().UTC(), claims.Coverage(e.lived)
	var decided []*dream.Prediction
	var faults []error
	for _, p := range open {
		if !p.Checked() {
			continue
		}
		result := claims.Resolve(*p.Check, p.At, p.Horizon, now, e.lived, covered)
		if result.Outcome == claims.Open {
			continue
		}
		done, err := k.Resolve(ctx, agent, p.ID, prediction.Verdict{
			Status:   string(result.Outcome),
			By:       dream.ByCheck,
			Evidence: quote(*p.Check, result, e.texts),
			Episodes: result.Evidence,
			At:       now,
		})
		switch {
		case errors.Is(err, prediction.ErrResolved), errors.Is(err, memory.ErrNotFound): // somebody was faster
		case err != nil:
			faults = append(faults, fmt.Errorf("resolve %s: %w", p.ID, err))
		case done.Changed:
			decided = append(decided, done.Prediction)
		}
	}
	return decided, errors.Join(faults...)
}

// Checker looks up what was lived for agents whose episodes have changed since it last looked. It is for one goroutine.
type Checker struct {
	Resolver
	Changed func(agent dream.Agent) // when set, is called for an agent whose episodes have changed
	counted map[string]int          // episodes in any state by agent, when it last looked; a correction adds one
}

// Pass looks at each agent and returns how many predictions it resolved. An agent that cannot be read is looked at
// again by the next pass, and does not delay the others.
func (k *Checker) Pass(ctx context.Context, agents []dream.Agent) (int, error) {
	if k.counted == nil {
		k.counted = map[string]int{}
	}
	resolved := 0
	var faults []error
	for _, agent := range agents {
		n, err := memory.CountEpisodes(ctx, k.Memory, agent.ID)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if last, looked := k.counted[agent.ID]; looked && last == n {
			continue
		}
		found, err := k.LookUp(ctx, agent.ID)
		resolved += len(found.Decided)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		k.counted[agent.ID] = n
		if k.Changed != nil {
			k.Changed(agent)
		}
	}
	return resolved, errors.Join(faults...)
}

// evidence are the episodes that a person or a tool gave, oldest first, with their texts and owners by id.
type evidence struct {
	lived  []claims.Episode
	texts  map[string]string
	owners map[string]string // of what was said in a talk
}

// evidence reads what was lived since a time.
func (k Resolver) evidence(ctx context.Context, agent string, since time.Time) (evidence, error) {
	episodes, err := find[*dream.Episode](ctx, k.Memory, "the episodes", dream.KindEpisode,
		memory.Query{Agent: agent, Since: since, Sort: memory.Oldest})
	if err != nil {
		return evidence{}, err
	}
	found := evidence{texts: map[string]string{}, owners: map[string]string{}}
	for _, e := range episodes {
		if !k.isEvidence(e) {
			continue
		}
		found.lived = append(found.lived, claims.Episode{ID: e.ID, At: e.At, Terms: claims.NameOf(e.Content)})
		found.texts[e.ID], found.owners[e.ID] = e.Content, e.Marks().Owner
	}
	found.lived = claims.WithoutCopies(found.lived)
	return found, nil
}

// quote says what decided a check, with the sentences that show it; it is at most prediction.MostEvidence bytes long.
func quote(c dream.Check, r claims.Result, texts map[string]string) string {
	if r.Reason != "" {
		return r.Reason
	}
	names := slices.DeleteFunc([]string{c.When, c.Then}, func(n string) bool { return n == "" })
	silence := silenceOf(c, r)
	var lines []string
	left := prediction.MostEvidence - len(silence) - len("; …; ")
	for _, id := range r.Evidence {
		line := fmt.Sprintf("%q (%s)", strings.Join(claims.Sentences(texts[id], names...), " … "), id)
		left -= len(line) + len("; ")
		if left < 0 {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, line)
	}
	if silence != "" {
		lines = append(lines, silence)
	}
	return strings.Join(lines, "; ")
}

// silenceOf says what did not happen; empty when what the check says happened.
func silenceOf(c dream.Check, r claims.Result) string {
	until := r.At.UTC().Format(time.RFC3339)
	switch happened := (r.Outcome == claims.Right) != c.Not; {
	case happened:
		return ""
	case c.Least > 1:
		return fmt.Sprintf("until %s no %d episodes named %s", until, c.Least, c.Then)
	}
	return fmt.Sprintf("until %s no episode named %s", until, c.Then)
}
