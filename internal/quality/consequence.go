package quality

// Consequence is what the yield of an agent's dreams changes in those that begin by themselves. Caps, hours and consent
// hold as before.
type Consequence struct {
	Earlier   float64 // by so much less urgency an idle agent dreams early
	Scenarios int     // so many more scenarios are imagined, and kept
}

// Bounds of a consequence. Our choice: one step, which is taken back when the yield falls again.
const (
	earlier   = .1
	scenarios = 1
)

// Consequence of a yield: none unless the rolling accuracy is above HighYield. A low yield changes nothing by itself,
// since fewer dreams would not make better ones; it is flagged (Flagged).
func (y Yield) Consequence() Consequence {
	if y.High.IsZero() {
		return Consequence{}
	}
	return Consequence{Earlier: earlier, Scenarios: scenarios}
}
