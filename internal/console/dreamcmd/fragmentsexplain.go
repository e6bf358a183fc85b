package dreamcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

func fragmentsExplain(app *cli.App) *cobra.Command {
	return view.ForItem(app, &cobra.Command{
		Use: "explain ID", Short: "Say why a fragment was kept or dropped, in words and numbers",
		Args: cobra.ExactArgs(1),
		Long: "Explain takes a verdict apart: what was measured, what a judge answered, what counted in the end, what the embedder could see,\n" +
			"which somatic marker fired, how the observer's bias corrected it and what judging cost. Then it shows what became of the\n" +
			"fragment: flags of the policy and of hooks, its rating at lucid capture, scenarios, hypothesis, and whether it came true.",
		ValidArgsFunction: view.CompleteItems(app, memory.Query{Kinds: []dream.Kind{dream.KindFragment}}),
	}, func(ctx context.Context, a dream.Agent, item dream.Item) error {
		e, err := explained(ctx, app, a, item.(*dream.Fragment))
		switch {
		case err != nil:
			return err
		case app.Json:
			return app.Answer(e)
		}
		showExplained(app, app.Out, a, e)
		return nil
	}, dream.KindFragment)
}

// explanation is a fragment with what became of it.
type explanation struct {
	Kept        bool                `json:"kept"` // by the observer, whatever came after
	Why         string              `json:"why"`
	Fragment    *dream.Fragment     `json:"fragment"`
	Marker      *dream.Marker       `json:"marker,omitempty"`
	Scenarios   []*dream.Scenario   `json:"scenarios,omitempty"`
	Hypothesis  *dream.Hypothesis   `json:"hypothesis,omitempty"`
	Predictions []*dream.Prediction `json:"predictions,omitempty"`
}

func explained(ctx context.Context, app *cli.App, a dream.Agent, f *dream.Fragment) (explanation, error) {
	e := explanation{Fragment: f}
	e.Kept, e.Why = whyKept(f)
	var ids []string
	if f.Hypothesis != "" {
		ids = append(ids, f.Hypothesis)
	}
	if p := f.Verdict.Parts; p != nil && p.Marker != nil {
		ids = append(ids, p.Marker.Marker)
	}
	items, err := app.Store.Get(ctx, a.ID, ids...)
	if err != nil {
		return e, err
	}
	for _, m := range memory.As[*dream.Marker](items) {
		e.Marker = m
	}
	for _, it := range memory.As[*dream.Hypothesis](items) {
		e.Hypothesis = it
	}
	if f.Dream == "" {
		return e, nil
	}
	made, err := app.Store.Find(ctx, memory.Query{
		Agent: a.ID, Dream: f.Dream, Kinds: []dream.Kind{dream.KindScenario, dream.KindPrediction},
		Sort:   memory.Oldest,
		States: dream.States,
	})
	if err != nil {
		return e, err
	}
	if err := memory.ReadClaims(ctx, app.Store, a.ID, made); err != nil {
		return e, err
	}
	for _, s := range memory.As[*dream.Scenario](made) {
		if s.Parent == f.ID || cli.OneOf(f.ID, s.Seeds) {
			e.Scenarios = append(e.Scenarios, s)
		}
	}
	for _, p := range memory.As[*dream.Prediction](made) {
		if p.Fragment == f.ID {
			e.Predictions = append(e.Predictions, p)
		}
	}
	return e, nil
}

// whyKept says in one sentence why the observer kept a fragment or dropped it.
func whyKept(f *dream.Fragment) (bool, string) {
	v := f.Verdict
	floor := "the floor"
	if v.Floor != nil {
		floor += " of " + cli.Score(*v.Floor)
	}
	switch lucid := strings.HasPrefix(f.Reason, dream.LucidDiscard); {
	case f.Status == dream.FragmentDiscarded && !lucid && v.Judge == "":
		return false, "dropped unjudged: " + f.Reason
	case f.Status == dream.FragmentDiscarded && !lucid:
		return false, fmt.Sprintf("dropped: %s (composite %s)", f.Reason, cli.Score(v.Composite))
	case lucid:
		return true,
			fmt.Sprintf("kept by the observer, its composite %s is above %s; dropped later, at lucid capture",
				cli.Score(v.Composite), floor)
	}
	return true, fmt.Sprintf("kept: its composite %s is above %s", cli.Score(v.Composite), floor)
}

