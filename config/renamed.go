package config

import (
	"fmt"
	"slices"
	"strings"
)

// renames refuses settings under the names that they had before 0.1.0, and says what they are called since.
type renames struct{ faults faultList }

// knob refuses the former name of a knob, and former names of its choices, within one source. given are the source's
// values by key; place is where they stand, and spelled returns how the source writes a key.
func (r *renames) knob(k Knob, given map[string]any, place string, spelled func(key string) string) {
	if former, ok := given[k.Was]; k.Was != "" && ok && former != nil {
		delete(given, k.Was)
		r.refuse(place+spelled(k.Was), spelled(k.Key))
	}
	for former, now := range k.Former {
		if word, isText := given[k.Key].(string); isText && strings.EqualFold(word, former) {
			given[k.Key] = now // one fault is enough
			r.refuse(place+spelled(k.Key)+": "+former, now)
		}
	}
}

func (r *renames) refuse(former, now string) {
	r.faults.add("%s is called %s since 0.1.0; give it that name", former, now)
}

// file refuses former names in the content of a file.
func (r *renames) file(path string, file map[string]any) {
	for _, k := range table() {
		if k.Was == "" && k.Former == nil {
			continue
		}
		section, name := enclosingSection(file, k.Key)
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
		r.knob(k, given, path+": ", asInFiles)
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
				r.knob(maxTemperature, fields, at, asInFiles)
			}
		}
	}
}

// asInFiles is how a file writes a key.
func asInFiles(key string) string { return key }

// maxTemperature is the one setting of a model that had another name.
var maxTemperature = Knob{Key: "max_temperature", Was: "max_heat", Sort: Number}

// enclosingSection finds the section of a file that contains a key, and the key's name within it; nil when there is
// none.
func enclosingSection(file map[string]any, key string) (map[string]any, string) {
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
