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
// empty when there is none. The request is not repeated without it: the configuration is to be corrected, or every call
// of every dream would be made twice.
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
	for _, field := range append([]string{named}, fields...) {
		setting := line(field, f.Message)
		if setting == "" || !slices.Contains(fields, field) || field != named && !Mentions(f.Message, field) {
			continue
		}
		model := strings.TrimPrefix(spec.Name, c.name+"/")
		f.Field = field
		f.Remedy = fmt.Sprintf("it refuses %s; under providers.%s.models say {name: %q, %s}", field, c.name, model,
			setting)
		return
	}
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
