package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// isStrict says whether hypotheses in prose may be promoted.
func (k Resolver) isStrict() bool { return k.Rules.Gate == dream.GateStrict }

// settleHypotheses gives the staged and promoted hypotheses of an agent the status that their claims have come to,
// lets those lapse that nothing can decide any more, archives playbook entries whose hypothesis is gone, and predicts
// anew what promoted hypotheses in prose say, so that they stay watched. All of it is written at once, or nothing is.
// It returns the hypotheses that changed.
func (k Resolver) settleHypotheses(ctx context.Context, agent string) ([]*dream.Hypothesis, error) {
	held, err := find[*dream.Hypothesis](ctx, k.Memory, "the hypotheses", dream.KindHypothesis, memory.Query{
		Agent: agent, Sort: memory.Oldest, Statuses: []string{dream.HypothesisStaged, dream.HypothesisPromoted},
	})
	if err != nil {
		return nil, err
	}
	s := settling{k: k, agent: agent, now: k.Now().UTC(), hypotheses: held}
	s.write.Agent, s.write.Cause = agent, dream.ByCheck
	if err := s.archiveEntries(ctx); err != nil {
		return nil, err
	}
	if len(s.hypotheses) > 0 {
		if err := s.settleAll(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.write.Add)+len(s.write.Change) == 0 {
		return nil, nil
	}
	if _, err := k.Memory.Commit(ctx, s.write); err != nil {
		return nil, fmt.Errorf("settle the hypotheses of %s: %w", agent, err)
	}
	return s.moved, nil
}

// settling collects what one look at the hypotheses writes.
type settling struct {
	k          Resolver
	agent      string
	now        time.Time
	hypotheses []*dream.Hypothesis
	write      memory.Write
	moved      []*dream.Hypothesis
}

func (s *settling) settleAll(ctx context.Context) error {
	open, err := s.k.open(ctx, memory.Query{Agent: s.agent})
	if err != nil {
		return err
	}
	all, err := Claims(ctx, s.k.Memory, s.agent)
	if err != nil {
		return err
	}
	claimed := map[string]*dream.Claim{}
	for _, c := range all {
		claimed[c.ID] = c
	}
	for _, h := range s.hypotheses {
		isOpen := slices.ContainsFunc(open, func(p *dream.Prediction) bool { return prediction.RestsOn(h, p) })
		switch {
		case s.followClaims(h, claimed):
		case h.Status == dream.HypothesisPromoted && h.InProse() && !isOpen:
			if err := s.watch(ctx, h); err != nil {
				return err
			}
		case h.Status == dream.HypothesisStaged:
			reason := prediction.Lapse(h, prediction.Prospect{
				Open: isOpen, Tried: isTried(h, claimed), Strict: s.k.isStrict(),
			}, s.now)
			if reason != "" {
				s.become(h, dream.HypothesisLapsed, reason)
			}
		}
	}
	return nil
}

func isTried(h *dream.Hypothesis, claimed map[string]*dream.Claim) bool {
	return slices.ContainsFunc(h.Claims, func(id string) bool { return claimed[id] != nil && claimed[id].Watched() })
}

// followClaims gives a hypothesis the status that its claims have come to, and reports whether that changed it.
func (s *settling) followClaims(h *dream.Hypothesis, claimed map[string]*dream.Claim) bool {
	if h.InProse() {
		return false
	}
	passed, entries, rate := 0, []string(nil), 1.0
	for _, id := range h.Claims {
		c := claimed[id]
		if c == nil {
			continue
		}
		status := map[string]string{
			dream.ClaimDropped: dream.HypothesisRefuted,
			dream.ClaimRetired: dream.HypothesisRetired,
			dream.ClaimLapsed:  dream.HypothesisLapsed,
		}[c.Status]
		if status != "" {
			s.become(h, status, cmp.Or(c.Reason, "its claim is "+c.Status))
			return true
		}
		if c.Status == dream.ClaimPassed {
			passed, rate = passed+1, min(rate, c.Marks().Score)
			entries = append(entries, c.Playbook)
		}
	}
	if passed < len(h.Claims) || h.Status == dream.HypothesisPromoted {
		return false
	}
	h.Playbook, h.Confidence = entries, rate
	s.become(h, dream.HypothesisPromoted, "")
	return true
}

// become gives a hypothesis another status, with its event.
func (s *settling) become(h *dream.Hypothesis, status, reason string) {
	prediction.Become(h, status, reason, s.now)
	s.moved, s.write.Change = append(s.moved, h), append(s.write.Change, h)
	s.write.Events = append(s.write.Events, event.New(
		strings.Join([]string{"hypothesis", h.ID, strconv.Itoa(h.Revision), event.HypothesisChanged{}.EventType()}, "/"),
		s.agent, "", s.now, hypothesisChanged(h, "")))
}

func hypothesisChanged(h *dream.Hypothesis, predictionID string) event.HypothesisChanged {
	return event.HypothesisChanged{
		Hypothesis: h.ID,
		Prediction: predictionID,
		Confidence: h.Confidence,
		Status:     h.Status,
		Reason:     h.Reason,
		Claims:     h.Claims,
		Playbook:   h.Playbook,
	}
}

// archiveEntries archives the playbook entries of hypotheses that are promoted no longer: their dream was undone, or a
// person archived them.
func (s *settling) archiveEntries(ctx context.Context) error {
	entries, err := playbookOf(ctx, s.k.Memory, s.agent)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		isPromoted := slices.ContainsFunc(s.hypotheses, func(h *dream.Hypothesis) bool {
			return h.ID == entry.Hypothesis && h.Status == dream.HypothesisPromoted
		})
		if entry.Hypothesis == "" || entry.ID != entryOf(entry.Hypothesis) || isPromoted {
			continue
		}
		entry.State = dream.Archived
		s.write.Change = append(s.write.Change, entry)
		s.write.Events = append(s.write.Events, event.New(
			strings.Join([]string{"playbook", entry.ID, strconv.Itoa(entry.Revision), event.ItemArchived{}.EventType()}, "/"),
			s.agent, "", s.now, event.ItemArchived{Item: entry.ID, Kind: entry.Kind, Reason: event.Unfounded}))
	}
	return nil
}

