package hypnagogia

// Sense is how coherent one partial still was. Without it no cycle counts as too deep.
type Sense struct {
	Coherence float64 `json:"coherence"` // by the observer, in [0, 1]
	Fresh     float64 `json:"fresh"`     // share of pairs of neighbouring words that are not repeated
	// mean natural logarithm of its tokens' probabilities, if the provider returns it
	LogProb *float64 `json:"log_prob,omitempty"`
}

// Why a thought is incoherent.
const (
	LostIncoherent = "incoherent"
	LostRepeating  = "repeating"
	LostUnlikely   = "unlikely"
)

// Limits of coherence; our choice. Below 0.3 the observer found no coherent sentence. Natural speech has more than
// 0.9 fresh pairs, and a loop falls below 0.5 with its second turn. A mean of ln(1/100) means that the model itself
// gave a typical token less than one in a hundred, while its own samples at temperature 1 are near -1.
const (
	coherentFrom = .3
	freshFrom    = .5
	likelyFrom   = -4.605
)

// SenseOf computes the Sense of a text from the values of observer and provider.
func SenseOf(text string, coherence float64, logProb *float64) Sense {
	return Sense{Coherence: unit(coherence), Fresh: fresh(tokenize(text)), LogProb: logProb}
}

// Lost is why a thought is incoherent; empty when it is not.
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

// leastSenses is how many thoughts it takes to call a cycle too deep: a single bad one does not count.
const leastSenses = 2

// Collapsed is why a cycle went too deep, by the most frequent fault of its thoughts; empty when it did not. A cycle
// went too deep when more than half of at least two thoughts are incoherent.
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

// CollapseCools is how many cycles of cooling a collapse counts as: the next cycle is that much cooler, never below
// its stage's floor.
const CollapseCools = 2
