package prompt

// ImagineInput is the input of Imagine: a seed fragment, and a what-if made from episodes.
type ImagineInput struct {
	Self    Self
	Theme   string
	Seed    string // the fragment to develop; empty for none
	Context string
	Action  string // empty: no what-if
	Outcome string
	// the part of a single episode that is different: "action" or "outcome"; empty: combined from several
	Turned   string
	Playbook []Line
	Counted  []Line // regularities that a program counted, x1, x2, …
}

// Imagine asks for one scenario and the prediction it makes.
func Imagine(i ImagineInput) Text {
	return Text{
		System: render("imagine.system", i), Ask: render("imagine", i), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// GrowInput is the input of Refine and Merge.
type GrowInput struct {
	Self        Self
	Theme       string
	First       string
	Second      string // for a merger
	Claim       string // of the first
	Weakest     string // weakest part of the first; empty when it was not weighed
	JudgeReason string // the judge's reason for the first
	Playbook    []Line
	Counted     []Line // regularities that a program counted, x1, x2, …
}

// Refine asks for a scenario again, with its weakest part improved.
func Refine(g GrowInput) Text {
	return Text{
		System: render("imagine.system", g), Ask: render("refine", g), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// Merge asks for one scenario in which two are true at once.
func Merge(g GrowInput) Text {
	return Text{
		System: render("imagine.system", g), Ask: render("merge", g), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// WeighInput is the input of Weigh: scenarios to score are s1, s2, …; already scored ones, for comparison, are w1, w2,
// ….
type WeighInput struct {
	Self   Self
	Lines  []Line
	Scored []WeighScore
}

// WeighScore is a scenario with the parts of its score.
type WeighScore struct {
	Line
	Novelty, Plausible, Relevance float64
}

// Weigh asks for the parts of each scenario's score.
func Weigh(w WeighInput) Text {
	return Text{
		System: render("judge.system", w),
		Shown:  render("made.shown", w),
		Ask:    render("weigh", w),
		Name:   "scores",
		Schema: schema("scores"),
	}
}
