package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// prefixes of ids that are made for items without one.
var prefixes = map[dream.Kind]string{
	dream.KindSemantic: "se_", dream.KindFragment: "fr_", dream.KindScenario: "sc_", dream.KindHypothesis: "hy_",
	dream.KindGist:     "gi_",
	dream.KindPlaybook: "pb_", dream.KindPrediction: "pr_", dream.KindJournal: "jo_", dream.KindRecord: "dr_",
	dream.KindMarker: "ma_", dream.KindProposal: "po_",
}

// itemLine reads anything but an episode, as Export writes it. By hand, at and the text are enough.
func (s *source) itemLine(kind dream.Kind, raw []byte) (dream.Item, error) {
	if !slices.Contains(dream.Kinds, kind) {
		return nil, fmt.Errorf("kind is %q; it must be one of %v", clip(string(kind), 60), dream.Kinds)
	}
	var loose map[string]json.RawMessage
	if err := json.Unmarshal(raw, &loose); err != nil {
		return nil, errors.New(notJSON(err))
	}
	when, reported, err := firstTime(s.zone, loose["at"])
	switch {
	case err != nil:
		return nil, fmt.Errorf("at: %w", err)
	case !reported:
		return nil, errors.New("at is missing; use RFC 3339 such as 2026-03-05T14:30:00Z")
	}
	loose["at"], _ = json.Marshal(when.at)
	body, err := json.Marshal(loose)
	if err != nil {
		return nil, errors.New(notJSON(err))
	}
	item, err := dream.Decode(kind, body)
	if err != nil {
		return nil, errors.New(notJSON(errors.Unwrap(err)))
	}
	head := item.Header()
	head.Agent, head.At = s.agent, when.at
	if head.State == "" {
		head.State = dream.Live
	}
	if head.Taint == "" {
		head.Taint = dream.FromHuman
		if head.Dream != "" {
			head.Taint = dream.FromDream
		}
	}
	if err := errors.Join(checkHead(head), s.complete(item, loose), checkMarks(item)); err != nil {
		return nil, err
	}
	if head.ID == "" {
		head.ID = contentID(prefixes[kind], s.agent, string(kind), when.stamp, item.Text())
	}
	return item, nil
}

// complete cleans the text of an item and gives defaults to what a person would leave out, marked derived.
func (s *source) complete(item dream.Item, values map[string]json.RawMessage) error {
	lacks := func(field string) bool {
		if values[field] != nil {
			return false
		}
		item.Header().Derived = append(item.Header().Derived, field)
		return true
	}
	wash := cleaner(values["id"] != nil && values["agent"] != nil && values["state"] != nil)
	switch it := item.(type) {
	case *dream.Semantic:
		it.Content = wash(it.Content)
		if values["strength"] == nil && lacks("strength") {
			it.Strength = .5
		}
		if values["due"] == nil && s.due != nil && lacks("due") {
			it.Due = s.due(it.At, it.Strength)
		}
		if it.Due.Before(earliest) && !it.Due.IsZero() {
			return fmt.Errorf("due is before %s", earliest.Format("2006-01-02"))
		}
	case *dream.Playbook:
		it.Content = wash(it.Content)
		if lacks("confidence") {
			it.Confidence = .7 // where a hypothesis is promoted
		}
	case *dream.Hypothesis:
		it.Claim = wash(it.Claim)
		if lacks("confidence") {
			it.Confidence = .2 // where a staged hypothesis starts
		}
		if lacks("status") {
			it.Status = dream.HypothesisStaged
		}
	case *dream.Prediction:
		it.Claim = wash(it.Claim)
		if lacks("status") {
			it.Status = dream.PredictionOpen
		}
		if lacks("source") {
			it.Source = dream.Analytical
		}
	case *dream.Fragment:
		it.Content = wash(it.Content)
		if lacks("status") {
			it.Status = dream.FragmentRaw
		}
	case *dream.Scenario:
		it.Content = wash(it.Content)
	case *dream.Gist:
		it.Content = wash(it.Content)
	case *dream.Journal:
		it.Content = wash(it.Content)
	}
	if p, ok := item.(*dream.Prediction); ok && p.Fragment != "" {
		return nil // the fragment says it
	}
	if strings.TrimSpace(item.Text()) == "" && item.Header().Kind != dream.KindRecord {
		return errors.New("the text (content or claim) is empty")
	}
	return nil
}

func checkMarks(item dream.Item) error {
	marks := item.Marks()
	if math.IsNaN(marks.Score) || marks.Score < 0 || marks.Score > 1 {
		return fmt.Errorf("score is %v; strength, confidence, significance and composite must lie between 0 and 1",
			marks.Score)
	}
	switch it := item.(type) {
	case *dream.Semantic:
		return it.Affect.Validate()
	case *dream.Fragment:
		return it.Tone.Validate()
	case *dream.Journal:
		return it.Affect.Validate()
	case *dream.Marker:
		return it.Affect.Validate()
	}
	return nil
}