func showExplained(app *cli.App, w io.Writer, a dream.Agent, e explanation) {
	f := e.Fragment
	fmt.Fprintf(w, "%s\n\n%s\n\n", cli.Wrap(f.Content, app.Width, ""), cli.Wrap(e.Why, app.Width, ""))
	if f.Verdict.Judge != "" {
		scoreTable(app, f.Verdict).Draw(w, app.Width, app.Bold)
		fmt.Fprintln(w)
	}
	app.Fields(w, append(verdictPairs(f.Verdict, e.Marker, a), fatePairs(e, a)...)...)
}

// scoreTable compares what was measured, answered and counted.
func scoreTable(app *cli.App, v dream.Verdict) *cli.Table {
	t := cli.NewTable("PART", "MEASURED,right", "JUDGED,right", "COUNTS,right", "POWER,right")
	measured, judged := []string{"-", "-", "-"}, []string{"-", "-", "-"}
	three := func(s dream.Scores) []string {
		return []string{cli.Score(s.Novelty), cli.Score(s.Relevance), cli.Score(s.Coherence)}
	}
	if p := v.Parts; p != nil {
		measured = three(p.Measured)
		if p.Judged != nil {
			judged = three(*p.Judged)
		}
	}
	counts := three(dream.Scores{Novelty: v.Novelty, Relevance: v.Relevance, Coherence: v.Coherence})
	for i, name := range []string{"novelty", "relevance", "coherence"} {
		t.Add(name, measured[i], judged[i], counts[i], []string{"0.5", "0.3", "0.2"}[i])
	}
	if p := v.Parts; p != nil {
		t.Add("together", "-", "-", cli.Score(p.Whole), "-")
		t.Add("x bias "+cli.Score(p.Bias), "-", "-", cli.Score(v.Composite), "-")
	} else {
		t.Add("composite", "-", "-", cli.Score(v.Composite), "-")
	}
	return t
}

func verdictPairs(v dream.Verdict, marker *dream.Marker, a dream.Agent) []string {
	if v.Judge == "" {
		return nil
	}
	playbook := cli.Score(v.DistancePlaybook)
	if v.PlaybookEmpty {
		playbook += " (it is empty)"
	}
	pairs := []string{"distance", "to memory " + cli.Score(v.DistanceMemory) + ", to the playbook " + playbook}
	p := v.Parts
	if p == nil {
		return append(pairs, "judge", v.Judge+"; the parts of this verdict were not kept")
	}
	s := p.Surface
	pairs = append(
		pairs,
		"surface",
		fmt.Sprintf("wordlike %s x fresh %s x bearable %s x joined %s x spoken %s = %s", cli.Score(s.Wordlike),
			cli.Score(s.Fresh), cli.Score(s.Bearable), cli.Score(s.Joined), cli.Score(s.Spoken), cli.Score(s.Whole)),
	)
	if m := p.Meaning; m != nil {
		pairs = append(pairs, "meaning",
			fmt.Sprintf("its parts lie %s from each other, strangers %s: coherence x %s", cli.Score(m.Cosine),
				cli.Score(m.Between), cli.Score(m.Share)))
	} else {
		pairs = append(pairs, "meaning", "not seen: "+p.Blind)
	}
	if o := p.WordOrder; o != nil {
		pairs = append(pairs, "order",
			fmt.Sprintf("%.1f deviations above its words shuffled, where its memories have %.1f: coherence x %s",
				o.Deviations, o.Expected, cli.Score(o.Share)))
	}
	if p.Copied != nil {
		pairs = append(pairs, "copied", cli.Score(*p.Copied)+" of its words stand in one memory, three or more in a row")
	}
	if p.LogProb != nil {
		pairs = append(pairs, "likely",
			fmt.Sprintf("its model gave its tokens %.2f on average (ln p): coherence x %s", *p.LogProb,
				cli.Score(p.Likely)))
	}
	return append(pairs, "marker", firedText(p.Marker, marker, a), "judge", judgeText(v))
}

