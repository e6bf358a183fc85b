package config

import (
	"fmt"
	"sort"
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
	for _, name := range sortedNames(env) {
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
		case strings.HasPrefix(name, "ONEIROS_") && !contains(otherNames, name):
			warnings = append(warnings,
				fmt.Sprintf("environment variable %s is no setting and was ignored%s", name,
					nearestHint(name, existing)))
		}
	}
	for _, k := range table() {
		if former := answer.names[k.Was]; k.Was != "" && former != "" {
			if answer.names[k.Key] == "" {
				answer.names[k.Key] = former
			}
			delete(answer.names, k.Was)
		}
		renamed.knob(k, answer.values, func(key string) string { return "environment variable " + envName(key) })
	}
	return answer, warnings
}

func providerVariable(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "ONEIROS_PROVIDERS_")
	if !ok {
		return "", false
	}
	for _, field := range providerKeys {
		provider, found := strings.CutSuffix(rest, "_"+strings.ToUpper(field))
		if found && provider != "" && field != "models" {
			return "providers." + strings.ToLower(provider) + "." + field, true
		}
	}
	return "", false
}

func sortedNames(env map[string]string) []string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
