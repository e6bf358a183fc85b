package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Hook is an external service that is called at the borders of every dream.
type Hook struct {
	URL        string        `json:"url"`
	SecretEnv  string        `json:"secret_env,omitempty"`
	SecretFile string        `json:"secret_file,omitempty"`
	At         []string      `json:"at"`      // entry, capture, exit; default: all
	Timeout    time.Duration `json:"timeout"` // default: 2 s
	Silent     string        `json:"silent"`  // allow or refuse when the hook does not respond; default: allow
	Text       bool          `json:"text,omitempty"`
}

// hookFields are the settings of a hook. Those without a sort are read by themselves.
var hookFields = map[string]Sort{
	"url":         Text,
	"secret":      "",
	"secret_env":  Text,
	"secret_file": Text,
	"at":          "",
	"timeout":     Span,
	"silent":      Text,
	"text":        YesNo,
}

// defaultHookTimeout is the default timeout: a service on the same host responds in milliseconds, one across the world
// in a second.
const defaultHookTimeout = 2 * time.Second

// minSecretBytes is the minimum length of a secret in bytes: half of the output of HMAC-SHA256.
const minSecretBytes = 16

var hookName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// HookRules returns the hooks in the form of a dream's specification, by name.
func (c Config) HookRules() []activities.HookRule {
	var rules []activities.HookRule
	for _, name := range sortedKeys(c.Hooks) {
		h := c.Hooks[name]
		rule := activities.HookRule{Name: name, Timeout: h.Timeout, Silent: h.Silent, Text: h.Text}
		for _, at := range h.At {
			rule.At = append(rule.At, activities.Border(at))
		}
		rules = append(rules, rule)
	}
	return rules
}

// HookSecret reads the secret that signs a hook's requests.
func (c Config) HookSecret(name string) ([]byte, error) {
	h, ok := c.Hooks[name]
	if !ok {
		return nil, fmt.Errorf("hook %q is not configured", name)
	}
	secret, err := c.readSecret("hooks."+name+".secret", "secret", h.SecretEnv, h.SecretFile)
	if err == nil && len(secret) < minSecretBytes {
		err = fmt.Errorf("hooks.%s: its secret has %d bytes; it must have at least %d", name, len(secret),
			minSecretBytes)
	}
	return []byte(secret), err
}

// readHooks reads the hooks section, which has no rows in the table.
func readHooks(raw any) (map[string]Hook, error) {
	return readNamed("hook", raw, readHook)
}

// readNamed reads a section that holds one section per thing, by name.
func readNamed[T any](thing string, raw any, read func(name string, raw any) (T, error)) (map[string]T, error) {
	things := map[string]T{}
	if raw == nil {
		return things, nil
	}
	section, ok := raw.(map[string]any)
	if !ok {
		return things, fmt.Errorf("%ss is %s; it must hold one section per %s", thing, quoted(raw), thing)
	}
	var faults []error
	for _, name := range sortedKeys(section) {
		one, err := read(name, section[name])
		things[name] = one
		faults = append(faults, err)
	}
	return things, errors.Join(faults...)
}

func readHook(name string, raw any) (Hook, error) {
	at := "hooks." + name
	fields, ok := raw.(map[string]any)
	if !ok {
		return Hook{},
			fmt.Errorf("%s is %s; it must be a section with url and secret_env or secret_file", at, quoted(raw))
	}
	r := reader{at: at, fields: fields}
	if !hookName.MatchString(name) {
		r.fault("%s: a hook's name is 1 to 32 of a-z, 0-9, - and _, and begins with a letter", at)
	}
	if _, literal := fields["secret"]; literal {
		r.fault("%s.secret: a secret does not belong in a file; name it by secret_env or secret_file", at)
	}
	h := Hook{Timeout: defaultHookTimeout}
	r.read(&h, hookFields)
	h.At, h.Silent = r.borders(), cmp.Or(h.Silent, activities.SilentAllow)
	r.checkHook(name, h)
	return h, errors.Join(r.faults...)
}

// borders reads "at": a list, or words separated by commas.
func (r *reader) borders() []string {
	var at []string
	switch raw := r.fields["at"].(type) {
	case nil:
		for _, b := range activities.Borders {
			at = append(at, string(b))
		}
	case []any:
		for _, word := range raw {
			at = append(at, fmt.Sprint(word))
		}
	default:
		for _, word := range strings.Split(fmt.Sprint(raw), ",") {
			at = append(at, strings.TrimSpace(word))
		}
	}
	existing := at[:0:0]
	for _, word := range at {
		if slices.Contains(activities.Borders, dream.Border(word)) {
			existing = append(existing, word)
		} else {
			r.fault("%s.at names %q; a hook is called at entry, capture or exit", r.at, word)
		}
	}
	if len(existing) == 0 && len(at) > 0 { // the faults are recorded
		return []string{string(activities.Borders[0])}
	}
	return existing
}

func (r *reader) checkHook(name string, h Hook) {
	u, err := url.Parse(h.URL)
	switch {
	case h.URL == "":
		r.fault("%s.url is missing; it is the address that is called, such as https://guard.example/oneiros", r.at)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.fault("%s.url is not an address such as https://guard.example/oneiros", r.at)
	case u.User != nil:
		r.fault("%s.url carries a password; questions are signed, so none is needed", r.at)
	}
	switch {
	case h.SecretEnv != "" && h.SecretFile != "":
		r.fault("%s names its secret twice, by secret_env and by secret_file; keep one", r.at)
	case h.SecretEnv == "" && h.SecretFile == "":
		r.fault(
			"%s names no secret; its questions are signed, so say where the secret lies by secret_env or secret_file",
			r.at)
	}
	rule := Config{Hooks: map[string]Hook{name: h}}.HookRules()[0]
	for _, fault := range faultsOf(rule.Validate()) {
		r.fault("%s %s", r.at, strings.TrimPrefix(fault.Error(), "hook "+name+" "))
	}
}

// faultsOf splits an error that was joined from several.
func faultsOf(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
