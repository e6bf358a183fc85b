package prompt

// Caging is what the observer sees of fragments and of the rules in words that they are held against: f1, f2, … and s1,
// s2, ….
type Caging struct {
	Self      Self
	Fragments []Line
	Rules     []Line
}

// Cage asks which rules each fragment breaks.
func Cage(c Caging) Text {
	return Text{
		System: render("judge.system", c),
		Shown:  render("cage.shown", c),
		Ask:    render("cage", c),
		Name:   "breaches",
		Schema: schema("breaches"),
	}
}
