package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

//go:embed knobs.yaml
var knobsFile []byte

// Knobs returns the whole table, in the order of the reference.
func Knobs() []Knob { return slices.Clone(table()) }

// table reads the file of knobs. A knob of a dream has its default in dream.DefaultKnobs, by its JSON name.
var table = sync.OnceValue(func() []Knob {
	var all []Knob
	if err := yaml.Unmarshal(knobsFile, &all); err != nil {
		panic(fmt.Sprintf("config: knobs.yaml: %v", err))
	}
	defaults := dreamDefaults()
	for i := range all {
		k := &all[i]
		if !strings.HasPrefix(k.Key, "dream.") {
			continue
		}
		k.Field = k.Key
		if k.Was != "" { // recorded dreams have their knobs under the former names
			k.Field = k.Was
		}
		k.Default = defaults[strings.TrimPrefix(k.Field, "dream.")]
		if n, ok := k.Default.(float64); ok && k.Sort == Span {
			k.Default = spanText(time.Duration(n))
		}
	}
	return all
})

// dreamDefaults flattens dream.DefaultKnobs: "cycles" to 3, "shares.onset" to 10.
func dreamDefaults() map[string]any {
	body, err := json.Marshal(dream.DefaultKnobs())
	nested := map[string]any{}
	if err == nil {
		err = json.Unmarshal(body, &nested)
	}
	if err != nil { // cannot happen: it is a plain struct of numbers
		panic(fmt.Sprintf("config: default knobs: %v", err))
	}
	flat := map[string]any{}
	flatten("", nested, flat)
	return flat
}

func flatten(prefix string, nested, flat map[string]any) {
	for key, value := range nested {
		name := strings.TrimPrefix(prefix+"."+key, ".")
		if inner, ok := value.(map[string]any); ok {
			flatten(name, inner, flat)
			continue
		}
		flat[name] = value
	}
}
