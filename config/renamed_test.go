package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

func TestFormerNamesAreRefusedWithTodays(t *testing.T) {
	t.Parallel()
	const models = "providers:\n  house:\n    profile: generic\n    base_url: http://h/v1\n    local: true\n    models:\n"
	for name, c := range map[string]struct {
		file string
		env  []string
		args []string
		says string
	}{
		"in a file": {
			file: "dream:\n  heat_high: 1.4\n",
			says: "oneiros.yaml: dream.heat_high is called dream.temperature_high since 0.1.0",
		},
		"in the environment": {
			env:  []string{"ONEIROS_DREAM_HEAT_LOW=0.35"},
			says: "environment variable ONEIROS_DREAM_HEAT_LOW is called ONEIROS_DREAM_TEMPERATURE_LOW since 0.1.0",
		},
		"by --set": {
			args: []string{"--set", "dream.rem_heat=0.9"},
			says: "--set dream.rem_heat is called dream.rem_temperature since 0.1.0",
		},
		"beside the name of today": {
			file: "dream:\n  heat_high: 1.4\n  temperature_high: 1.4\n",
			says: "dream.heat_high is called dream.temperature_high since 0.1.0",
		},
		"under a later place": {
			file: "dream:\n  heat_high: 1.4\n",
			env:  []string{"ONEIROS_DREAM_TEMPERATURE_HIGH=1.3"},
			says: "dream.heat_high is called dream.temperature_high since 0.1.0",
		},
		"a choice": {
			file: "dream:\n  loosening: heat+min_p\n",
			says: "dream.loosening: heat+min_p is called temperature+min_p since 0.1.0",
		},
		"a choice in the environment": {
			env:  []string{"ONEIROS_DREAM_LOOSENING=HEAT"},
			says: "environment variable ONEIROS_DREAM_LOOSENING: heat is called temperature since 0.1.0",
		},
		"of a model": {
			file: models + "      - {name: a, max_heat: 0.5}\n",
			says: "providers.house.models[1].max_heat is called max_temperature since 0.1.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, err := load(t, "oneiros.yaml", c.file, c.env, c.args)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "is no setting")
			require.Len(t, strings.Split(err.Error(), "\n"), 1, "one fault is enough")
			require.Empty(t, loaded.Warnings)
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
