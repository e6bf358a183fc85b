package config

import (
	"maps"
	"strings"
)

// WithModelsOf returns the configuration with the providers, roles, rules and caps of another one. Everything else
// stays its own: folder, store, cluster, server, hooks. Variables of Temporal's own environment are not taken over,
// because they name a cluster.
func (c Config) WithModelsOf(other Config) Config {
	c.Providers, c.Roles, c.Embedder = other.Providers, other.Roles, other.Embedder
	c.Dream, c.Money, c.Consent = other.Dream, other.Money, other.Consent
	c.Predictions, c.Policy = other.Predictions, other.Policy
	c.Log, c.Worker = other.Log, other.Worker
	c.Worker.Deployment, c.Worker.BuildID = "", ""
	c.env = maps.Clone(other.env)
	maps.DeleteFunc(c.env, func(name, _ string) bool { return strings.HasPrefix(name, "TEMPORAL_") })
	return c
}
