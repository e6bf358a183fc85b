package hypnagogia

import "math"

// Sounding is what the depth of a night is chosen by.
type Sounding struct {
	Surprise float64 `json:"surprise"` // in [0, 1]: the two below, blended
	Change   float64 `json:"change"`   // in [0, 1]: likewise

	OfPredictions float64 `json:"of_predictions"` // mean size of the newest residuals
	Predictions   int     `json:"predictions"`    // how many residuals that is the mean of
	OfEpisodes    float64 `json:"of_episodes"`    // mean surprise of the newest episodes
	Episodes      int     `json:"episodes"`
	Weight        float64 `json:"weight"` // of the predictions in the blend; the episodes have the rest

	ChangeOfPredictions float64 `json:"change_of_predictions"`
	ChangeOfEpisodes    float64 `json:"change_of_episodes"`
}

// How much of the past is sounded; all ours. A mean of twenty residuals is within .06 of the truth two times in three;
// episodes' surprise is a rank in most imports and noisier, so more of it is taken.
const (
	recentResiduals = 20
	recentEpisodes  = 50
)

// SoundedResiduals and SoundedEpisodes are how many of each, oldest first, are worth giving to Sound: what the detector
// looks at.
const (
	SoundedResiduals = 60
	SoundedEpisodes  = 150
)

// Sound blends what resolved predictions say with what recent episodes say while there are few of those: with n
// residuals of the twenty wanted, their weight is n/20. Both lists are oldest first; residuals may have either sign.
// Values that are no numbers are left out.
func Sound(residuals, surprises []float64) Sounding {
	sizes, lived := sized(residuals), sized(surprises)
	s := Sounding{}
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
