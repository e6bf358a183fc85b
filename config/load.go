package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Options says where to read from. The process's own environment and flags are not read otherwise.
type Options struct {
	File  string         // the file to read; empty: --config, ONEIROS_CONFIG, then the usual places
	Dir   string         // where the search for the usual files begins; empty: the working directory
	Env   []string       // "NAME=value", as from os.Environ
	Flags *pflag.FlagSet // as made by Flags; nil for none

	BuiltIn []inference.Spec // the models that need no provider
}

// Load reads defaults, then the file, then the environment, then the flags; later ones take precedence. The error joins
// every fault.
func Load(o Options) (Config, error) {
	env := environment(o.Env)
	c := Config{env: env, builtIn: o.BuiltIn}
	path, err := find(o, env)
	if err != nil {
		return c, err
	}
	file, err := readFile(path)
	if err != nil {
		return c, err
	}
	c.File = path
	var faults []error
	keep := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	renamed := new(renames)
	renamed.file(path, file)
	keep(unknownKeys(path, file))
	answer, unknown := readEnv(env, renamed)
	v := viper.New()
	for _, k := range table() {
		v.SetDefault(k.Key, k.Default)
	}
	keep(v.MergeConfigMap(file))
	keep(v.MergeConfigMap(nest(answer.values)))
	sets, err := bind(v, o.Flags, renamed)
	keep(err)
	keep(errors.Join(renamed.faults...))
	keep(c.fill(v, origin{
		path:  path,
		file:  file,
		env:   answer,
		flags: o.Flags,
		sets:  sets,
	}))
	providers, err := readProviders(v.Get("providers"))
	keep(err)
	c.Providers = providers
	c.Hooks, err = readHooks(v.Get("hooks"))
	keep(err)
	keep(c.Policy.readPolicy(v.Get("policy")))
	c.derive()
	keep(c.Validate())
	c.Warnings = append(ignored(&c, unknown), c.unverified()...)
	return c, errors.Join(faults...)
}

// unverified lists the connections that use TLS without checking the certificate.
func (c *Config) unverified() []string {
	var warnings []string
	if u, err := url.Parse(c.Store.URL); err == nil && u.Scheme == "rediss" {
		if skips, err := strconv.ParseBool(u.Query().Get("skip_verify")); err == nil && skips {
			warnings = append(warnings,
				"store.url says skip_verify: the certificate of the Redis server is not checked, and anybody in between can "+
					"read and change memories; leave it out, and let the system trust the server's authority instead")
		}
	}
	const variable = "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION"
	if skips, err := strconv.ParseBool(c.env[variable]); err == nil && skips && c.Temporal.Address == "" {
		warnings = append(warnings,
			variable+
				" is set: the certificate of the Temporal server is not checked, and anybody in between can read and change "+
				"what is sent to it")
	}
	return warnings
}

// fill reads every knob of the table. A knob that cannot be read keeps its default, so that the other checks still run.
func (c *Config) fill(v *viper.Viper, from origin) error {
	var faults faultList
	values := map[string]any{}
	for _, k := range table() {
		fallback, err := k.read(k.Default)
		if err != nil {
			return fmt.Errorf("default of %w", err)
		}
		value := fallback
		source := from.of(k)
		if raw := v.Get(k.Key); source != fromDefault {
			value, err = k.read(raw)
			if err != nil {
				faults.add("%s: %w", strings.TrimPrefix(source, "file "), err)
				value = fallback
			}
		}
		values[k.field()] = value
		c.settings = append(c.settings,
			Setting{Key: k.Key, Value: text(value), Default: text(fallback), Source: source})
	}
	return errors.Join(append(faults, decode(nest(values), c))...)
}

// decode puts values into the fields of a struct that have their names in JSON.
func decode(values map[string]any, into any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: into, TagName: "json",
		ErrorUnused: true,
	})
	if err == nil {
		err = decoder.Decode(values)
	}
	return err
}

// derive sets the values that follow from others.
func (c *Config) derive() {
	c.DataDir = c.home(c.DataDir)
	if c.DataDir == "" {
		c.DataDir = dataDir(c.env)
	}
	c.Store.Path = c.home(c.Store.Path)
	c.Serve.TLSCert, c.Serve.TLSKey = c.home(c.Serve.TLSCert), c.home(c.Serve.TLSKey)
	c.limitDefaults()
	c.consented()
}

// consented adds the providers that were found on the machine and that the user agreed to use.
func (c *Config) consented() {
	if _, taken := c.Providers["openai"]; c.Consent.EnvironmentKey && !taken && c.env["OPENAI_API_KEY"] != "" {
		c.Providers["openai"] = Provider{Profile: "openai", BaseURL: c.env["OPENAI_BASE_URL"], KeyEnv: "OPENAI_API_KEY"}
	}
	if _, taken := c.Providers[Messages]; c.Consent.EnvironmentKey && !taken && c.env["ANTHROPIC_API_KEY"] != "" {
		c.Providers[Messages] = Provider{
			Profile: Messages, BaseURL: c.env["ANTHROPIC_BASE_URL"], KeyEnv: "ANTHROPIC_API_KEY",
		}
	}
	if _, taken := c.Providers["ollama"]; c.Consent.LocalOllama && !taken {
		c.Providers["ollama"] = Provider{Profile: "ollama", BaseURL: ollamaURL(c.env["OLLAMA_HOST"]), Local: true}
	}
}

// ollamaURL interprets OLLAMA_HOST as Ollama does: host, host:port or an address.
func ollamaURL(host string) string {
	if host == "" {
		host = "127.0.0.1:11434"
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	scheme, rest, _ := strings.Cut(host, "://")
	rest = strings.TrimRight(rest, "/")
	if !strings.Contains(rest, ":") {
		rest += ":11434"
	}
	if bare, isAll := strings.CutPrefix(rest, "0.0.0.0:"); isAll {
		rest = "127.0.0.1:" + bare
	}
	return scheme + "://" + rest + "/v1"
}

// home expands a leading ~/ as a shell does.
func (c *Config) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.env["HOME"] != "" {
		return filepath.Join(c.env["HOME"], rest)
	}
	return path
}

func dataDir(env map[string]string) string {
	switch {
	case env["XDG_DATA_HOME"] != "":
		return filepath.Join(env["XDG_DATA_HOME"], "oneiros")
	case env["HOME"] != "":
		return filepath.Join(env["HOME"], ".local", "share", "oneiros")
	}
	return ".oneiros"
}

// nest turns {"a.b": 1} into {"a": {"b": 1}}.
func nest(flat map[string]any) map[string]any {
	root := map[string]any{}
	for key, value := range flat {
		at := root
		parts := strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			inner, ok := at[part].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[part] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = value
	}
	return root
}
