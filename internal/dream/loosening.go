package dream

// Loosening is the way one model is loosened in the onset. The empty one is that of orders which name none: heat and
// min-p, as far as the model takes them.
type Loosening string

// The ways. By heat a Dali cycle is several partials, each a call of its own; the two others make one call of several
// ideas.
const (
	ByTemperature     Loosening = "heat"       // without min-p, which caps how hot it may be
	ByTemperatureMinP Loosening = "heat+min_p" // S4's own
	Verbalised        Loosening = "verbalised" // several ideas with stated probability in one call
	TwoPhase          Loosening = "two_phase"  // a call that only diverges, then one that makes verbalised ideas of it
)

// Auto asks for the way that fits what the model takes.
const Auto Loosening = "auto"

// Loosenings in the order of how much they leave to the sampler.
var Loosenings = []Loosening{ByTemperatureMinP, ByTemperature, Verbalised, TwoPhase}
