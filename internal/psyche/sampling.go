package psyche

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// The temperature for a neutral mood is 1, OpenAI's default, and differs by this much at full arousal. Measured here:
// at .8 and 1.2 the text of small models still holds together, and above 1.3 it begins not to.
const arousalTemperature = .2

// moodTemperature is the temperature for a mood, at most what the model takes, in steps of a hundredth.
func moodTemperature(affect mood.PAD, most float64) float64 {
	t := 1 + arousalTemperature*max(-1, min(1, affect.Arousal))
	return min(math.Round(100*t)/100, most)
}

// sampling sets the temperature by the agent's mood, when the deployment wants that, the model takes one and the
// client names neither temperature nor top_p.
func (t *turn) sampling(ctx context.Context) []splice {
	if !t.service.o.MoodSampling || !t.on.affect || t.spec.MaxTemperature <= 0 || t.Body.given("temperature") != nil ||
		t.Body.given("top_p") != nil || t.Body.native() && t.Body.given("thinking") != nil { // which takes no temperature
		return nil
	}
	affect, err := t.service.affect(ctx, t.agent.ID)
	if err != nil {
		t.service.Log.WarnContext(ctx, "the mood could not be read", "agent", t.agent.Handle, "error", err)
		return nil
	}
	settled := mood.Settled(affect.PAD, t.service.o.Baseline, t.service.now().Sub(affect.Since))
	return []splice{t.Body.set("temperature", fmt.Appendf(nil, "%v", moodTemperature(settled, t.spec.MaxTemperature)))}
}
