package config

import (
	"fmt"
	"slices"
	"strings"
)

// otherNames are variables with the prefix that are no knobs: the file to read, the Temporal server to start, the key of
// oneiros mcp, and the password that docs/redis.md names for store.password_env and for oneiros store move.
var otherNames = []string{"ONEIROS_CONFIG", "ONEIROS_TEMPORALD", "ONEIROS_KEY", "ONEIROS_REDIS_PASSWORD"}

// unknownVariable is a variable with the prefix that is no knob.
type unknownVariable struct{ name, hint string }

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
func readEnv(env map[string]string, renamed *renames) (envValues, []unknownVariable) {
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
	var unknown []unknownVariable
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
			unknown = append(unknown, unknownVariable{name, nearestHint(name, existing)})
		}
	}
	for _, k := range table() {
		renamed.knob(k, answer.values, "environment variable ", envName)
	}
	return answer, unknown
}

// ignored warns of the variables that nothing reads. The configuration may name any variable as the place of a secret.
func ignored(c *Config, unknown []unknownVariable) (warnings []string) {
	read := []string{
		c.Store.PasswordEnv, c.Store.Sentinel.PasswordEnv, c.Temporal.KeyEnv, c.Seal.KeysEnv,
	}
	for _, p := range c.Providers {
		read = append(read, p.KeyEnv)
	}
	for _, h := range c.Hooks {
		read = append(read, h.SecretEnv)
	}
	for _, v := range unknown {
		login := c.Matrix.LoginEnv
		if slices.Contains(read, v.name) || login != "" && strings.HasPrefix(v.name, strings.ToUpper(login)+"_") {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("environment variable %s is no setting and was ignored%s", v.name, v.hint))
	}
	return warnings
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
