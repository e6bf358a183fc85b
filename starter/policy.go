package starter

import "github.com/seed-56a03226/oneiros/internal/policy"

// PolicyOf are the rules that an agent dreams by: the deployment's, and what is added for the agent, which can only
// make them stricter. Without any the guards hold; nil when somebody took all of them out.
func (o Options) PolicyOf(handle string) *policy.Rules {
	rules := policy.Default()
	if o.Policy != nil {
		rules = *o.Policy
	}
	// a copy, whatever is added: an order is not changed by what is said later
	rules = rules.With(o.AgentPolicy[handle])
	if rules.None() {
		return nil
	}
	return &rules
}
