package openaigw

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

const responseFormat = "response_format"

// remedy looks for the field that a refusal names and adds the line of configuration that leaves it out. The request
// is not repeated without it: the configuration is to be corrected, or every call of every dream would be made twice.
func (g *Gateway) remedy(err error, spec inference.Spec, w written) {
	f, ok := inference.AsFailure(err)
	if !ok {
		return
	}
	named := f.Field
	f.Field = ""
	if f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity {
		return
	}
	for _, field := range append([]string{named}, w.fields...) {
		line := g.lineAgainst(field, f.Message)
		if line == "" || !slices.Contains(w.fields, field) || field != named && !mentions(f.Message, field) {
			continue
		}
		model := strings.TrimPrefix(spec.Name, g.Name()+"/")
		f.Field = field
		f.Remedy = fmt.Sprintf("it refuses %s; under providers.%s.models say {name: %q, %s}", field, g.Name(), model,
			line)
		return
	}
}

// lineAgainst is the setting of a model that keeps a field from being sent; empty when there is none.
func (g *Gateway) lineAgainst(field, message string) string {
	switch field {
	case g.profile.Temperature:
		return "max_temperature: 0" + cooler(message)
	case g.profile.MinP:
		return "min_p: false"
	case g.profile.TopP:
		return "top_p: false"
	case g.profile.Seed:
		return "seed: false"
	case g.profile.Stop:
		return "stop: false"
	case g.profile.LogProbs:
		return "log_probs: false"
	case responseFormat:
		return "json: prompt"
	}
	// A limit is also named when it is only too high, which no setting of the model corrects.
	switch {
	case field == g.profile.MaxTokens && field != g.profile.MaxThinking && mentions(message, g.profile.MaxThinking):
		return "reasoning: true"
	case field == g.profile.MaxThinking && field != g.profile.MaxTokens && unknownField.MatchString(message):
		return "reasoning: false"
	}
	return ""
}

var (
	unknownField = regexp.MustCompile(
		`(?i)unsupported|unknown|unrecogni[sz]ed|not permitted|not supported|extra (?:fields?|inputs?)`)
	tooHot = regexp.MustCompile(`(?i)(?:between|at most|less than|<=|≤|maximum|up to|range)`)
)

// cooler adds a hint for a model that accepts temperatures, but none as high.
func cooler(message string) string {
	if tooHot.MatchString(message) {
		return " or the highest it takes"
	}
	return ""
}

// mentions reports whether a text names a field as a word of its own, with any separator between two words.
func mentions(message, field string) bool {
	if field == "" {
		return false
	}
	name := strings.ReplaceAll(regexp.QuoteMeta(field), "_", "[_ -]")
	found, err := regexp.MatchString(`(?i)(?:^|[^a-z0-9_])`+name+`(?:$|[^a-z0-9_])`, message)
	return err == nil && found
}