func firedText(f *dream.MarkerMatch, m *dream.Marker, a dream.Agent) string {
	if f == nil {
		return "none fired"
	}
	moments := "one strong moment"
	if f.Count > 1 {
		moments = fmt.Sprintf("%d strong moments", f.Count)
	}
	came := map[dream.Valence]string{dream.CameOutWell: "well", dream.CameOutBadly: "badly"}[f.Valence]
	near := fmt.Sprintf("%.1f deviations above other memories in its words", f.Deviations)
	if f.Deviations == 0 {
		near = "cosine " + cli.Score(f.Cosine)
	}
	text := fmt.Sprintf("%s fired: %s, where %.2f are needed; %s that came out %s, strength %s; relevance %s + %s",
		cli.Short(f.Marker, a), near, f.Threshold, moments, came, cli.Score(f.Strength),
		cli.Score(f.Relevance), cli.Score(f.Boost))
	if m != nil && len(m.Sources) > 0 {
		text += "; learned from " + strings.Join(m.Sources[:min(3, len(m.Sources))], ", ")
	}
	return text
}

func judgeText(v dream.Verdict) string {
	p := v.Parts
	text := v.Judge
	switch p.Way {
	case dream.BySingle:
		text += ", in a call of its own"
	case dream.ByTogether:
		text += fmt.Sprintf(", in one call for %d fragments", p.Together)
	default:
		text += ", measured"
	}
	if p.Cost != nil {
		text += fmt.Sprintf(", %s", *p.Cost)
		if p.Together > 1 {
			text += " its share"
		}
	}
	if p.Why != "" {
		text += "; " + p.Why
	}
	if p.JudgeReason != "" {
		text += fmt.Sprintf("; it said: %s", p.JudgeReason)
	}
	return text
}

// fatePairs are the stages after the observer.
func fatePairs(e explanation, a dream.Agent) []string {
	f := e.Fragment
	pairs := []string{"status", f.Status}
	for _, flag := range f.Flags {
		text := flag.By + ": " + flag.Reason
		switch {
		case !flag.Lifted.IsZero():
			text += "; lifted by a person at " + cli.When(flag.Lifted, a.Zone)
		case flag.Bars:
			text += "; it may never be developed"
		}
		pairs = append(pairs, "flag", text)
	}
	if r := f.Rating; r != nil {
		pairs = append(pairs, "capture",
			strings.TrimSuffix(fmt.Sprintf("%s, by %s: %s", r.Rated, r.By, r.Reason), ": "))
	}
	for _, s := range e.Scenarios {
		pairs = append(pairs, "scenario",
			fmt.Sprintf("%s, %s, score %s", cli.Short(s.ID, a), s.Marks().Status, scoreText(s)))
	}
	if h := e.Hypothesis; h != nil {
		pairs = append(pairs, "hypothesis",
			fmt.Sprintf("%s, %s at %s: %s", cli.Short(h.ID, a), h.Status, cli.Score(h.Confidence), h.Claim))
	}
	for _, p := range e.Predictions {
		pairs = append(pairs, "foretold",
			fmt.Sprintf("%s, %s, due %s: %s", cli.Short(p.ID, a), p.Status, cli.Day(p.Horizon, a.Zone), p.Criterion))
	}
	return append(pairs, "id", f.ID, "dream", f.Dream)
}
