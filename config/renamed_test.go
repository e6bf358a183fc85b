package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

func TestFormerNamesAreReadWithAWarning(t *testing.T) {
	t.Parallel()
	const models = "providers:\n  house:\n    profile: generic\n    base_url: http://h/v1\n    local: true\n    models:\n"
	for name, c := range map[string]struct {
		file   string
		env    []string
		args   []string
		holds  func(config.Config) bool
		source string
		says   string
	}{
		"in a file": {
			file:   "dream:\n  heat_high: 1.4\n",
			holds:  func(c config.Config) bool { return c.Dream.TemperatureHigh == 1.4 },
			source: "file",
			says:   "dream.heat_high is called ",
		},
		"in the environment": {
			env:    []string{"ONEIROS_DREAM_HEAT_LOW=0.35"},
			holds:  func(c config.Config) bool { return c.Dream.TemperatureLow == .35 },
			source: "environment ONEIROS_DREAM_HEAT_LOW",
			says:   "ONEIROS_DREAM_HEAT_LOW is called environment variable ONEIROS_DREAM_TEMPERATURE_LOW now",
		},
		"by --set": {
			args:   []string{"--set", "dream.rem_heat=0.9"},
			holds:  func(c config.Config) bool { return c.Dream.RemTemperature == .9 },
			source: "flag --set",
			says:   "--set dream.rem_heat is called --set dream.rem_temperature now",
		},
		"in a file, under a later place": {
			file:   "dream:\n  heat_high: 1.4\n",
			env:    []string{"ONEIROS_DREAM_TEMPERATURE_HIGH=1.3"},
			holds:  func(c config.Config) bool { return c.Dream.TemperatureHigh == 1.3 },
			source: "environment ONEIROS_DREAM_TEMPERATURE_HIGH",
			says:   "dream.heat_high is called ",
		},
		"both, and the same": {
			file:   "dream:\n  heat_high: 1.4\n  temperature_high: 1.40\n",
			holds:  func(c config.Config) bool { return c.Dream.TemperatureHigh == 1.4 },
			source: "file",
			says:   "dream.heat_high is called ",
		},
		"a choice": {
			file:   "dream:\n  loosening: heat+min_p\n",
			holds:  func(c config.Config) bool { return c.Dream.Loosening == dream.ByTemperatureMinP },
			source: "file",
			says:   "dream.loosening: heat+min_p is called temperature+min_p now",
		},
		"of a model": {
			file: models + "      - {name: a, max_heat: 0.5}\n",
			holds: func(c config.Config) bool {
				return *c.Providers["house"].Models[0].MaxTemperature == .5
			},
			says: "providers.house.models[1].max_heat is called ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, err := load(t, "oneiros.yaml", c.file, c.env, c.args)
			require.NoError(t, err)
			require.True(t, c.holds(loaded))
			require.Len(t, loaded.Warnings, 1)
			require.Contains(t, loaded.Warnings[0], c.says)
			require.Contains(t, loaded.Warnings[0], "until 0.1.0")
			for _, s := range loaded.Settings() {
				if s.Source != "default" {
					require.Contains(t, s.Source, c.source)
				}
			}
		})
	}
	for name, c := range map[string]struct {
		file string
		env  []string
		args []string
		says string
	}{
		"in a file": {
			file: "dream:\n  heat_high: 1.4\n  temperature_high: 1.3\n",
			says: "dream.temperature_high is 1.3; they are one setting: leave out ",
		},
		"in the environment": {
			env:  []string{"ONEIROS_DREAM_HEAT_LOW=0.35", "ONEIROS_DREAM_TEMPERATURE_LOW=0.4"},
			says: `ONEIROS_DREAM_TEMPERATURE_LOW is "0.4"; they are one setting`,
		},
		"by --set": {
			args: []string{"--set", "dream.rem_heat=0.9", "--set", "dream.rem_temperature=0.8"},
			says: `--set dream.rem_temperature is "0.8"; they are one setting`,
		},
		"of a model": {
			file: models + "      - {name: a, max_heat: 0.5, max_temperature: 1}\n",
			says: "they are one setting: leave out ",
		},
	} {
		t.Run("both, and different, "+name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, "oneiros.yaml", c.file, c.env, c.args)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestAFormerNameIsOfOneKnobAndNoKnobOfToday(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, k := range config.Knobs() {
		for _, key := range []string{k.Key, k.Was} {
			require.False(t, keys[key] && key != "", key)
			keys[key] = true
		}
		require.NotContains(t, k.Key, "heat")
		for _, choice := range k.Choices {
			require.NotContains(t, choice, "heat")
		}
	}
}
