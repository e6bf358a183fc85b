package inference

import (
	"slices"
	"strings"
	"unicode"
)

// BeyondTokens is a field of a request, or a type of a content part, whose price the tokens of the request do not
// bound.
type BeyondTokens struct {
	Name string
	Why  string // what it does, as a clause: "it chooses other models"
}

const (
	otherModels = "it chooses other models or hosts, at prices of their own"
	otherSpeed  = "another tier or place of service has other prices"
	perSearch   = "searches are billed by the call"
	elsewhere   = "it brings in content that is kept elsewhere and cannot be counted here"
	otherMedia  = "sound, video and files cannot be counted here, and sound has prices of its own"
	otherLimit  = "it can hold a maximum of tokens in a form that is not read here"
)

// beyondTokens is the maintained list. Names are compared by FieldKey, so that serviceTier is service_tier.
var beyondTokens = []BeyondTokens{
	{"api_base", otherModels},
	{"api_key", otherModels},
	{"attachments", elsewhere},
	{"audio", otherMedia},
	{"audio_url", otherMedia},
	{"base_url", otherModels},
	{"chat_template", "it can repeat the prompt as often as it likes"},
	{"connectors", perSearch},
	{"container", "the provider runs code, billed by time"},
	{"conversation", elsewhere},
	{"custom_llm_provider", otherModels},
	{"document", elsewhere},
	{"enable_search", perSearch},
	{"extra_body", otherModels},
	{"extra_headers", otherModels},
	{"fallbacks", otherModels},
	{"file", otherMedia},
	{"file_id", elsewhere},
	{"file_ids", elsewhere},
	{"generation_config", otherLimit},
	{"inference_config", otherLimit},
	{"inference_geo", otherSpeed},
	{"input_audio", otherMedia},
	{"input_file", otherMedia},
	{"input_video", otherMedia},
	{"mcp_servers", "the provider calls tools, billed by the call"},
	{"modalities", "sound and pictures in the answer have prices of their own"},
	{"model_list", otherModels},
	{"models", otherModels},
	{"options", otherLimit},
	{"parameters", otherLimit},
	{"performance_config", otherSpeed},
	{"plugins", "plugins are billed by the call"},
	{"preset", otherModels},
	{"previous_response_id", elsewhere},
	{"provider", otherModels},
	{"provider_options", otherModels},
	{"route", otherModels},
	{"search_options", perSearch},
	{"search_parameters", perSearch},
	{"service_tier", otherSpeed},
	{"speed", otherSpeed},
	{"tool_resources", elsewhere},
	{"tools", "tools that the provider runs itself are billed by the call; those of type function and custom pass"},
	{"transforms", "the provider changes the prompt"},
	{"vector_store_ids", elsewhere},
	{"video", otherMedia},
	{"video_url", otherMedia},
	{"web_search_options", perSearch},
}

// FieldsBeyondTokens lists the fields that are sent to a paid model only where the deployment allows them by name.
func FieldsBeyondTokens() []BeyondTokens { return slices.Clone(beyondTokens) }

var beyondByKey = func() map[string]BeyondTokens {
	all := make(map[string]BeyondTokens, len(beyondTokens))
	for _, f := range beyondTokens {
		all[FieldKey(f.Name)] = f
	}
	return all
}()

// FieldBeyondTokens finds a field of the list in any spelling.
func FieldBeyondTokens(name string) (BeyondTokens, bool) {
	f, ok := beyondByKey[FieldKey(name)]
	return f, ok
}

// FieldKey is a field's name without case, underscores and hyphens: the loosest comparison that JSON parsers make.
func FieldKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, FoldField(name))
}

// FoldField is a field's name without regard to case, as encoding/json compares names: by Unicode's simple folding, so
// that ſ is s and the Kelvin sign is k. The two Turkish letters that Java takes for i are i as well.
func FoldField(name string) string {
	return strings.Map(func(r rune) rune {
		if r == 'ı' || r == 'İ' {
			return 'i'
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if least >= 'A' && least <= 'Z' {
			least += 'a' - 'A'
		}
		return least
	}, name)
}
