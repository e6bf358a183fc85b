package starter

import "github.com/seed-56a03226/oneiros/internal/policy"

// PolicyOf are the rules for an agent's dreams: the deployment's, and additional ones for the agent, which can only
// be stricter. Without configuration the default guards apply; nil when all were removed.
func (o Options) PolicyOf(handle string) *policy.Rules {
	rules := policy.Default()
	if o.Policy != nil {
		rules = *o.Policy
	}
	// a copy, because a spec must not change later
	rules = rules.With(o.AgentPolicy[handle])
	if rules.None() {
		return nil
	}
	return &rules
}
