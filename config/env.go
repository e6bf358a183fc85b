package config

import (
	"fmt"
	"slices"
	"strings"
)

// otherNames are variables with the prefix that are no knobs: the file to read, the Temporal server to start, and the
// key of oneiros mcp.
var otherNames = []string{"ONEIROS_CONFIG", "ONEIROS_TEMPORALD", "ONEIROS_KEY"}

func environment(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, line := range list {
		if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	return env
}

// envValues is the content of the environment: values by key, and the variable that each came from.
type envValues struct {
	values map[string]any
	names  map[string]string
}

// readEnv reads ONEIROS_ variables: ONEIROS_DREAM_CYCLES is dream.cycles, ONEIROS_PROVIDERS_HOME_BASE_URL is
// providers.home.base_url. An unknown one is only a warning, because schedulers set variables of their own with the
// prefix.
func readEnv(env map[string]string, renamed *renames) (envValues, []string) {
	answer := envValues{values: map[string]any{}, names: map[string]string{}}
	byName := map[string]string{}
	existing := append([]string(nil), otherNames...)
	for _, k := range table() {
		byName[k.Env()] = k.Key
		if k.Was != "" {
			byName[envName(k.Was)] = k.Was
		}
		existing = append(existing, k.Env())
	}
	var warnings []string
	for _, name := range sortedKeys(env) {
		key, ok := byName[name]
		if !ok {
			key, ok = providerVariable(name)
		}
		if !ok {
			key, ok = policyVariable(name)
		}
		switch {
		case ok:
			answer.values[key], answer.names[key] = env[name], name
		case strings.HasPrefix(name, "ONEIROS_") && !slices.Contains(otherNames, name):
			warnings = append(warnings,
				fmt.Sprintf("environment variable %s is no setting and was ignored%s", name,
					nearestHint(name, existing)))
		}
	}
	for _, k := range table() {
		renamed.knob(k, answer.values, "environment variable ", envName)
	}
	return answer, warnings
}

func providerVariable(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "ONEIROS_PROVIDERS_")
	if !ok {
		return "", false
	}
	for field := range providerFields {
		provider, found := strings.CutSuffix(rest, "_"+strings.ToUpper(field))
		if found && provider != "" && field != "models" && field != "api_key" {
			return "providers." + strings.ToLower(provider) + "." + field, true
		}
	}
	return "", false
}
