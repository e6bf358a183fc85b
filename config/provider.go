package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Messages is the profile of a provider that speaks Anthropic's Messages.
const Messages = "anthropic"

// BuiltIn is the provider that needs no configuration: the built-in model and embedder.
const BuiltIn = "builtin"

// profiles are the kinds of server that a provider can be; each defines what its servers refuse and accept.
func profiles() []string {
	var names []string
	for _, p := range inference.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// Provider is one server with an OpenAI-compatible API, or one that speaks Anthropic's Messages.
type Provider struct {
	Profile string  `json:"profile"`
	BaseURL string  `json:"base_url"`
	KeyEnv  string  `json:"api_key_env,omitempty"`
	KeyFile string  `json:"api_key_file,omitempty"`
	Local   bool    `json:"local,omitempty"` // its models cost nothing
	Models  []Model `json:"models,omitempty"`

	PassHeaders string `json:"pass_headers,omitempty"` // of clients, separated by commas; Listed splits it

	Wires inference.Wires `json:"wires,omitempty"` // that its servers speak; none: Speaks says which

	Concurrent int `json:"concurrent,omitempty"` // most calls at once, of one process; 0: any number

	Steering *inference.Steers `json:"steering,omitempty"` // of all its models without steering of their own
	Engine   Engine            `json:"engine,omitzero"`    // of the profile llama
}

// Model overrides what is known of a model; nil fields keep what the profile and the catalogue say.
type Model struct {
	Name           string        `json:"name"`           // "provider/model" without the provider
	Wire           string        `json:"wire,omitempty"` // the name the server knows; Name when empty
	Price          *budget.Price `json:"price,omitempty"`
	Context        *int          `json:"context,omitempty"` // tokens
	Tokenizer      *string       `json:"tokenizer,omitempty"`
	MaxTemperature *float64      `json:"max_temperature,omitempty"`
	MinP           *bool         `json:"min_p,omitempty"`
	TopP           *bool         `json:"top_p,omitempty"`
	Seed           *bool         `json:"seed,omitempty"`
	Stop           *bool         `json:"stop,omitempty"`
	JSON           *string       `json:"json,omitempty"` // json_schema, json_object or prompt
	Reasoning      *bool         `json:"reasoning,omitempty"`
	Embeds         *bool         `json:"embeds,omitempty"`
	Judges         *bool         `json:"judges,omitempty"`
	LogProbs       *bool         `json:"log_probs,omitempty"`

	Steering *inference.Steers `json:"steering,omitempty"`
}

// override returns the model's section in the form of package inference.
func (m Model) override(local bool) inference.Override {
	o := inference.Override{
		Price:          m.Price,
		Context:        m.Context,
		Tokenizer:      m.Tokenizer,
		MaxTemperature: m.MaxTemperature,
		MinP:           m.MinP,
		TopP:           m.TopP,
		Seed:           m.Seed,
		Stop:           m.Stop,
		Reasoning:      m.Reasoning,
		Embeds:         m.Embeds,
		Judges:         m.Judges,
		LogProbs:       m.LogProbs,
		Local:          local,
		Steers:         m.Steering,
	}
	if m.Wire != "" {
		o.Wire = &m.Wire
	}
	if m.JSON != nil {
		mode := inference.JSONMode(*m.JSON)
		o.JSON = &mode
	}
	return o
}

// providerFields are the settings of a provider. Those without a sort are read by themselves.
var providerFields = map[string]Sort{
	"profile":      Text,
	"base_url":     Text,
	"api_key":      "",
	"api_key_env":  Text,
	"api_key_file": Text,
	"local":        YesNo,
	"models":       "",
	"pass_headers": Text,
	"concurrent":   Whole,
	"steering":     "",
	"wires":        "",
	"model_file":   "",
	"lib_dir":      "",
	"vectors":      "",
	"threads":      "",
	"parallel":     "",
}

// modelFields are the settings of a model.
var modelFields = map[string]Sort{
	"name":            Text,
	"wire":            Text,
	"price":           "",
	"context":         Whole,
	"tokenizer":       Text,
	"max_temperature": Number,
	"min_p":           YesNo,
	"top_p":           YesNo,
	"seed":            YesNo,
	"stop":            YesNo,
	"json":            Text,
	"reasoning":       YesNo,
	"embeds":          YesNo,
	"judges":          YesNo,
	"log_probs":       YesNo,
	"steering":        "",
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// readProviders reads the providers section, which has no rows in the table.
func readProviders(raw any) (map[string]Provider, error) {
	return readNamed("provider", raw, readProvider)
}

func readProvider(name string, raw any) (Provider, error) {
	at := "providers." + name
	fields, ok := raw.(map[string]any)
	if !ok {
		return Provider{}, fmt.Errorf("%s is %s; it must be a section with profile and base_url", at, quoted(raw))
	}
	r := reader{at: at, fields: fields}
	if !providerName.MatchString(name) {
		r.fault("%s: a provider's name is 1 to 64 of a-z, 0-9, - and _, and begins with a letter or a digit", at)
	}
	if _, literal := fields["api_key"]; literal {
		r.fault(
			"%s.api_key: a key does not belong in a file; put it into an environment variable or a file of its own and name that by api_key_env or api_key_file",
			at)
	}
	var p Provider
	r.read(&p, providerFields)
	p.Models = r.models(p.Profile)
	p.Steering, p.Engine = r.steering(p.Profile), r.engine(p.Profile)
	p.Wires = r.wires(p)
	p.Local = p.Local || p.Profile == InProcess
	r.check(p)
	return p, errors.Join(r.faults...)
}

// reader reads fields of a section and collects the faults.
type reader struct {
	at     string
	fields map[string]any
	faults faultList
}

func (r *reader) fault(format string, args ...any) { r.faults.add(format, args...) }

// read reads the fields of a section into those of a struct that have their names in JSON.
func (r *reader) read(into any, sorts map[string]Sort) {
	r.onlyKnown(sortedKeys(sorts))
	values := map[string]any{}
	for _, key := range sortedKeys(r.fields) {
		if sort := sorts[key]; sort != "" {
			if v := r.value(key, sort); v != nil {
				values[key] = v
			}
		}
	}
	if err := decode(values, into); err != nil {
		r.fault("%s: %w", r.at, err)
	}
}

func (r *reader) onlyKnown(names []string) {
	for _, key := range sortedKeys(r.fields) {
		if !slices.Contains(names, key) {
			r.fault("%s.%s is no setting%s", r.at, key, nearestHint(key, names))
		}
	}
}

func (r *reader) value(key string, sort Sort) any {
	raw, ok := r.fields[key]
	if !ok {
		return nil
	}
	v, err := Knob{Key: r.at + "." + key, Sort: sort}.read(raw)
	if err != nil {
		r.faults = append(r.faults, err)
		return nil
	}
	return v
}

func (r *reader) text(key string) string { s, _ := r.value(key, Text).(string); return s }
func (r *reader) yesNo(key string) bool  { b, _ := r.value(key, YesNo).(bool); return b }

func (r *reader) checkConcurrent(p Provider) {
	switch {
	case p.Concurrent < 0:
		r.fault("%s.concurrent is %d; it must be a number of calls from 1, or be left out for no bound", r.at,
			p.Concurrent)
	case p.Concurrent > 0 && p.Profile == InProcess:
		r.fault("%s.concurrent does not go with the profile %s; parallel says how many calls it serves at once", r.at,
			InProcess)
	}
}

func (r *reader) check(p Provider) {
	if p.Profile == "" {
		r.fault("%s.profile is missing; it must be one of %s", r.at, strings.Join(profiles(), ", "))
	} else if !slices.Contains(profiles(), p.Profile) {
		r.fault("%s.profile is %q; it must be one of %s", r.at, p.Profile, strings.Join(profiles(), ", "))
	}
	if p.KeyEnv != "" && p.KeyFile != "" {
		r.fault("%s names its key twice, by api_key_env and by api_key_file; keep one", r.at)
	}
	if strings.HasPrefix(p.KeyEnv, "sk-") || strings.ContainsAny(p.KeyEnv, " -/") {
		r.fault("%s.api_key_env must be the name of an environment variable such as OPENAI_API_KEY, not the key", r.at)
	}
	for _, m := range p.Models {
		if p.Profile == Messages && m.Embeds != nil && *m.Embeds {
			r.fault("%s.models: %s has embeds, and the profile anthropic has no embeddings; "+
				"choose another embedder, such as builtin/static", r.at, m.Name)
		}
	}
	r.checkConcurrent(p)
	for _, name := range SplitList(p.PassHeaders) {
		switch {
		case strings.ContainsAny(name, ":;\"'()/[]{}<>=@?\\") ||
			strings.IndexFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0:
			r.fault(
				"%s.pass_headers names %s, which is no name of a header; names go with commas between, such as \"X-Team, X-Tenant\"",
				r.at, quoted(name))
		case inference.IsPrivateHeader(name):
			r.fault(
				"%s.pass_headers names %s, which is never passed on: it identifies a client, or belongs to a connection or a gateway",
				r.at, quoted(name))
		}
	}
	if p.BaseURL == "" {
		if addresses[p.Profile] != "" || p.Profile == InProcess {
			return
		}
		r.fault("%s.base_url is missing; it is the address that ends in /v1, such as http://127.0.0.1:8080/v1", r.at)
		return
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		r.fault("%s.base_url is not an address such as http://127.0.0.1:8080/v1", r.at)
		return
	}
	if u.User != nil {
		r.fault("%s.base_url carries a password; name a key by api_key_env or api_key_file instead", r.at)
	}
}

// wires reads the wires that a provider speaks; none where they are left out.
func (r *reader) wires(p Provider) inference.Wires {
	raw, ok := r.fields["wires"]
	if !ok {
		return 0
	}
	var names []string
	switch v := raw.(type) {
	case string:
		names = SplitList(v)
	case []any:
		for _, each := range v {
			name, isText := each.(string)
			if !isText {
				name = quoted(each)
			}
			names = append(names, name)
		}
	default:
		r.fault("%s.wires is %s; it must be a list of wires, such as [chat, responses]", r.at, quoted(raw))
		return 0
	}
	wires, err := inference.ReadWires(names)
	switch {
	case err != nil:
		r.fault("%s.wires: %w", r.at, err)
	case p.Profile == InProcess && wires != inference.ChatWire:
		r.fault("%s.wires must be [chat] or be left out: the worker runs the model itself", r.at)
	case p.Profile == Messages && wires != inference.MessagesWire:
		r.fault("%s.wires must be [messages] or be left out: the profile anthropic speaks Messages alone", r.at)
	case p.Profile != Messages && wires == inference.MessagesWire:
		r.fault("%s.wires lacks chat and responses, one of which dreams and translated requests need; "+
			"a server that speaks messages alone has the profile anthropic", r.at)
	case wires.ChatByResponses():
		r.noSuchSampling(p.Models)
	}
	return wires
}

// noSuchSampling refuses for models what Responses have no field for.
func (r *reader) noSuchSampling(models []Model) {
	for _, m := range models {
		for _, each := range []struct {
			name   string
			stated *bool
		}{{"min_p", m.MinP}, {"seed", m.Seed}, {"stop", m.Stop}} {
			if each.stated != nil && *each.stated {
				r.fault("%s.models: %s has %s: true, for which the wire responses has no field; "+
					"leave it out, or add chat to wires", r.at, m.Name, each.name)
			}
		}
	}
}

// Speaks are the wires that a provider speaks: those of its configuration, else those that are documented of every
// version of its servers. At OpenAI's own address that is the Responses API as well.
func (p Provider) Speaks() inference.Wires {
	switch {
	case p.Wires != 0:
		return p.Wires
	case p.Profile == Messages:
		return inference.MessagesWire
	case p.Profile == "openai" && p.ProviderURL() == addresses["openai"]:
		return inference.ChatWire | inference.ResponsesWire
	}
	return inference.ChatWire
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
