package dream

// Ways of choosing the depth of an onset (Knobs.Depth).
const (
	DepthAdaptive = "adaptive" // by surprise and regime change
	// always to the peak, as S4's default has it; an order of before the policy says nothing and means this
	DepthFixed = "fixed"
)

// Depth is how deep a night was to go, and why; Rise writes it into the record of the night, from which the policy
// learns.
type Depth struct {
	Stage    Stage   `json:"stage"`    // the deepest that the onset descends to
	Cycles   int     `json:"cycles"`   // Dali cycles there
	Depth    float64 `json:"depth"`    // the target in [0, 1]: a third for each stage
	Surprise float64 `json:"surprise"` // in [0, 1], as it was when the dream lay down
	Change   float64 `json:"change"`   // of regime, in [0, 1]: 1 when it has just been found
	Chance   float64 `json:"chance"`   // what the dream's dice added to the depth

	Learned  bool `json:"learned"`  // the policy was learned; false: it was the prior
	Outcomes int  `json:"outcomes"` // scored nights it had to learn from
}
