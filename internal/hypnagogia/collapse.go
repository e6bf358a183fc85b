package hypnagogia

// Sense is how much sense one halted thought still made. Where it is not told, the old laws hold: nothing was too deep.
type Sense struct {
	Coherence float64 `json:"coherence"` // the observer's, in [0, 1]
	Fresh     float64 `json:"fresh"`     // share of pairs of neighbouring words that had not come before
	// mean natural logarithm of its tokens' probabilities, where the provider tells it
	LogProb *float64 `json:"log_prob,omitempty"`
}

// Why a thought is lost.
const (
	LostIncoherent = "incoherent"
	LostRepeating  = "repeating"
	LostUnlikely   = "unlikely"
)

// The edges of sense; ours. Below a third of coherence the observer saw no sentence hold. Plain speech stays above .9
// of fresh pairs and a loop falls below a half at its second turn. A mean of ln(1/100) says that the model itself gave
// a typical token less than one in a hundred, where its own samples at heat 1 lie near -1.
const (
	coherentFrom = .3
	freshFrom    = .5
	likelyFrom   = -4.605
)

// SenseOf measures a text beside what observer and provider said of it.
func SenseOf(text string, coherence float64, logProb *float64) Sense {
	return Sense{Coherence: unit(coherence), Fresh: fresh(tokenize(text)), LogProb: logProb}
}

// Lost says why a thought makes no sense any more; empty when it does.
func (s Sense) Lost() string {
	switch {
	case s.Fresh < freshFrom:
		return LostRepeating
	case s.LogProb != nil && *s.LogProb < likelyFrom:
		return LostUnlikely
	case s.Coherence < coherentFrom:
		return LostIncoherent
	}
	return ""
}

// leastSenses is how many thoughts can say that a cycle went too deep: one bad thought is a bad thought.
const leastSenses = 2

// Collapsed says why a cycle went too deep (S4, HoriStage: H7-H8), by the commonest fault of its thoughts; empty when
// it did not. It did when more than half of at least two thoughts are lost.
func Collapsed(cycle []Sense) string {
	lost := map[string]int{}
	all := 0
	for _, s := range cycle {
		if why := s.Lost(); why != "" {
			lost[why]++
			all++
		}
	}
	if len(cycle) < leastSenses || 2*all <= len(cycle) {
		return ""
	}
	worst := ""
	for _, why := range []string{LostIncoherent, LostRepeating, LostUnlikely} {
		if lost[why] > lost[worst] {
			worst = why
		}
	}
	return worst
}

// CollapseCools is by how many cycles of cooling a collapse counts: the one that follows is that much cooler, never
// below its stage's floor.
const CollapseCools = 2
