package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

type who struct {
	Agent string `json:"agent,omitempty" jsonschema:"handle or id of the agent; may be left out where only one can be reached"`
}

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
	Agent     string   `json:"agent,omitempty" jsonschema:"handle or id of the agent; may be left out where only one can be reached"`
}

const plainIntensity = .5

func (d *toolset) feelings() {
	add(d, toolSpec[who, emotion]{
		role: access.Client,
		tool: mcp.Tool{
			Name: "get_emotion", Title: "How the agent feels",
			Description: "How the agent feels now: valence, arousal and dominance, and a word for them. It wakes nobody.",
			Annotations: reads("How the agent feels"),
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in who) (emotion, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return emotion{}, err
			}
			e, err := d.service.Emotion(ctx, c, agent)
			return toEmotion(e), err
		},
		text: emotion.sentence,
	})
	add(d, toolSpec[happening, emotion]{
		role: access.Client,
		tool: mcp.Tool{
			Name: "update_emotion", Title: "Tell the agent what happened to it",
			Description: "Report an event that touches the agent; how it feels is appraised from it. Answers how it feels after.",
			Annotations: changes("Tell the agent what happened to it", false, false),
		},
		shape: func(in *jsonschema.Schema) {
			for _, name := range mood.EventNames() {
				in.Properties["event"].Enum = append(in.Properties["event"].Enum, name)
			}
			in.Properties["intensity"].ExclusiveMinimum, in.Properties["intensity"].Maximum = at(0.), at(1.)
			in.Properties["intensity"].Default = json.RawMessage(strconv.FormatFloat(plainIntensity, 'g', -1, 64))
		},
		do: func(ctx context.Context, c psyche.Caller, _ *mcp.CallToolRequest, in happening) (emotion, error) {
			agent, err := d.agent(ctx, c, in.Agent)
			if err != nil {
				return emotion{}, err
			}
			intensity := plainIntensity
			if in.Intensity != nil {
				intensity = *in.Intensity
			}
			e, err := d.service.Feel(ctx, c, agent, in.Event, intensity)
			return toEmotion(e), err
		},
		text: emotion.sentence,
	})
}

func toEmotion(e psyche.Emotion) emotion {
	out := emotion{
		Word:      e.Word,
		Valence:   e.Valence,
		Arousal:   e.Arousal,
		Dominance: e.Dominance,
		Intensity: e.Intensity,
		Cause:     e.Cause,
	}
	if !e.Since.IsZero() {
		out.Since = e.Since.UTC().Format(time.RFC3339)
	}
	return out
}

func (e emotion) sentence() string {
	return fmt.Sprintf("%s: valence %+.2f, arousal %+.2f, dominance %+.2f, intensity %.2f", e.Word, e.Valence,
		e.Arousal, e.Dominance, e.Intensity)
}
