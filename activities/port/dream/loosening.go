package dream

// Loosening is how one model is loosened in the onset. Empty means temperature and min-p, as far as the model accepts
// them.
type Loosening string

// The ways. With temperature, a Dali cycle has several partials, each with its own call; the other two make one call
// that returns several ideas.
const (
	ByTemperature     Loosening = "temperature"       // without min-p, which limits how hot the model may be
	ByTemperatureMinP Loosening = "temperature+min_p" // the default of the design
	Verbalised        Loosening = "verbalised"        // several ideas with stated probability in one call
	TwoPhase          Loosening = "two_phase"         // a divergent call, followed by a call that makes verbalised ideas of it
)

// UnmarshalText reads a way, also under the name that earlier builds stored.
func (l *Loosening) UnmarshalText(text []byte) error {
	*l = Loosening(text)
	if now, former := FormerLoosenings[string(text)]; former {
		*l = now
	}
	return nil
}

// FormerLoosenings are the names of ways in what builds before 0.1.0 stored.
var FormerLoosenings = map[string]Loosening{"heat": ByTemperature, "heat+min_p": ByTemperatureMinP}

// Auto selects the way by what the model accepts.
const Auto Loosening = "auto"

// Loosenings in the order of how much they leave to the sampler.
var Loosenings = []Loosening{ByTemperatureMinP, ByTemperature, Verbalised, TwoPhase}
