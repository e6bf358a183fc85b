package dream

// Loosening is how one model is loosened in the onset. Empty means temperature and min-p, as far as the model accepts
// them.
type Loosening string

// The ways. With temperature, a Dali cycle has several partials, each with its own call; the other two make one call
// that returns several ideas.
const (
	ByTemperature     Loosening = "heat"       // without min-p, which limits how hot the model may be
	ByTemperatureMinP Loosening = "heat+min_p" // the default of the design
	Verbalised        Loosening = "verbalised" // several ideas with stated probability in one call
	TwoPhase          Loosening = "two_phase"  // a divergent call, followed by a call that makes verbalised ideas of it
)

// Auto selects the way by what the model accepts.
const Auto Loosening = "auto"

// Loosenings in the order of how much they leave to the sampler.
var Loosenings = []Loosening{ByTemperatureMinP, ByTemperature, Verbalised, TwoPhase}