// A prediction of what a promoted hypothesis says is open for so long, at least and at most, and is made by watcher.
const (
	leastWatch = 7 * 24 * time.Hour
	mostWatch  = 90 * 24 * time.Hour
	watcher    = dream.ByTool + "gate"
)

// watch predicts once more what a promoted hypothesis in prose says, with the criterion and for as long as the newest
// prediction that it rests on.
func (s *settling) watch(ctx context.Context, h *dream.Hypothesis) error {
	ids := make([]string, len(h.Outcomes))
	for i, o := range h.Outcomes {
		ids[i] = o.Prediction
	}
	items, err := s.k.Memory.Get(ctx, s.agent, ids...)
	if err != nil {
		return fmt.Errorf("read what %s rests on: %w", h.ID, err)
	}
	earlier := memory.As[*dream.Prediction](items)
	if len(earlier) == 0 { // all were forgotten
		return nil
	}
	last := earlier[len(earlier)-1]
	p := &dream.Prediction{
		Head: dream.Head{
			ID:      "pr_" + digest(h.ID+"\x00"+s.now.Format(time.DateOnly)),
			Agent:   s.agent,
			Kind:    dream.KindPrediction,
			At:      s.now,
			State:   dream.Live,
			Taint:   dream.FromAgent,
			Sources: []string{h.ID},
		},
		Source:     dream.Analytical,
		Claim:      h.Claim,
		Criterion:  last.Criterion,
		Horizon:    s.now.Add(min(mostWatch, max(leastWatch, last.Horizon.Sub(last.At)))),
		Confidence: rateOf(h),
		Session:    watcher,
		Trace:      "it was promoted, and is watched",
		Status:     dream.PredictionOpen,
	}
	s.write.Add = append(s.write.Add, p)
	return nil
}

