package starter

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
)

// policyOf names the rules that fragments of a spec are checked against, each with its kind.
func policyOf(spec activities.Spec) []string {
	names := []string{}
	if spec.Policy == nil {
		return names
	}
	if len(spec.Policy.Assets) > 0 {
		names = append(names, "assets: only "+strings.Join(spec.Policy.Assets, ", "))
	}
	for _, c := range spec.Policy.Caps {
		names = append(names, "cap: "+c.Name)
	}
	for _, g := range spec.Policy.Guards {
		names = append(names, "guard: "+string(g))
	}
	for _, p := range spec.Policy.Forbidden {
		names = append(names, "forbidden: "+p.Name)
	}
	for _, s := range spec.Policy.Sentences {
		names = append(names, "in words: "+s.Name)
	}
	return names
}
