package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

func dreamFields(t *testing.T) map[string]bool {
	t.Helper()
	body, err := json.Marshal(dream.DefaultKnobs())
	require.NoError(t, err)
	var nested map[string]any
	require.NoError(t, json.Unmarshal(body, &nested))
	fields := map[string]bool{}
	for name, value := range nested {
		if inner, ok := value.(map[string]any); ok {
			for part := range inner {
				fields["dream."+name+"."+part] = true
			}
			continue
		}
		fields["dream."+name] = true
	}
	return fields
}

func TestEveryNumberOfADreamIsAKnobAndNoOtherIs(t *testing.T) {
	t.Parallel()
	fields := dreamFields(t)
	for _, k := range config.Knobs() {
		if strings.HasPrefix(k.Key, "dream.") {
			require.True(t, fields[k.Field], "%s is no field of dream.Knobs", k.Field)
			delete(fields, k.Field)
		}
	}
	require.Empty(t, fields, "fields of dream.Knobs without a row")
}

func TestLimitsOfTheTableAreThoseOfTheDream(t *testing.T) {
	t.Parallel()
	for _, k := range config.Knobs() {
		if !strings.HasPrefix(k.Key, "dream.") || k.Sort == config.YesNo || strings.HasPrefix(k.Key, "dream.shares.") {
			continue
		}
		t.Run(k.Key, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []struct {
				at    float64
				valid bool
			}{{k.Low, true}, {k.High, true}, {k.High + 1, false}, {k.Low - 1, false}} {
				knobs := dream.DefaultKnobs()
				value := fmt.Sprint(limit.at)
				if k.Sort == config.Span {
					value = fmt.Sprintf("%.0f", limit.at*1e9)
				}
				name := strings.TrimPrefix(k.Key, "dream.")
				stored := fmt.Sprintf(`{%q: %s}`, strings.TrimPrefix(k.Field, "dream."), wholeText(k, value))
				if err := json.Unmarshal([]byte(stored), &knobs); err != nil {
					continue // a negative count is never valid
				}
				err := knobs.Validate()
				named := err != nil &&
					(strings.Contains(err.Error(), name+" is") || strings.Contains(err.Error(), name+" (")) &&
					strings.Contains(err.Error(), "must lie between")
				require.Equal(t, !limit.valid, named, "%s = %s: %v", k.Key, value, err)
			}
		})
	}
}

func wholeText(k config.Knob, value string) string {
	if k.Sort == config.Whole {
		var n float64
		if _, err := fmt.Sscan(value, &n); err == nil {
			return fmt.Sprintf("%.0f", n)
		}
	}
	return value
}

// What the file of knobs repeats of the rules: their defaults, and the words of their choices.
func TestDefaultsAndChoicesAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	require.Equal(t, circadian.DefaultThresholds, c.Agent.Vitality)
	require.Equal(t, circadian.DefaultUrgencyRule, c.Agent.UrgencyRule())
	choices := map[string][]string{
		"agent.digest":   journal.Digests,
		"agent.review":   {string(dream.ReviewAuto), string(dream.ReviewAsk), string(dream.JournalOnly)},
		"policy.unclear": {string(policy.Flag), string(policy.Bar)},
		"serve.keys":     {config.KeysAuto, config.KeysRequired},
		"dream.judging":  {dream.JudgingAuto, dream.BySingle, dream.ByTogether},
		"dream.depth":    {dream.DepthAdaptive, dream.DepthFixed},
	}
	for _, k := range config.Knobs() {
		if want, listed := choices[k.Key]; listed {
			require.Equal(t, want, k.Choices, k.Key)
		}
		if k.Key == "dream.loosening" {
			require.Len(t, k.Former, len(dream.FormerLoosenings))
			for former, now := range dream.FormerLoosenings {
				require.Equal(t, string(now), k.Former[former])
			}
		}
	}
}
