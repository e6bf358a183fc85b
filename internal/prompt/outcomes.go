package prompt

// Foretold is an open prediction in prose.
type Foretold struct {
	Ref       string // p1, p2, … within one prompt
	Claim     string
	Criterion string // what would show it true or false
	Made, Due string // days
	Memories  []string
}

// OutcomesInput is the input of Outcomes: predictions p1, p2, … and memories e1, e2, …, each with its day.
type OutcomesInput struct {
	Predictions []Foretold
	Memories    []Line
}

// Outcomes asks which of the predictions came true or not, each with a sentence that shows it.
func Outcomes(o OutcomesInput) Text {
	return Text{
		System: render("outcomes.system", o),
		Shown:  render("outcomes.shown", o),
		Ask:    render("outcomes", o),
		Name:   "outcomes",
		Schema: schema("outcomes"),
	}
}
