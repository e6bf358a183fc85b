package mcpserver

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// who is the agent that a tool is for, among its arguments.
type who struct {
	Agent string `json:"agent,omitempty" jsonschema:"handle or id of the agent; may be left out where only one can be reached"`
}

func (w who) named() string { return w.Agent }

type emotion struct {
	Word      string  `json:"word" jsonschema:"the nearest word, such as calm"`
	Valence   float64 `json:"valence" jsonschema:"from -1, unpleasant, to 1, pleasant"`
	Arousal   float64 `json:"arousal" jsonschema:"from -1, drowsy, to 1, excited"`
	Dominance float64 `json:"dominance" jsonschema:"from -1, helpless, to 1, in control"`
	Intensity float64 `json:"intensity" jsonschema:"distance from how the agent feels at rest"`
	Since     string  `json:"since,omitempty" jsonschema:"RFC 3339"`
	Cause     string  `json:"cause,omitempty"`
}

type happening struct {
	Event     string   `json:"event" jsonschema:"what happened to the agent"`
	Intensity *float64 `json:"intensity,omitempty" jsonschema:"how strongly, above 0 and up to 1"`
	who
}

const plainIntensity = .5

func (d *toolset) feelings() {
	add(d, toolSpec[who, emotion]{
		role:  access.Client,
		name:  "get_emotion",
		title: "How the agent feels",
		about: "How the agent feels now: valence, arousal and dominance, and a word for them. It wakes nobody.",
		hints: reads(),
		do: func(ctx context.Context, k toolCall, in who) (emotion, error) {
			e, err := d.service.Emotion(ctx, k.caller, k.agent)
			return toEmotion(e), err
		},
		text: emotion.sentence,
	})
	add(d, toolSpec[happening, emotion]{
		role:  access.Client,
		name:  "update_emotion",
		title: "Tell the agent what happened to it",
		about: "Report an event that touches the agent; how it feels is appraised from it. Answers how it feels after.",
		hints: changes(false, false),
		shape: func(in *jsonschema.Schema) {
			in.Properties["event"].Enum = enumOf(mood.EventNames())
			in.Properties["intensity"].ExclusiveMinimum, in.Properties["intensity"].Maximum = at(0.), at(1.)
			setDefault(in.Properties["intensity"], plainIntensity)
		},
		do: func(ctx context.Context, k toolCall, in happening) (emotion, error) {
			intensity := plainIntensity
			if in.Intensity != nil {
				intensity = *in.Intensity
			}
			e, err := d.service.Feel(ctx, k.caller, k.agent, in.Event, intensity)
			return toEmotion(e), err
		},
		text: emotion.sentence,
	})
}

func toEmotion(e psyche.Emotion) emotion {
	return emotion{
		Word:      e.Word,
		Valence:   e.Valence,
		Arousal:   e.Arousal,
		Dominance: e.Dominance,
		Intensity: e.Intensity,
		Since:     stamp(e.Since),
		Cause:     e.Cause,
	}
}

func (e emotion) sentence() string {
	return fmt.Sprintf("%s: valence %+.2f, arousal %+.2f, dominance %+.2f, intensity %.2f", e.Word, e.Valence,
		e.Arousal, e.Dominance, e.Intensity)
}
