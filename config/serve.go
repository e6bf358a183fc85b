package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Serve configures the server that clients talk to.
type Serve struct {
	Listen string `json:"listen"` // host:port; empty: `oneiros up` serves nothing
	Model  string `json:"model"`  // "provider/model" for conversations; empty: the generator's

	Completions     string `json:"completions"`      // "provider/model" for /v1/completions; empty: not served
	CompletionsWake bool   `json:"completions_wake"` // they hold the agent awake

	Recall       bool          `json:"recall"`
	RecallBudget time.Duration `json:"recall_budget"`
	RecallItems  int           `json:"recall_items"`
	Store        bool          `json:"store"`
	Affect       bool          `json:"affect"`
	Persona      string        `json:"persona"` // of psyche.Personas
	Joined       bool          `json:"joined"`
	MoodSampling bool          `json:"mood_sampling"`

	RecallExcept string `json:"recall_except"` // handles separated by commas; Listed splits them
	StoreExcept  string `json:"store_except"`
	AffectExcept string `json:"affect_except"`
	DigestExcept string `json:"digest_except"`

	Keys    string `json:"keys"` // KeysAuto or KeysRequired
	TLSCert string `json:"tls_cert"`
	TLSKey  string `json:"tls_key"`
	Hosts   string `json:"hosts"`   // separated by commas; Listed splits it
	Origins string `json:"origins"` // separated by commas

	AllowFields string `json:"allow_fields"` // of requests to paid models, separated by commas

	Rate       int           `json:"rate"`    // requests per minute and key
	Tokens     int           `json:"tokens"`  // per minute and key
	KeyDay     budget.Micros `json:"key_day"` // spending of one key in one day (UTC)
	MaxBody    int           `json:"max_body"`
	MaxStreams int           `json:"max_streams"`
	KeyStreams int           `json:"key_streams"`
	Queue      int           `json:"queue"`      // requests that wait for a place
	QueueWait  time.Duration `json:"queue_wait"` // at most
	Sessions   int           `json:"mcp_sessions"`

	MemoriesPerPrincipal int           `json:"memories_per_principal"`
	MemoriesPerUser      int           `json:"memories_per_user"`
	AnswersPerPrincipal  int           `json:"answers_per_principal"`
	WriteIn              time.Duration `json:"write_within"`
	Grace                time.Duration `json:"grace"`
}

// SplitList splits a list at commas and spaces.
func SplitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// Except says for which functions an agent is an exception to the general setting.
type Except struct{ Recall, Store, Affect, Digest bool }

// Excepted returns the exceptions by agent handle.
func (s Serve) Excepted() map[string]Except {
	all := map[string]Except{}
	for _, part := range []struct {
		handles string
		set     func(*Except)
	}{
		{s.RecallExcept, func(e *Except) { e.Recall = true }},
		{s.StoreExcept, func(e *Except) { e.Store = true }},
		{s.AffectExcept, func(e *Except) { e.Affect = true }},
		{s.DigestExcept, func(e *Except) { e.Digest = true }},
	} {
		for _, handle := range SplitList(part.handles) {
			e := all[handle]
			part.set(&e)
			all[handle] = e
		}
	}
	return all
}

// The values of serve.keys.
const (
	KeysAuto     = "auto"
	KeysRequired = "required"
)

// Keyless reports whether the server may serve requests without a key as long as no key exists.
func (s Serve) Keyless() bool { return s.Loopback() && s.Keys != KeysRequired }

// Loopback reports whether only this machine can reach the server.
func (s Serve) Loopback() bool {
	host, _, err := net.SplitHostPort(s.Listen)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// TalkModel is the model for conversations: serve.model, otherwise the generator of dreams.
func (c Config) TalkModel() string {
	if c.Serve.Model != "" {
		return c.Serve.Model
	}
	return c.Roles.Generator
}

func (s Serve) validate() error {
	var faults faultList
	if err := validListen("serve.listen", s.Listen, "127.0.0.1:7680"); err != nil {
		faults.add("%w", err)
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		faults.add("serve.tls_cert and serve.tls_key go together; one of them is empty")
	}
	for _, host := range SplitList(s.Hosts) {
		if strings.ContainsAny(host, "/@:") && net.ParseIP(host) == nil {
			faults.add("serve.hosts names %s; a host is a name such as dreams.example, without scheme and port",
				quoted(host))
		}
	}
	for _, origin := range SplitList(s.Origins) {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.Path != "" || u.User != nil {
			faults.add("serve.origins names %s; an origin is such as https://app.example, without a path", quoted(origin))
		}
	}
	for _, field := range SplitList(s.AllowFields) {
		if _, listed := inference.FieldBeyondTokens(field); !listed {
			faults.add(
				"serve.allow_fields names %s, which is passed on in any case or is no field of the list in docs/money.md%s",
				quoted(field), nearestHint(field, beyondTokens()))
		}
	}
	for _, list := range []struct{ name, handles string }{
		{"recall_except", s.RecallExcept},
		{"store_except", s.StoreExcept},
		{"affect_except", s.AffectExcept},
		{"digest_except", s.DigestExcept},
	} {
		for _, handle := range SplitList(list.handles) {
			if !dream.IsHandle(handle) {
				faults.add("serve.%s names %s, which no agent can be called; handles go with commas between", list.name,
					quoted(handle))
			}
		}
	}
	return errors.Join(faults...)
}

func beyondTokens() []string {
	var names []string
	for _, f := range inference.FieldsBeyondTokens() {
		names = append(names, f.Name)
	}
	return names
}

// validTalk checks the models for conversations and for the gate of rooms.
func (c Config) validTalk() error {
	return errors.Join(c.writes("serve.model", c.Serve.Model), completes(c), c.writes("rooms.gate", c.Rooms.Gate))
}

// writes checks that a model is known, generates text, and has a price; an empty name is valid.
func (c Config) writes(knob, model string) error {
	if model == "" {
		return nil
	}
	spec, err := c.Spec(model)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", knob, err)
	case spec.Embeds:
		return fmt.Errorf("%s: %q is the wrong sort of model; it must be a model that writes, not an embedder", knob,
			spec.Name)
	case spec.Price == nil:
		return fmt.Errorf("%s: %s", knob, spec.WithoutPrice())
	}
	return nil
}

// completes refuses a model for /v1/completions whose provider cannot have that path.
func completes(c Config) error {
	name := c.Serve.Completions
	if provider, _, _ := strings.Cut(name, "/"); provider == BuiltIn || c.Providers[provider].Profile == InProcess {
		return fmt.Errorf("serve.completions is %s; that provider has no /completions: name a model of a server, "+
			"such as llama.cpp's, Ollama or vLLM", quoted(name))
	}
	return c.writes("serve.completions", name)
}
