package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// Spec says what is known of a model: the built-in ones, then the configured overrides over the embedded price and
// capability data over what the provider's profile implies. A local provider's models cost nothing.
func (c Config) Spec(name string) (inference.Spec, error) {
	if spec, ok := c.known[name]; ok && spec.BuiltIn {
		return spec, nil
	}
	provider, wire, ok := strings.Cut(name, "/")
	if !ok || provider == "" || wire == "" {
		return inference.Spec{}, fmt.Errorf("model %q must be provider/model, such as builtin/associative", name)
	}
	if provider == BuiltIn {
		return inference.Spec{}, fmt.Errorf("there is no built-in model %q; there are %s", name, strings.Join(c.builtIns(), " and "))
	}
	p, ok := c.Providers[provider]
	if !ok {
		return inference.Spec{}, fmt.Errorf("model %q belongs to provider %q, which is not configured; add providers.%s with profile and base_url", name, provider, provider)
	}
	spec := c.profiles[p.Profile]
	if known, ok := c.known[p.Profile+"/"+wire]; ok {
		spec = known
	}
	spec.Name, spec.Provider, spec.BuiltIn = name, provider, false
	if spec.Wire == "" {
		spec.Wire = wire
	}
	for _, m := range p.Models {
		if m.Name == wire {
			spec = m.Over(spec)
		}
	}
	if p.Local && spec.Price == nil {
		spec.Price = &budget.Price{}
	}
	return spec, nil
}

// Catalog holds every model that is configured by a list or named by a role.
func (c Config) Catalog() inference.Table {
	table := inference.Table{}
	add := func(name string) {
		if spec, err := c.Spec(name); err == nil {
			table[name] = spec
		}
	}
	for name := range c.known {
		add(name)
	}
	for provider, p := range c.Providers {
		for _, m := range p.Models {
			add(provider + "/" + m.Name)
		}
	}
	for _, name := range c.Roles.Models() {
		add(name)
	}
	return table
}

func (c Config) builtIns() []string {
	var names []string
	for name, spec := range c.known {
		if spec.BuiltIn {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
