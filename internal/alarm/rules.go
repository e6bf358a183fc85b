package alarm

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// presets are three predefined alarms, for a rule with only a name and a metric. The price window is longer than any
// onset, so that a change over a whole one is seen, and short enough that a market that moves 4 % a day (0.4 % in 15
// minutes, by the square root of time) does not reach 5 % by ordinary noise. A fifth of the liquidity within an hour
// is what many withdrawals do to a pool and a single trade does not. The figures except the 5 % are our choice.
var presets = []dream.Rule{
	{Name: "price", Kind: dream.RelativeMove, Number: .05, Window: 15 * time.Minute},
	{Name: "liquidity", Kind: dream.RelativeDrop, Number: .20, Window: time.Hour},
	{Name: "pause", Kind: dream.StateIs, State: "paused"},
}

// Presets lists the predefined alarms.
func Presets() []dream.Rule { return slices.Clone(presets) }

// Preset finds one by its name.
func Preset(name string) (dream.Rule, bool) {
	i := slices.IndexFunc(presets, func(r dream.Rule) bool { return r.Name == name })
	if i < 0 {
		return dream.Rule{}, false
	}
	return presets[i], true
}

// Kinds of rules, in the order of activities/port/dream.
var Kinds = []dream.RuleKind{
	dream.RiseFall, dream.RelativeMove, dream.RelativeDrop, dream.Above, dream.Below,
	dream.StateIs, dream.Stale,
}

// Limits of a feed.
const (
	MostRules     = 16
	Soonest       = time.Second        // a pull adds ten events to a workflow's history
	Slowest       = 24 * time.Hour     // a feed read less than daily would miss whole nights
	LongestWindow = 7 * 24 * time.Hour // of the readings that the workflow carries
)

var (
	word    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	trigger = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*)?$`)
)

// LongestTrigger is the most bytes of an alarm's trigger, which is stored with every wake.
const LongestTrigger = 100

// ValidateTrigger returns what is wrong with the trigger of an alarm: a name, or feed/rule.
func ValidateTrigger(s string) error {
	if len(s) > LongestTrigger || !trigger.MatchString(s) {
		return fmt.Errorf(
			"%q must be a name of letters, digits, dots, - and _, or two with a / between, at most %d bytes, "+
				"such as harbour/drill",
			brief(s), LongestTrigger)
	}
	return nil
}

// ValidateName returns what is wrong with the name of a feed.
func ValidateName(s string) error {
	if !word.MatchString(s) {
		return fmt.Errorf(
			"feed name %q must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter, such as harbour", brief(s))
	}
	return nil
}

// Validate returns every fault of a rule.
func Validate(r dream.Rule) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("rule %q: "+format, append([]any{brief(r.Name)}, args...)...))
	}
	if !word.MatchString(r.Name) {
		fault("name must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter")
	}
	if len(r.Metric) > LongestWord {
		fault("metric is %d bytes long; %d at most", len(r.Metric), LongestWord)
	}
	if reason := wrongKind(r); reason != "" {
		fault("%s", reason)
	}
	if r.Margin != 0 && r.Kind != dream.Above && r.Kind != dream.Below {
		fault("margin is %v; only above and below have one", r.Margin)
	} else if !isFinite(r.Margin) || r.Margin < 0 {
		fault("margin is %v; it must be 0 or more, and finite", r.Margin)
	}
	if (changes(r.Kind) || r.Kind == dream.Stale) && (r.Window < Soonest || r.Window > LongestWindow) {
		fault("window is %s; a %s needs one between %s and %s", r.Window, r.Kind, Soonest, LongestWindow)
	}
	return errors.Join(faults...)
}

// wrongKind says what is wrong with the kind of a rule and what it compares with; empty for nothing.
func wrongKind(r dream.Rule) string {
	positive := isFinite(r.Number) && r.Number > 0
	switch r.Kind {
	case dream.RiseFall, dream.RelativeMove:
		if !positive {
			return fmt.Sprintf("number is %v; a %s needs how far the number moves, above 0%s", r.Number, r.Kind,
				asShare(r.Kind))
		}
	case dream.RelativeDrop:
		if !positive || r.Number > 1 {
			return fmt.Sprintf("number is %v; a drop is a share above 0 and at most 1: 0.2 is 20 %%", r.Number)
		}
	case dream.Above, dream.Below:
		if !isFinite(r.Number) {
			return fmt.Sprintf("number is %v; it must be finite", r.Number)
		}
	case dream.StateIs:
		if r.State == "" || len(r.State) > LongestWord {
			return fmt.Sprintf("state %q must be a word of 1 to %d bytes, such as paused", brief(r.State), LongestWord)
		}
	case dream.Stale:
	default:
		return fmt.Sprintf("kind %q is unknown; kinds are %v", brief(string(r.Kind)), Kinds)
	}
	return ""
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func asShare(kind dream.RuleKind) string {
	if kind == dream.RelativeMove {
		return ": 0.05 is 5 %"
	}
	return ""
}

// ValidateFeed returns every fault of a feed. It quotes nothing of the URL, which may hold a secret.
func ValidateFeed(f dream.Feed) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := ValidateName(f.Name); err != nil {
		faults = append(faults, err)
	}
	if f.URL != "" {
		if scheme, rest, ok := strings.Cut(f.URL, "://"); !ok || rest == "" || scheme != "https" && scheme != "http" {
			fault("url must begin with https:// or http:// and name a host")
		}
		if f.Every < Soonest || f.Every > Slowest {
			fault("every is %s; a feed with a url is read every %s to %s", f.Every, Soonest, Slowest)
		}
	} else if f.Path != "" || f.Every != 0 {
		fault("path %q and every %s belong to a url, and there is none: a feed without one is only pushed",
			brief(f.Path), f.Every)
	}
	if len(f.Rules) > MostRules {
		fault("there are %d rules; %d at most", len(f.Rules), MostRules)
	}
	seen := map[string]bool{}
	for _, r := range f.Rules {
		if err := Validate(r); err != nil {
			faults = append(faults, err)
			continue
		}
		if seen[r.Name] {
			fault("two rules are named %q; every rule has its own name", r.Name)
		}
		seen[r.Name] = true
		if f.URL != "" && (changes(r.Kind) || r.Kind == dream.Stale) && r.Window < 2*f.Every {
			fault("rule %q: window is %s and the feed is read every %s; the window must hold two readings", r.Name,
				r.Window, f.Every)
		}
	}
	return errors.Join(faults...)
}
