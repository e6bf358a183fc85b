package prompt

// Imagining is what REM sees: one seed fragment, and a what-if made from episodes.
type Imagining struct {
	Self    Self
	Theme   string
	Seed    string // the fragment developed; empty when there is none
	Context string
	Action  string // empty: no what-if
	Outcome string
	// of one episode, the part that went otherwise: "action" or "outcome"; empty: put together from several
	Turned   string
	Playbook []Line
}

// Imagine asks for one scenario and the prediction it makes.
func Imagine(i Imagining) Text {
	return Text{
		System: render("imagine.system", i), Ask: render("imagine", i), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// Growing is what REM sees when scenarios grow: one to be refined, or two to become one.
type Growing struct {
	Self     Self
	Theme    string
	First    string
	Second   string // of a merger
	Claim    string // of the first
	Weakest  string // side of the first, as it was weighed; empty when it was not
	Said     string // by who weighed the first
	Playbook []Line
}

// Refine asks for a scenario again, stronger where it is weak.
func Refine(g Growing) Text {
	return Text{
		System: render("imagine.system", g), Ask: render("refine", g), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// Merge asks for one scenario in which two are true at once.
func Merge(g Growing) Text {
	return Text{
		System: render("imagine.system", g), Ask: render("merge", g), Name: "scenario",
		Schema: schema("scenario"),
	}
}

// Weighing is what the judge of scenarios sees: those to score are s1, s2, …; those that are scored already, to measure
// by, are w1, w2, ….
type Weighing struct {
	Self  Self
	Lines []Line
	Known []Weighed
}

// Weighed is a scenario with the parts of its score.
type Weighed struct {
	Line
	Novelty, Plausible, Matters float64
}

// Weigh asks for the parts of each scenario's score.
func Weigh(w Weighing) Text {
	return Text{
		System: render("judge.system", w),
		Shown:  render("made.shown", w),
		Ask:    render("weigh", w),
		Name:   "scores",
		Schema: schema("scores"),
	}
}
