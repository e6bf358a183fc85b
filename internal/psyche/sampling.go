package psyche

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// The temperature that a mood asks for is 1, the default of the OpenAI wire, and by so much more or less at full
// arousal. Ours: at .8 and 1.2 the text of small models still holds together, and above 1.3 it begins not to.
const arousalTemperature = .2

// moodTemperature is the temperature of an agent that feels so, at most what its model takes; a hundredth is its finest
// step.
func moodTemperature(affect mood.PAD, most float64) float64 {
	t := 1 + arousalTemperature*max(-1, min(1, affect.Arousal))
	return min(math.Round(100*t)/100, most)
}

// sampling sets the temperature by the agent's mood, where the deployment wants that, the model takes one and the
// client names neither a temperature nor top_p.
func (t *turn) sampling(ctx context.Context) []splice {
	if !t.being.o.MoodSampling || !t.on.affect || t.spec.MaxTemperature <= 0 || t.body.given("temperature") != nil ||
		t.body.given("top_p") != nil {
		return nil
	}
	affect, err := t.being.affect(ctx, t.agent.ID)
	if err != nil {
		t.being.Log.WarnContext(ctx, "the mood could not be read", "agent", t.agent.Handle, "error", err)
		return nil
	}
	feels := mood.Settled(affect.PAD, t.being.o.Baseline, t.being.now().Sub(affect.Since))
	return []splice{t.body.set("temperature", fmt.Appendf(nil, "%v", moodTemperature(feels, t.spec.MaxTemperature)))}
}
