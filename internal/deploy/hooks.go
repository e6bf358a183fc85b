package deploy

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/governor"
)

// hooks returns the hooks that this process can call. A hook whose secret cannot be read is left out, and its
// on_silence setting decides in its place.
func hooks(c config.Config) (activities.Hooks, error) {
	fitted := activities.Hooks{}
	var faults []error
	for _, rule := range c.HookRules() {
		secret, err := c.HookSecret(rule.Name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		fitted[rule.Name] = &governor.Webhook{URL: c.Hooks[rule.Name].URL, Secret: secret}
	}
	return fitted, errors.Join(faults...)
}

// HookRules returns the configured hooks and their addresses.
func (d *Process) HookRules() ([]activities.HookRule, map[string]string, error) {
	c, err := d.config()
	if err != nil {
		return nil, nil, err
	}
	urls := map[string]string{}
	for name, h := range c.Hooks {
		urls[name] = h.URL
	}
	return c.HookRules(), urls, nil
}

// Hook returns a configured hook, ready to be called, and its rule.
func (d *Process) Hook(name string) (activities.Hook, activities.HookRule, error) {
	c, err := d.config()
	if err != nil {
		return nil, activities.HookRule{}, err
	}
	rules := c.HookRules()
	at := slices.IndexFunc(rules, func(r activities.HookRule) bool { return r.Name == name })
	if at < 0 {
		return nil, activities.HookRule{},
			exit.Usagef("hook %q is not configured; oneiros hooks list prints those that are", name)
	}
	secret, err := c.HookSecret(name)
	if err != nil {
		return nil, activities.HookRule{}, exit.AsUsage(err)
	}
	return &governor.Webhook{URL: c.Hooks[name].URL, Secret: secret}, rules[at], nil
}

func (d doctor) checkHooks(context.Context) Finding {
	fitted, err := hooks(d.cfg)
	switch {
	case err != nil:
		return failed("Set the variable or the file that holds the secret; a worker does not start without it.", "%v",
			err)
	case len(fitted) == 0:
		return passed("none are configured")
	}
	return passed("%d called between the stages of dreams; oneiros hooks test HOOK calls one now", len(fitted))
}
