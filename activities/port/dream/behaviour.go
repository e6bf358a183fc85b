package dream

// Behaviour is how well an agent is doing, from thriving to terminal. It limits the depth and duration of its dreams.
type Behaviour string

// The behaviours, best first.
const (
	Thriving     Behaviour = "thriving"
	Stable       Behaviour = "stable"
	Conservation Behaviour = "conservation"
	Declining    Behaviour = "declining"
	Terminal     Behaviour = "terminal"
)

// Behaviours in order, best first.
var Behaviours = []Behaviour{Thriving, Stable, Conservation, Declining, Terminal}

// Rank is the position in that order, 0 for thriving. An unknown or empty behaviour counts as thriving, without
// limits.
func (b Behaviour) Rank() int {
	for i, each := range Behaviours {
		if each == b {
			return i
		}
	}
	return 0
}

// Worse says whether b is worse than o.
func (b Behaviour) Worse(o Behaviour) bool { return b.Rank() > o.Rank() }