// rateOf is the share of a hypothesis's independent outcomes that came true, drawn towards one half.
func rateOf(h *dream.Hypothesis) float64 {
	hits, of := prediction.Held(h)
	return float64(hits+1) / float64(of+2)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// entryOf is the id of the playbook entry of a hypothesis in prose.
func entryOf(hypothesis string) string { return "pb_" + digest(hypothesis) }

// writeEntry adds to a write the playbook entry of a hypothesis in prose that has been promoted, with how it has held;
// the entry of one that is promoted no longer is archived.
func (k Resolver) writeEntry(ctx context.Context, w *memory.Write, h *dream.Hypothesis) error {
	id := entryOf(h.ID)
	if !h.InProse() || h.Status != dream.HypothesisPromoted && !slices.Contains(h.Playbook, id) {
		return nil
	}
	h.Playbook = []string{id}
	hits, of := prediction.Held(h)
	entry := &dream.Playbook{
		Head: dream.Head{
			ID:      id,
			Agent:   h.Agent,
			Kind:    dream.KindPlaybook,
			At:      h.Promoted,
			State:   dream.Live,
			Taint:   dream.FromAgent,
			Sources: []string{h.ID},
		},
		Hypothesis: h.ID,
		Confidence: rateOf(h),
		Content: fmt.Sprintf("%s (dreamt; held %d of %d times since %s, not measured against chance)",
			strings.TrimSuffix(strings.TrimSpace(h.Claim), "."), hits, of, h.At.UTC().Format("2 January 2006")),
	}
	if h.Status != dream.HypothesisPromoted {
		entry.State = dream.Archived
	}
	return putEntry(ctx, k.Memory, w, entry, h.Owners)
}

// rootSteps is how many steps back the episodes lie that a hypothesis rests on: by its scenario and the fragment, or
// the knowledge, behind it.
const rootSteps = 5

// roots are the episodes that items go back to.
func (k Resolver) roots(ctx context.Context, agent string, ids []string) ([]*dream.Episode, error) {
	var episodes []*dream.Episode
	seen := map[string]bool{}
	for range rootSteps {
		var next []string
		for _, id := range ids {
			if id != "" && !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
		if len(next) == 0 {
			break
		}
		items, err := k.Memory.Get(ctx, agent, next...)
		if err != nil {
			return nil, fmt.Errorf("read what was foretold from: %w", err)
		}
		ids = nil
		for _, item := range items {
			switch i := item.(type) {
			case *dream.Episode:
				episodes = append(episodes, i)
			case *dream.Prediction:
				ids = append(append(ids, i.Episodes...), i.Sources...)
				ids = append(ids, i.Fragment, i.Scenario)
			default:
				ids = append(ids, i.Header().Sources...)
			}
		}
	}
	return episodes, nil
}

// support is what the outcome of a prediction rests on, with the owners of the talks that it is from. What the
// prediction of a person or a tool rests on is its author, where it names no episode.
func (k Resolver) support(ctx context.Context, p *dream.Prediction) (prediction.Support, []string, error) {
	from := prediction.Support{Events: prediction.EventsOf(p), Guessed: p.Guessed}
	lived, err := k.roots(ctx, p.Agent, p.Episodes)
	if err != nil {
		return from, nil, err
	}
	decided, err := k.roots(ctx, p.Agent, p.DecidedBy)
	if err != nil {
		return from, nil, err
	}
	for _, e := range lived {
		if k.isEvidence(e) {
			from.Sources = append(from.Sources, e.ID)
		}
	}
	switch {
	case p.Session == watcher: // each tries anew what was promoted
		from.Sources = []string{p.ID}
	case len(lived) == 0 && p.Source == dream.Analytical && p.Dream == "":
		from.Sources = []string{p.Session}
	}
	return from, ownersOf(append(lived, decided...)), nil
}

// ownersOf are the owners of the talks that episodes are from, each once.
func ownersOf(episodes []*dream.Episode) []string {
	var owners []string
	for _, e := range episodes {
		if owner := e.Marks().Owner; owner != "" && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// own adds to a hypothesis whose talks it is from: those behind its sources, and those given.
func (k Resolver) own(ctx context.Context, h *dream.Hypothesis, owners []string) error {
	lived, err := k.roots(ctx, h.Agent, h.Sources)
	if err != nil {
		return err
	}
	h.Owners = dream.DistinctIDs(slices.Concat(h.Owners, ownersOf(lived), owners))
	return nil
}
