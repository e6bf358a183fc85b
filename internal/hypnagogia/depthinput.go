package hypnagogia

import "math"

// DepthInput is what the depth of a dream is chosen by.
type DepthInput struct {
	Surprise float64 `json:"surprise"` // in [0, 1]: the blend of the two values below
	Change   float64 `json:"change"`   // in [0, 1]: the same

	OfPredictions float64 `json:"of_predictions"` // mean surprise of the newest outcomes of predictions
	Predictions   int     `json:"predictions"`    // the number of those outcomes
	OfEpisodes    float64 `json:"of_episodes"`    // mean surprise of the newest episodes
	Episodes      int     `json:"episodes"`
	Weight        float64 `json:"weight"` // of the predictions in the blend; the rest is the episodes'

	ChangeOfPredictions float64 `json:"change_of_predictions"`
	ChangeOfEpisodes    float64 `json:"change_of_episodes"`
}

// How much of the past is used; our choice. A mean of twenty outcomes is within 0.06 of the true value two times in
// three; an episode says less than an outcome, so more of them are used.
const (
	recentOutcomes = 20
	recentEpisodes = 50
)

// InputOutcomes and InputEpisodes are how many of each, oldest first, DepthInputOf can use: the length of the
// detector's input.
const (
	InputOutcomes = 60
	InputEpisodes = 150
)

// DepthInputOf blends the surprise of outcomes with that of recent episodes while there are few outcomes: with n of the
// twenty wanted, their weight is n/20. Both lists are oldest first. NaN values are ignored.
func DepthInputOf(outcomes, episodes []float64) DepthInput {
	sizes, lived := sized(outcomes), sized(episodes)
	s := DepthInput{}
	s.OfPredictions, s.Predictions = recentMean(sizes, recentOutcomes)
	s.OfEpisodes, s.Episodes = recentMean(lived, recentEpisodes)
	s.ChangeOfPredictions, s.ChangeOfEpisodes = Regime(sizes), Regime(lived)
	s.Weight = float64(s.Predictions) / recentOutcomes
	if s.Episodes == 0 && s.Predictions > 0 {
		s.Weight = 1
	}
	blend := func(p, e float64) float64 { return thousandths(s.Weight*p + (1-s.Weight)*e) }
	s.Surprise, s.Change = blend(s.OfPredictions, s.OfEpisodes), blend(s.ChangeOfPredictions, s.ChangeOfEpisodes)
	return s
}

func sized(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			out = append(out, unit(math.Abs(v)))
		}
	}
	return out
}

func recentMean(values []float64, most int) (float64, int) {
	values = values[max(0, len(values)-most):]
	return mean(values), len(values)
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
