package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// prefixes of ids that are made for items without one.
var prefixes = map[dream.Kind]string{
	dream.KindSemantic: "se_", dream.KindFragment: "fr_", dream.KindScenario: "sc_", dream.KindHypothesis: "hy_",
	dream.KindGist:     "gi_",
	dream.KindPlaybook: "pb_", dream.KindPrediction: "pr_", dream.KindJournal: "jo_", dream.KindRecord: "dr_",
	dream.KindMarker: "ma_", dream.KindProposal: "po_", dream.KindClaim: "cl_",
}

// itemLine reads anything but an episode, as Export writes it. By hand, at and the text are enough.
func (s *Source) itemLine(kind dream.Kind, raw []byte) (dream.Item, error) {
	if !slices.Contains(dream.Kinds, kind) {
		return nil, fmt.Errorf("kind is %q; it must be one of %v", derive.Clip(kind.String(), 60), dream.KindNames())
	}
	var loose map[string]json.RawMessage
	if err := json.Unmarshal(raw, &loose); err != nil {
		return nil, errors.New(notJSON(err))
	}
	when, err := s.happened(loose["at"])
	if err != nil {
		return nil, err
	}
	derived := s.fill(kind, when.at, loose)
	body, err := json.Marshal(loose)
	if err != nil {
		return nil, errors.New(notJSON(err))
	}
	item, err := dream.Decode(kind, body)
	if err != nil {
		return nil, errors.New(notJSON(errors.Unwrap(err)))
	}
	item.Header().Derived = append(item.Header().Derived, derived...)
	head := item.Header()
	head.Agent, head.At = s.Agent, when.at
	if head.State == "" {
		head.State = dream.Live
	}
	assumeTaint(head)
	if err := errors.Join(checkHead(head), checkText(item), checkMarks(item)); err != nil {
		return nil, err
	}
	if head.ID == "" {
		head.ID = derive.ContentID(prefixes[kind], s.Agent, string(kind), when.stamp, item.Text())
	}
	return item, nil
}

// defaults are what a person would leave out of an item, as JSON.
var defaults = []struct {
	kind         dream.Kind
	field, value string
}{
	{dream.KindSemantic, "strength", "0.5"},
	{dream.KindPlaybook, "confidence", "0.7"},   // where a hypothesis is promoted
	{dream.KindHypothesis, "confidence", "0.2"}, // where a staged hypothesis starts
	{dream.KindHypothesis, "status", `"staged"`},
	{dream.KindPrediction, "status", `"open"`},
	{dream.KindPrediction, "source", `"analytical"`},
	{dream.KindFragment, "status", `"raw"`},
}

// fill cleans the text of an item, adds what a person would leave out, and returns the names of what it added.
func (s *Source) fill(kind dream.Kind, at time.Time, fields map[string]json.RawMessage) (derived []string) {
	wash := derive.Cleaner(fields["id"] != nil && fields["agent"] != nil && fields["state"] != nil)
	for _, name := range []string{"content", "claim"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil {
			fields[name], _ = json.Marshal(wash(text))
		}
	}
	fields["at"], _ = json.Marshal(at)
	for _, d := range defaults {
		if d.kind == kind && fields[d.field] == nil {
			fields[d.field] = json.RawMessage(d.value)
			derived = append(derived, d.field)
		}
	}
	if kind == dream.KindSemantic && fields["due"] == nil && s.Due != nil {
		var strength float64
		if json.Unmarshal(fields["strength"], &strength) == nil {
			fields["due"], _ = json.Marshal(s.Due(at, strength))
			derived = append(derived, "due")
		}
	}
	return derived
}

// checkText refuses an item without a text. A prediction may have its text in a fragment, and a record has none.
func checkText(item dream.Item) error {
	if semantic, ok := item.(*dream.Semantic); ok && semantic.Due.Before(Earliest) && !semantic.Due.IsZero() {
		return fmt.Errorf("due is before %s", Earliest.Format("2006-01-02"))
	}
	if p, ok := item.(*dream.Prediction); ok && p.Fragment != "" {
		return nil
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
