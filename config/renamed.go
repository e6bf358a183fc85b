package config

import (
	"fmt"
	"slices"
	"strings"
)

// renames accepts settings under their former names until 0.1.0. A later source takes precedence over an earlier one,
// whichever name it uses. One source may use both names only with the same value.
type renames struct {
	warnings []string
	faults   []error
}

// knob applies the former name of a knob within one source. given are the source's values by key, and called returns
// how the source spells a key.
func (r *renames) knob(k Knob, given map[string]any, called func(key string) string) {
	former, ok := given[k.Was]
	if k.Was != "" && ok && former != nil {
		now, both := given[k.Key]
		both = both && now != nil
		if !both {
			given[k.Key] = former
		}
		delete(given, k.Was)
		switch {
		case both && !k.same(former, now):
			r.faults = append(r.faults, fmt.Errorf("%s is %s and %s is %s; they are one setting: leave out %s",
				called(k.Was), quoted(former), called(k.Key), quoted(now), called(k.Was)))
		default:
			r.warn(called(k.Was), called(k.Key))
		}
	}
	for former, now := range k.Former {
		if word, isText := given[k.Key].(string); isText && strings.EqualFold(word, former) {
			given[k.Key] = now
			r.warn(called(k.Key)+": "+former, now)
		}
	}
}

func (r *renames) warn(former, now string) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s is called %s now; the former name is read until 0.1.0", former, now))
}

// same reports whether two values of a knob mean the same; unreadable values do not.
func (k Knob) same(a, b any) bool {
	first, err := k.read(a)
	if err != nil {
		return false
	}
	second, err := k.read(b)
	return err == nil && first == second
}

// file replaces former names in the content of a file.
func (r *renames) file(path string, file map[string]any) {
	for _, k := range table() {
		if k.Was == "" && k.Former == nil {
			continue
		}
		section, name := inside(file, k.Key)
		if section == nil {
			continue
		}
		within := strings.TrimSuffix(k.Key, name)
		given := map[string]any{}
		for _, key := range []string{k.Key, k.Was} {
			if value, ok := section[strings.TrimPrefix(key, within)]; ok && key != "" {
				given[key] = value
			}
		}
		r.knob(k, given, func(key string) string { return path + ": " + key })
		if k.Was != "" {
			delete(section, strings.TrimPrefix(k.Was, within))
		}
		if value, ok := given[k.Key]; ok {
			section[name] = value
		}
	}
	providers, _ := file["providers"].(map[string]any)
	for _, provider := range sortedKeys(providers) {
		section, _ := providers[provider].(map[string]any)
		models, _ := section["models"].([]any)
		for i, model := range models {
			if fields, ok := model.(map[string]any); ok {
				at := fmt.Sprintf("%s: providers.%s.models[%d].", path, provider, i+1)
				r.knob(maxTemperature, fields, func(key string) string { return at + key })
			}
		}
	}
}

// maxTemperature is the one setting of a model that had another name.
var maxTemperature = Knob{Key: "max_temperature", Was: "max_heat", Sort: Number}

// inside finds the section of a file that contains a key, and the key's name within it; nil when there is none.
func inside(file map[string]any, key string) (map[string]any, string) {
	parts := strings.Split(key, ".")
	at := file
	for _, part := range parts[:len(parts)-1] {
		inner, ok := at[part].(map[string]any)
		if !ok {
			return nil, ""
		}
		at = inner
	}
	return at, parts[len(parts)-1]
}

// field is the name of the knob's field in Config.
func (k Knob) field() string {
	if k.Field != "" {
		return k.Field
	}
	return k.Key
}

// formerly reports whether a key is the former name of a knob.
func formerly(key string) bool {
	return slices.ContainsFunc(table(), func(k Knob) bool { return key != "" && k.Was == key })
}
