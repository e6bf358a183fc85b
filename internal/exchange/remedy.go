package exchange

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Remedy looks for the field that a refusal names and adds the line of configuration that leaves it out. fields are
// those of the request that a model may refuse, and line returns the setting of a model that keeps one from being sent;
// empty when there is none. A refusal of a prompt that is too long has a line of its own. The request is not repeated:
// the configuration is to be corrected, or every call of every dream would be made twice.
func (c *Client) Remedy(err error, spec inference.Spec, fields []string, line func(field, message string) string) {
	f, ok := inference.AsFailure(err)
	if !ok {
		return
	}
	named := f.Field
	f.Field = ""
	if f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity {
		return
	}
	model := strings.TrimPrefix(spec.Name, c.name+"/")
	if window, tooLong := contextIn(f.Message); tooLong {
		f.Remedy = fmt.Sprintf("the prompt is longer than the model's context; under providers.%s.models say "+
			"{name: %q, context: %s}", c.name, model, window)
		return
	}
	for _, field := range append([]string{named}, fields...) {
		setting := line(field, f.Message)
		if setting == "" || !slices.Contains(fields, field) || field != named && !Mentions(f.Message, field) {
			continue
		}
		f.Field = field
		f.Remedy = fmt.Sprintf("it refuses %s; under providers.%s.models say {name: %q, %s}", field, c.name, model,
			setting)
		return
	}
}

// tooLong are the ways in which servers say that a prompt does not fit, with the size of the context where they say it:
// OpenAI and vLLM, Anthropic, and llama.cpp.
var tooLong = []*regexp.Regexp{
	regexp.MustCompile(`(?i)maximum context length is (\d+) tokens`),
	regexp.MustCompile(`(?i)prompt is too long: \d+ tokens > (\d+) maximum`),
	regexp.MustCompile(`(?i)exceeds? the available context size(?: \((\d+) tokens\))?`),
	regexp.MustCompile(`(?i)exceeds the context window`),
}

// contextIn is the size of the context that a refusal names, where it says that the prompt is longer.
func contextIn(message string) (size string, is bool) {
	for _, each := range tooLong {
		if found := each.FindStringSubmatch(message); found != nil {
			if len(found) > 1 && found[1] != "" {
				return found[1], true
			}
			return "what it takes", true
		}
	}
	return "", false
}

var tooHot = regexp.MustCompile(`(?i)(?:between|at most|less than|<=|≤|maximum|up to|range)`)

// NoTemperature is the setting of a model that refuses a temperature, with a hint where it only refuses one as high.
func NoTemperature(message string) string {
	if tooHot.MatchString(message) {
		return "max_temperature: 0 or the highest it takes"
	}
	return "max_temperature: 0"
}

// Mentions reports whether a text names a field as a word of its own, with any separator between two words.
func Mentions(message, field string) bool {
	if field == "" {
		return false
	}
	name := strings.ReplaceAll(regexp.QuoteMeta(field), "_", "[_ -]")
	found, err := regexp.MatchString(`(?i)(?:^|[^a-z0-9_])`+name+`(?:$|[^a-z0-9_])`, message)
	return err == nil && found
}
