package hypnagogia

import "math"

// DepthInput is what the depth of a dream is chosen by.
type DepthInput struct {
	Surprise float64 `json:"surprise"` // in [0, 1]: the blend of the two values below
	Change   float64 `json:"change"`   // in [0, 1]: the same

	OfPredictions float64 `json:"of_predictions"` // mean absolute value of the newest residuals
	Predictions   int     `json:"predictions"`    // the number of those residuals
	OfEpisodes    float64 `json:"of_episodes"`    // mean surprise of the newest episodes
	Episodes      int     `json:"episodes"`
	Weight        float64 `json:"weight"` // of the predictions in the blend; the rest is the episodes'

	ChangeOfPredictions float64 `json:"change_of_predictions"`
	ChangeOfEpisodes    float64 `json:"change_of_episodes"`
}

// How much of the past is used; our choice. A mean of twenty residuals is within 0.06 of the true value two times in
// three; the surprise of episodes is a rank in most imports and noisier, so more of them are used.
const (
	recentResiduals = 20
	recentEpisodes  = 50
)

// InputResiduals and InputEpisodes are how many of each, oldest first, Sound can use: the length of the
// detector's input.
const (
	InputResiduals = 60
	InputEpisodes  = 150
)

// DepthInputOf blends resolved predictions with recent episodes while there are few predictions: with n residuals of
// the twenty wanted, their weight is n/20. Both lists are oldest first; residuals may have either sign. NaN values are
// ignored.
func DepthInputOf(residuals, surprises []float64) DepthInput {
	sizes, lived := sized(residuals), sized(surprises)
	s := DepthInput{}
	s.OfPredictions, s.Predictions = recentMean(sizes, recentResiduals)
	s.OfEpisodes, s.Episodes = recentMean(lived, recentEpisodes)
	s.ChangeOfPredictions, s.ChangeOfEpisodes = Regime(sizes), Regime(lived)
	s.Weight = float64(s.Predictions) / recentResiduals
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
