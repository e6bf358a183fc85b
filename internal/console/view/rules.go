package view

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// shapes are the words after the kind and the metric of a rule.
var shapes = map[dream.RuleKind][]string{
	dream.RiseFall: {"NUMBER", "WINDOW"}, dream.RelativeMove: {"SHARE", "WINDOW"},
	dream.RelativeDrop: {"SHARE", "WINDOW"},
	dream.Above:        {"NUMBER"}, dream.Below: {"NUMBER"}, dream.StateIs: {"WORD"}, dream.Stale: {"WINDOW"},
}

// ParseRule parses a rule: "price", "price eth", "relative_change eth 5% 10m", "crash=relative_drop eth 20% 1h".
func ParseRule(text string) (dream.Rule, error) {
	wrong := func(format string, args ...any) (dream.Rule, error) {
		return dream.Rule{}, fmt.Errorf("%q: %w", text, fmt.Errorf(format, args...))
	}
	name, rest, named := strings.Cut(text, "=")
	if !named || strings.ContainsAny(strings.TrimSpace(name), " \t") {
		name, rest = "", text
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return wrong("it is empty; name a preset, or a kind with its metric and numbers")
	}
	rule, preset := alarm.Preset(words[0])
	kind := dream.RuleKind(words[0])
	shape, found := shapes[kind]
	words, rearm := rearmed(kind, words)
	switch {
	case preset && len(words) > 2:
		return wrong("the preset %s takes a metric at most", words[0])
	case preset:
		rule.Metric = metric(words)
	case !found:
		return wrong("%q is neither a preset (%s) nor a kind (%s)", words[0], strings.Join(presetNames(), ", "),
			cli.Listed(alarm.Kinds))
	case len(words) != 2+len(shape) && (kind == dream.Above || kind == dream.Below):
		return wrong("it must be %s METRIC NUMBER, or %s METRIC NUMBER rearm NUMBER", kind, kind)
	case len(words) != 2+len(shape):
		return wrong("it must be %s METRIC %s", words[0], strings.Join(shape, " "))
	default:
		rule = dream.Rule{Kind: dream.RuleKind(words[0]), Metric: metric(words)}
		rule.Name = nameOf(rule)
		var faults []error
		for i, what := range shape {
			faults = append(faults, fill(&rule, what, words[2+i]))
		}
		if rearm != "" {
			faults = append(faults, widen(&rule, rearm))
		}
		if err := errors.Join(faults...); err != nil {
			return wrong("%w", err)
		}
	}
	name = strings.TrimSpace(name)
	if name != "" {
		rule.Name = name
	}
	return rule, nil
}

// rearmed cuts the last two words off a rule with a threshold: "above level 4 rearm 3.5".
func rearmed(kind dream.RuleKind, words []string) (rest []string, rearm string) {
	if end := len(words) - 2; end > 0 && words[end] == "rearm" && (kind == dream.Above || kind == dream.Below) {
		return words[:end], words[end+1]
	}
	return words, ""
}

// widen sets the rule's margin up to the number at which it may fire again.
func widen(rule *dream.Rule, rearm string) error {
	at, err := strconv.ParseFloat(rearm, 64)
	if err != nil {
		return fmt.Errorf("rearm %q must be a number", rearm)
	}
	rule.Margin = rule.Number - at
	if rule.Kind == dream.Below {
		rule.Margin = -rule.Margin
	}
	if rule.Margin < 0 {
		return fmt.Errorf("rearm %s is on the side where the rule is true; it must be where %s %s is not", rearm,
			rule.Kind, rounded(rule.Number))
	}
	return nil
}

// rounded formats a number without the noise of binary fractions.
func rounded(n float64) string { return strconv.FormatFloat(n, 'g', 12, 64) }

func metric(words []string) string {
	if len(words) < 2 || words[1] == "-" {
		return ""
	}
	return words[1]
}

func fill(rule *dream.Rule, what, word string) (err error) {
	switch what {
	case "WORD":
		rule.State = word
	case "WINDOW":
		rule.Window, err = time.ParseDuration(word)
		if err != nil {
			return fmt.Errorf("window %q must be a duration, as in 10m or 1h", word)
		}
	default:
		share, percent := strings.CutSuffix(word, "%")
		rule.Number, err = strconv.ParseFloat(share, 64)
		if err != nil || percent && what != "SHARE" {
			return fmt.Errorf("%s %q must be a number", strings.ToLower(what), word)
		}
		if percent {
			rule.Number /= 100
		}
	}
	return nil
}

// nameOf makes a name for a rule without one: its kind and metric, as far as names may contain them.
func nameOf(r dream.Rule) string {
	name := string(r.Kind)
	if r.Metric != "" {
		name += "-" + strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
				return c
			}
			return '_'
		}, strings.ToLower(r.Metric))
	}
	return name[:min(len(name), cli.LongestRuleName)]
}

func presetNames() []string {
	var names []string
	for _, r := range alarm.Presets() {
		names = append(names, r.Name)
	}
	return names
}

// RuleText describes a rule.
func RuleText(r dream.Rule, named bool) string {
	what := r.Metric
	if what == "" {
		what = "it"
	}
	number := strconv.FormatFloat(r.Number, 'g', -1, 64)
	share := strconv.FormatFloat(math.Round(r.Number*1e6)/1e4, 'g', -1, 64) + " %"
	text := ""
	switch r.Kind {
	case dream.RiseFall:
		text = fmt.Sprintf("%s moves by %s within %s", what, number, cli.Span(r.Window))
	case dream.RelativeMove:
		text = fmt.Sprintf("%s moves by %s within %s", what, share, cli.Span(r.Window))
	case dream.RelativeDrop:
		text = fmt.Sprintf("%s falls by %s within %s", what, share, cli.Span(r.Window))
	case dream.Above, dream.Below:
		text = fmt.Sprintf("%s is %s %s", what, r.Kind, number)
		switch {
		case r.Margin > 0 && r.Kind == dream.Above:
			text += ", again after " + rounded(r.Number-r.Margin)
		case r.Margin > 0:
			text += ", again after " + rounded(r.Number+r.Margin)
		}
	case dream.StateIs:
		text = fmt.Sprintf("%s says %s", what, r.State)
	case dream.Stale:
		text = fmt.Sprintf("%s says nothing for %s", what, cli.Span(r.Window))
	default:
		text = string(r.Kind)
	}
	if r.Quiet {
		text += ", quietly"
	}
	if named {
		return r.Name + ": " + text
	}
	return text
}

// numeric matches the beginning of a number.
var numeric = regexp.MustCompile(`^[+-]?[.,]?[0-9]`)

// ParseReading parses a reading: a number, or a word, which is a state; with the name of its metric when the feed has
// several.
func ParseReading(text string) (dream.Reading, error) {
	name, value, named := strings.Cut(text, "=")
	if !named {
		name, value = "", text
	}
	r := dream.Reading{Metric: strings.TrimSpace(name)}
	value = strings.TrimSpace(value)
	number, err := strconv.ParseFloat(value, 64)
	switch {
	case err == nil:
		r.Number = &number
	case numeric.MatchString(value):
		return r,
			fmt.Errorf(
				"reading %q: %q begins like a number and is none; numbers are like 1.5, -20 or 3e6, and words begin with a letter",
				text, value)
	default:
		r.State = value
	}
	if err := alarm.ValidateReading(r); err != nil {
		return r, fmt.Errorf("reading %q: %w", text, err)
	}
	return r, nil
}
