package dream

// How the depth of an onset is chosen (Knobs.Depth).
const (
	DepthAdaptive = "adaptive" // by surprise and regime change
	// always to the peak; specs without a value mean this
	DepthFixed = "fixed"
)

// Depth is the intended depth of a dream and its reasons. It is written into the dream's record, from which the depth
// policy learns.
type Depth struct {
	Stage    Stage   `json:"stage"`    // the deepest stage of the onset
	Cycles   int     `json:"cycles"`   // Dali cycles at that stage
	Depth    float64 `json:"depth"`    // the target in [0, 1]: a third for each stage
	Surprise float64 `json:"surprise"` // in [0, 1], when the dream began
	Change   float64 `json:"change"`   // of regime, in [0, 1]: 1 when it was just detected
	Chance   float64 `json:"chance"`   // the random part of the depth

	Learned  bool `json:"learned"`  // false: the prior of the policy was used
	Outcomes int  `json:"outcomes"` // scored dreams that the policy learned from
}
