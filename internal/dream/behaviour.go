package dream

// Behaviour is how well an agent is doing, from thriving to terminal. It bounds how deep and how long it dreams.
type Behaviour string

// The behavioural phases, best first.
const (
	Thriving     Behaviour = "thriving"
	Stable       Behaviour = "stable"
	Conservation Behaviour = "conservation"
	Declining    Behaviour = "declining"
	Terminal     Behaviour = "terminal"
)

// Behaviours in their explicit order, best first.
var Behaviours = []Behaviour{Thriving, Stable, Conservation, Declining, Terminal}

// Rank is the place in that order, 0 for thriving. What is unknown, or unset, counts as thriving: it bounds nothing.
func (b Behaviour) Rank() int {
	for i, each := range Behaviours {
		if each == b {
			return i
		}
	}
	return 0
}

// Worse says whether b stands below o.
func (b Behaviour) Worse(o Behaviour) bool { return b.Rank() > o.Rank() }
