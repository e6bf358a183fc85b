package config

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
)

// Key reads a provider's API key from the configured place; "" when none is configured. Callers must pass it to the
// provider only.
func (c Config) Key(provider string) (string, error) {
	p, ok := c.Providers[provider]
	if !ok {
		return "", fmt.Errorf("provider %q is not configured", provider)
	}
	return c.secret("providers."+provider, p.KeyEnv, p.KeyFile)
}

// secret reads a section's API key.
func (c Config) secret(at, variable, file string) (string, error) {
	return c.readSecret(at+".api_key", "key", variable, file)
}

// readSecret reads a secret from a variable or a file. Its errors name the place, never the content.
func (c Config) readSecret(knob, what, variable, file string) (string, error) {
	switch {
	case variable != "":
		if key := strings.TrimSpace(c.env[variable]); key != "" {
			return key, nil
		}
		return "", fmt.Errorf("%s_env names %s, which is not set", knob, variable)
	case file != "":
		body, err := os.ReadFile(c.home(file))
		if err != nil {
			return "", fmt.Errorf("%s_file: %w", knob, err)
		}
		key := strings.TrimSpace(string(body))
		if key == "" || strings.ContainsAny(key, "\r\n") {
			return "", fmt.Errorf("%s_file %s must hold one line, the %s", knob, file, what)
		}
		return key, nil
	}
	return "", nil
}

// addresses are the default addresses of some profiles.
var addresses = map[string]string{
	Messages:     "https://api.anthropic.com/v1",
	"openai":     "https://api.openai.com/v1",
	"openrouter": "https://openrouter.ai/api/v1",
	"venice":     "https://api.venice.ai/api/v1",
	"ollama":     "http://127.0.0.1:11434/v1",
}

// ProviderURL is a provider's address: the configured one, or the default of its profile.
func (p Provider) ProviderURL() string {
	base := strings.TrimRight(p.BaseURL, "/")
	switch {
	case base == "":
		return addresses[p.Profile]
	case p.Profile == Messages && !strings.HasSuffix(base, "/v1"):
		return base + "/v1" // which Anthropic's own programs add to the address that they are given
	}
	return base
}

// String formats the configuration for `oneiros config show`: one "key: value" a line, without secrets.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.Redacted() {
		fmt.Fprintf(&b, "%s: %s\n", s.Key, s.Value)
	}
	return b.String()
}

// Redacted lists every knob and every provider. Keys are named by place, and passwords and query strings in addresses
// are cut out.
func (c Config) Redacted() []Setting {
	list := c.Settings()
	for i := range list {
		list[i].Value = redactURL(list[i].Value)
	}
	source := "file " + c.File
	if c.File == "" {
		source = "environment"
	}
	add := func(key, value, fallback string) {
		if value != fallback {
			list = append(list, Setting{Key: key, Value: redactURL(value), Default: fallback, Source: source})
		}
	}
	for _, name := range sortedKeys(c.Providers) {
		p, at := c.Providers[name], "providers."+name+"."
		add(at+"profile", p.Profile, "")
		add(at+"base_url", p.ProviderURL(), "")
		add(at+"api_key_env", p.KeyEnv, "")
		add(at+"api_key_file", p.KeyFile, "")
		add(at+"local", fmt.Sprint(p.Local), "false")
		add(at+"wires", strings.Join(p.Wires.Names(), ", "), "")
		for _, s := range p.Engine.settings() {
			add(at+s.Key, s.Value, s.Default)
		}
		add(at+"steering", steeringText(p.Steering), "")
		for _, m := range p.Models {
			value := m.Name
			if m.Steering != nil {
				value += " (steered: " + steeringText(m.Steering) + ")"
			}
			if m.Price != nil {
				value += " (" + priceText(*m.Price) + ")"
			}
			add(at+"models", value, "")
		}
	}
	for _, name := range sortedKeys(c.Hooks) {
		h, at := c.Hooks[name], "hooks."+name+"."
		add(at+"url", redactHook(h.URL), "")
		add(at+"secret_env", h.SecretEnv, "")
		add(at+"secret_file", h.SecretFile, "")
		add(at+"at", strings.Join(h.At, ","), "entry,capture,exit")
		add(at+"timeout", spanText(h.Timeout), spanText(defaultHookTimeout))
		add(at+"silent", h.Silent, activities.SilentAllow)
		add(at+"text", fmt.Sprint(h.Text), "false")
	}
	c.Policy.settings(add)
	return list
}

func redactURL(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return "(an address that cannot be read)"
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	u.Fragment = ""
	return u.String()
}

// redactHook shortens a hook's address to its host: the path may be secret, as those of chat services are.
func redactHook(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "(an address that cannot be read)"
	}
	at := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		at += "/redacted"
	}
	return at
}
