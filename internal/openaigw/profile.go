package openaigw

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Never as a field's name means that the field is not sent.
const Never = "-"

// Profile says which fields a kind of server understands and how it names them. An empty name is the usual one, Never
// leaves the field out. What a single model refuses is in its inference.Spec; a field is sent when both allow it.
type Profile struct {
	Temperature string
	TopP        string
	MinP        string
	Seed        string
	Stop        string
	MaxTokens   string                     // limit of models that do not reason first
	MaxThinking string                     // limit of models that do: visible answer and reasoning together
	LogProbs    string                     // whether the log-probabilities of tokens can be requested
	NoUsage     bool                       // the server refuses stream_options
	Extra       map[string]json.RawMessage // sent with every generation, such as a provider's routing fields
	// Steer are templates of the steering fields for models without their own.
	Steer map[string]json.RawMessage
}

// Profiles of known servers, from their documented request types: OpenAI knows no min_p, and Ollama's /v1 silently
// drops it, so neither is sent it; OpenRouter ignores what the chosen host does not support unless asked to require
// it.
var profiles = map[string]Profile{
	"":         {},
	"openai":   {MinP: Never},
	"ollama":   {MinP: Never, MaxThinking: "max_tokens"},
	"llamacpp": {},
	"vllm":     {},
	"sglang":   {},
	"oneiros": {
		Steer: map[string]json.RawMessage{
			"steering": json.RawMessage(`{"vector":"{{vector}}","alpha":"{{alpha}}","layers":"{{span}}"}`),
		},
	},
	"openrouter": {Extra: map[string]json.RawMessage{"provider": json.RawMessage(`{"require_parameters":true}`)}},
	"venice": {
		Extra: map[string]json.RawMessage{
			"venice_parameters": json.RawMessage(`{"include_venice_system_prompt":false}`),
		},
	},
}

// ProfileOf returns the profile of a kind of server; the empty name is any compatible server.
func ProfileOf(kind string) (Profile, error) {
	p, ok := profiles[kind]
	if !ok {
		existing := slices.Sorted(maps.Keys(profiles))
		return Profile{},
			fmt.Errorf("profile %q is not known; it must be one of %s, or be left out", kind,
				strings.Join(existing[1:], ", "))
	}
	p.Extra = maps.Clone(p.Extra)
	return p, nil
}

// ownFields are the fields that this package writes itself.
var ownFields = []string{
	"model", "messages", "stream", "stream_options", "response_format", "tools", "tool_choice",
	"functions", "n",
}

func (p Profile) validate() error {
	var faults []error
	n := p.named()
	taken := append([]string{n.Temperature, n.TopP, n.MinP, n.Seed, n.Stop, n.MaxTokens, n.MaxThinking, n.LogProbs},
		ownFields...)
	for _, field := range slices.Sorted(maps.Keys(p.Extra)) {
		if slices.Contains(taken, field) {
			faults = append(faults, fmt.Errorf("extra field %q is written by the gateway itself; leave it out", field))
		}
		if !json.Valid(p.Extra[field]) {
			faults = append(faults, fmt.Errorf("extra field %q is not JSON", field))
		}
	}
	names := []string{n.Temperature, n.TopP, n.MinP, n.Seed, n.Stop, n.MaxTokens, n.LogProbs}
	for i, name := range names {
		if name != Never && (slices.Contains(names[:i], name) || slices.Contains(ownFields, name)) {
			faults = append(faults, fmt.Errorf("field name %q is used twice", name))
		}
	}
	if n.MaxTokens == Never || n.MaxThinking == Never {
		faults = append(faults, errors.New("max_tokens must be sent: an answer without a limit has no price"))
	}
	return errors.Join(faults...)
}

// named fills in the usual names.
func (p Profile) named() Profile {
	usual := func(name *string, usual string) {
		if *name == "" {
			*name = usual
		}
	}
	usual(&p.Temperature, "temperature")
	usual(&p.TopP, "top_p")
	usual(&p.MinP, "min_p")
	usual(&p.Seed, "seed")
	usual(&p.Stop, "stop")
	usual(&p.MaxTokens, "max_tokens")
	usual(&p.MaxThinking, "max_completion_tokens")
	usual(&p.LogProbs, "logprobs")
	return p
}
