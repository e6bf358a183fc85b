package config

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Spec returns what is known of a model: a built-in one, or the configuration merged over what is known of the model
// and of its server. A local provider's models cost nothing.
func (c Config) Spec(name string) (inference.Spec, error) {
	for _, spec := range c.builtIn {
		if spec.Name == name {
			return spec, nil
		}
	}
	provider, wire, ok := strings.Cut(name, "/")
	if !ok || provider == "" || wire == "" {
		return inference.Spec{}, fmt.Errorf("model %q must be provider/model, such as builtin/associative", name)
	}
	if provider == BuiltIn {
		return inference.Spec{},
			fmt.Errorf("there is no built-in model %q; there are %s", name, strings.Join(c.builtIns(), " and "))
	}
	p, ok := c.Providers[provider]
	if !ok {
		return inference.Spec{},
			fmt.Errorf(
				"model %q belongs to provider %q, which is not configured; add providers.%s with profile and base_url",
				name, provider, provider)
	}
	answer := inference.Override{Local: p.Local}
	for _, m := range p.Models {
		if m.Name == wire {
			answer = m.override(p.Local)
		}
	}
	answer.Steers = p.steered(answer.Steers)
	spec, err := inference.Resolve(provider, p.Profile, wire, &answer)
	return spec.On(p.Speaks()), err
}

// Catalog returns every model that is listed in the configuration or named by a role.
func (c Config) Catalog() inference.Table {
	table := inference.Table{}
	add := func(name string) {
		if spec, err := c.Spec(name); err == nil {
			table[name] = spec
		}
	}
	for _, spec := range c.builtIn {
		add(spec.Name)
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
	for _, spec := range c.builtIn {
		names = append(names, spec.Name)
	}
	return names
}

// Lookup implements inference.Catalog: an agent may name any model of a configured provider.
func (c Config) Lookup(model string) (inference.Spec, error) {
	spec, err := c.Spec(model)
	if err != nil {
		return spec, &inference.Failure{Kind: inference.Unknown, Message: err.Error()}
	}
	return spec, nil
}

var _ inference.Catalog = Config{}
