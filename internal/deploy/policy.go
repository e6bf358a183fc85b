package deploy

import (
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/starter"
)

// rulesOf returns the deployment's policy rules, as the specs of its dreams carry them.
func rulesOf(c config.Config) *policy.Rules {
	rules := c.Policy.Rules()
	return &rules
}

// Policy returns the rules that would hold for a dream of the agent that began now.
func (d *Process) Policy(handle string) (policy.Rules, error) {
	c, err := d.config()
	if err != nil {
		return policy.Rules{}, err
	}
	if rules := (starter.Options{Policy: rulesOf(c), AgentPolicy: c.Policy.Agents}).PolicyOf(handle); rules != nil {
		return *rules, nil
	}
	return policy.Rules{}, nil
}
