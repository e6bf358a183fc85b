package starter

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
)

// policyOf names the rules that a fragment of an order is held against, the kind of each in front.
func policyOf(o activities.Spec) []string {
	names := []string{}
	if o.Policy == nil {
		return names
	}
	if len(o.Policy.Assets) > 0 {
		names = append(names, "assets: only "+strings.Join(o.Policy.Assets, ", "))
	}
	for _, c := range o.Policy.Caps {
		names = append(names, "cap: "+c.Name)
	}
	for _, g := range o.Policy.Guards {
		names = append(names, "guard: "+string(g))
	}
	for _, p := range o.Policy.Forbidden {
		names = append(names, "forbidden: "+p.Name)
	}
	for _, s := range o.Policy.Sentences {
		names = append(names, "in words: "+s.Name)
	}
	return names
}
