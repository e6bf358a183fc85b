package prompt

// CageInput is the input of Cage: fragments f1, f2, … and rules in words s1, s2, ….
type CageInput struct {
	Self      Self
	Fragments []Line
	Rules     []Line
}

// Cage asks which rules each fragment breaks.
func Cage(c CageInput) Text {
	return Text{
		System: render("judge.system", c),
		Shown:  render("cage.shown", c),
		Ask:    render("cage", c),
		Name:   "breaches",
		Schema: schema("breaches"),
	}
}
