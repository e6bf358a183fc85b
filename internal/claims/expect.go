package claims

import (
	"math"
	"time"
)

// Expect estimates from the past how many claims an agent will make of regularities in it, and how many outcomes they
// will have in a span of time after it, if they come up as often as before. The texts are sorted, oldest first. A model
// may claim other things, and claims that pass or are dropped meanwhile are not told apart: it is a rough number.
func Expect(past []Text, span time.Duration) (claims, outcomes int) {
	if len(past) == 0 {
		return 0, 0
	}
	lived := past[len(past)-1].At.Sub(past[max(0, len(past)-MostTexts)].At)
	share := float64(span) / float64(max(lived, day))
	expected := 0.0
	for _, a := range Associate(past) {
		if n := float64(a.Trials) * share; n >= .5 {
			claims++
			expected += n
		}
	}
	return claims, int(math.Round(expected))
}
