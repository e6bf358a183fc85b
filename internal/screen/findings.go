package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// noticed shows the fragments that were kept, the best first, each with the reason.
func noticed(p *page, all []*dream.Fragment) {
	if len(all) == 0 {
		return
	}
	var kept []*dream.Fragment
	for _, f := range all {
		if f.Status != dream.FragmentDiscarded {
			kept = append(kept, f)
		}
	}
	slices.SortStableFunc(kept, func(a, b *dream.Fragment) int {
		return cmp.Or(cmp.Compare(b.Verdict.Composite, a.Verdict.Composite), cmp.Compare(a.Content, b.Content))
	})
	p.heading("Noticed at the edge of sleep")
	p.text("  ", fmt.Sprintf("%s, %d kept.", count(len(all), "fragment"), len(kept)), plain)
	list(p, kept, func(i int, f *dream.Fragment) {
		p.item(fmt.Sprintf("%s %d. ", caught, i+1), amber, f.Content)
		p.note(verdictWords(f.Verdict) + originWords(f))
	})
}

// verdictWords describes the composite score and its parts: "worth .71: new .62, fitting .80, clear .95; distance .70
// to the playbook, …".
func verdictWords(v dream.Verdict) string {
	text := "worth " + score(v.Composite)
	if v.Judge == "embedder" {
		text += " as measured"
	}
	text += fmt.Sprintf(": new %s, fitting %s, clear %s; ", score(v.Novelty), score(v.Relevance), score(v.Coherence))
	if v.PlaybookEmpty {
		return text + fmt.Sprintf("no playbook yet, distance %s to memory", score(v.DistanceMemory))
	}
	return text +
		fmt.Sprintf("distance %s to the playbook, %s to memory", score(v.DistancePlaybook), score(v.DistanceMemory))
}

func originWords(f *dream.Fragment) string {
	text := ""
	if f.Cycle > 0 {
		text += fmt.Sprintf("; cycle %d", f.Cycle)
	} else {
		text += "; induction"
	}
	if t := f.Settings.Temperature; t != nil {
		text += ", temperature " + temperature(*t)
		if !strings.Contains(f.Settings.Effective, "temperature=") {
			text += " by prompt only"
		}
	}
	text += loosenedWords(f.Settings) + steeredWords(f.Settings)
	if n := len(f.Sources); n > 0 {
		text += ", from " + count(n, "memory")
	}
	switch f.Status {
	case dream.FragmentSelected:
		text += "; chosen to be imagined"
	case dream.FragmentDeveloped:
		text += "; became a scenario"
	case dream.FragmentPromoted:
		text += "; became a hypothesis"
	}
	if reason := Clean(f.Reason); reason != "" {
		text += "; " + reason
	}
	return text
}

// loosenedWords describes how a model was loosened by its prompt, and how likely it called its output.
func loosenedWords(s dream.Settings) string {
	text := ""
	switch s.Loosening {
	case dream.Verbalised:
		text = ", one of several in one call"
	case dream.TwoPhase:
		text = ", one of several made of scraps"
	case dream.ByTemperature, dream.ByTemperatureMinP, dream.Auto:
	}
	if p := s.Probability; p != nil {
		text += fmt.Sprintf(", called %s likely", score(*p))
	}
	return text
}

// setAside counts what was not kept, by reason.
func setAside(p *page, r DreamReport) {
	reasons := map[string]int{}
	total := 0
	for _, f := range r.Fragments {
		if f.Status == dream.FragmentDiscarded {
			reasons[orElse(Clean(f.Reason), "no reason recorded")]++
			total++
		}
	}
	dropped := 0
	for _, s := range r.Scenarios {
		if !s.Kept {
			dropped++
		}
	}
	if total+dropped == 0 {
		return
	}
	p.heading("Set aside")
	names := make([]string, 0, len(reasons))
	for name := range reasons {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(reasons[b]-reasons[a], cmp.Compare(a, b)) })
	for _, name := range names {
		p.text("  ", fmt.Sprintf("%s: %s", count(reasons[name], "fragment"), name), plain)
	}
	if dropped > 0 {
		p.text("  ", count(dropped, "scenario")+": dropped after scoring", plain)
	}
}

func patternsOf(all []*dream.Prediction) []*dream.Prediction {
	var out []*dream.Prediction
	for _, one := range all {
		if one.Phase == dream.NREM {
			out = append(out, one)
		}
	}
	return out
}

