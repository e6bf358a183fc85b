package config

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:generate env UPDATE=1 go test -run TestReferenceIsWhatTheTableSays .

//go:embed reference.md.tmpl
var referencePage string

// Reference returns docs/configuration.md, generated from the table.
func Reference() string {
	var b strings.Builder
	section := ""
	for _, k := range table() {
		name, _, nested := strings.Cut(k.Key, ".")
		if !nested || name == "store" {
			name = "places"
		}
		if name != section {
			section = name
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| knob | default | unit, limits | reason |\n|---|---|---|---|\n",
				section, about[section])
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Key, defaultText(k), limitsText(k), cell(reasonText(k)))
	}
	return strings.Replace(referencePage, "{{knobs}}\n", b.String(), 1)
}

func defaultText(k Knob) string {
	value, err := k.read(k.Default)
	if err != nil || text(value) == "" {
		return "empty"
	}
	return "`" + text(value) + "`"
}

func limitsText(k Knob) string {
	unit := k.Unit
	switch k.Sort {
	case Choice:
		return cell(strings.Join(k.Choices, " or "))
	case YesNo:
		return "true or false"
	case Span:
		unit = "duration"
		if k.Unlimited {
			unit += ` or "never"`
		}
	case Dollars:
		if k.Unlimited {
			unit += ` or "unlimited"`
		}
	case Whole:
		unit = "whole, " + unit
	}
	switch {
	case !k.bounded():
		return unit
	case k.Sort == Span:
		return fmt.Sprintf("%s, %s to %s", unit, spanOf(k.Low), spanOf(k.High))
	}
	return fmt.Sprintf("%s, %s to %s", unit, plain(k.Low), plain(k.High))
}

func reasonText(k Knob) string {
	text := k.Reason
	if k.Flag != "" {
		text += " Flag: --" + k.Flag + "."
	}
	if k.Was != "" {
		text += " Formerly `" + k.Was + "`."
	}
	return text
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

var about = map[string]string{
	"places":      "Where things lie on this machine.",
	"temporal":    "How to reach the Temporal cluster that runs the dreams.",
	"seal":        "Which keys seal what Temporal stores of a dream. docs/sealing.md says what that is, and how to make and change keys.",
	"worker":      "How much one process takes on.",
	"serve":       "The server that clients talk to: OpenAI's wire, MCP and the dreams API. docs/serving.md says how.",
	"roles":       "Which model does what. Each names `provider/model`; an agent may name its own with `oneiros agents edit`.",
	"embedder":    "What the built-in embedders need. docs/models.md compares them.",
	"money":       "Hard caps. A call whose worst case does not fit under every cap is not made.",
	"agent":       "When agents dream by themselves, how long a client or an alarm holds them awake, and how much of a dream they can afford.",
	"predictions": "What resolves predictions. docs/predictions.md says how.",
	"rooms":       "What agents may cost in rooms. docs/rooms.md says how rooms work.",
	"feed":        "Where the readings come in that alarms watch.",
	"archive":     "Where events are kept outside the store (docs/events.md).",
	"retention":   "How long what has become history is kept; memory itself does not age. docs/retention.md says more.",
	"metrics":     "Where metrics are served (docs/events.md).",
	"policy":      "What no dream may develop. It is frozen into a dream's request when it begins. docs/policy.md says how a text is checked.",
	"log":         "What the process says about itself.",
	"consent":     "What may be used without asking again.",
	"dream":       "Every number that shapes a dream. They are frozen into a dream's request when it begins: a change never alters one that is running.",
}