// patterns shows the predictions from replay, and how many claims the dream can be judged by.
func patterns(p *page, all []*dream.Prediction) {
	found := patternsOf(all)
	if len(found) > 0 {
		p.heading("Patterns found in replay")
		list(p, found, func(_ int, one *dream.Prediction) {
			p.item("· ", blue, one.Claim)
			note := "confidence " + score(one.Confidence)
			if !one.Horizon.IsZero() {
				note += ", until " + p.st.clock(one.Horizon, "2 Jan 2006")
			}
			if criterion := Clean(one.Criterion); criterion != "" { // last: it is a sentence with an end of its own
				note += "; to be judged by: " + criterion
			}
			p.note(note)
		})
	}
	if len(all) > len(found) {
		p.blank()
		p.text("  ",
			fmt.Sprintf("In all, %s of this dream can be judged later by what happens.", count(len(all), "prediction")),
			faint)
	}
}

// imagined shows the scenarios that were kept.
func imagined(p *page, all []*dream.Scenario) {
	var kept []*dream.Scenario
	for _, s := range all {
		if s.Kept {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return
	}
	slices.SortStableFunc(kept, func(a, b *dream.Scenario) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Content, b.Content))
	})
	p.heading("Imagined")
	list(p, kept, func(_ int, s *dream.Scenario) {
		p.item("· ", violet, s.Content)
		notes := []string{"scored " + score(s.Score)}
		switch s.Operation {
		case dream.Refine:
			notes = append(notes, "refined once more")
		case dream.Merge:
			notes = append(notes, "two that became one")
		}
		if s.Counterfactual {
			notes = append(notes, "against what happened")
		}
		if s.Synthetic {
			notes = append(notes, "of things that never happened together")
		}
		if premise := Clean(s.Premise); premise != "" {
			notes = append(notes, "from: "+premise)
		}
		p.note(strings.Join(notes, "; "))
	})
}

// staged shows hypotheses and changes of the playbook.
func staged(p *page, r DreamReport) {
	if len(r.Hypotheses) > 0 {
		p.heading("Hypotheses")
		list(p, r.Hypotheses, func(_ int, h *dream.Hypothesis) {
			p.item("· ", teal, h.Claim)
			note := fmt.Sprintf("%s, confidence %s", h.Status, score(h.Confidence))
			if step := Clean(h.FirstStep); step != "" {
				note += "; first step: " + step
			}
			p.note(note)
		})
	}
	if len(r.Playbook) > 0 {
		p.heading("Playbook")
		list(p, r.Playbook, func(_ int, e *dream.Playbook) {
			p.item("· ", teal, e.Content)
			p.note("confidence " + score(e.Confidence))
		})
	}
}

// showGists shows the gists of fading entries.
func showGists(p *page, gists []*dream.Gist) {
	if len(gists) == 0 {
		return
	}
	p.heading("Kept of what is fading")
	list(p, gists, func(_ int, g *dream.Gist) { p.item("· ", blue, g.Content) })
}

// Archived is an item that a dream has archived.
type Archived struct {
	ID     string     `json:"id"`
	Kind   dream.Kind `json:"kind"`
	Text   string     `json:"text"`
	Newer  string     `json:"newer,omitempty"` // the text that stands in its place
	Reason string     `json:"reason"`
}

// archived shows what the dream has archived, and what replaced it.
func archived(p *page, all []Archived) {
	if len(all) == 0 {
		return
	}
	p.heading("Archived (oneiros memory restore brings it back)")
	list(p, all, func(_ int, a Archived) {
		p.item("· ", faint, a.Text)
		note := fmt.Sprintf("%s %s, %s", a.Kind, Clean(a.ID), Clean(a.Reason))
		if newer := Clean(a.Newer); newer != "" {
			note += "; in its place: " + newer
		}
		p.note(note)
	})
}

// returned shows the insights that surfaced.
func returned(p *page, r DreamReport) {
	if len(r.Surfaced) == 0 {
		return
	}
	p.heading("Brought back (dream, unverified)")
	list(p, r.Surfaced, func(_ int, text string) { p.item("· ", gold, text) })
}

// list draws the first entries and counts the rest.
func list[T any](p *page, all []T, draw func(int, T)) {
	for i, one := range all {
		if i == most {
			p.text("  ", fmt.Sprintf("… and %d more.", len(all)-most), faint)
			return
		}
		draw(i, one)
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
