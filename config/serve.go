package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

// Serve configures the server that clients talk to.
type Serve struct {
	Listen string `json:"listen"` // host:port; empty: `oneiros up` serves nothing
	Model  string `json:"model"`  // "provider/model" for conversations; empty: the generator's

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
	KeyDay     budget.Micros `json:"key_day"` // spending of one key in one day (UTC)
	MaxBody    int           `json:"max_body"`
	MaxStreams int           `json:"max_streams"`
	KeyStreams int           `json:"key_streams"`
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

func serveKnobs() []Knob {
	return []Knob{
		{
			Key: "serve.listen", Sort: Text, Default: "127.0.0.1:7680", Unit: "host:port",
			Reason: "Where OpenAI clients, MCP clients and the dreams API are answered. An address that other machines reach needs keys first (`oneiros keys add`). Empty: `oneiros up` serves nothing.",
		},
		{
			Key: "serve.model", Sort: Text, Default: "", Unit: "provider/model",
			Reason: "The model that talks for every agent. Clients name agents where they would name a model, so that this one is never theirs to choose. Empty: roles.generator.",
		},
		{
			Key: "serve.recall", Sort: YesNo, Default: true,
			Reason: "Memories near to what is said are put before the model as quoted background. A request turns it off with the header X-Oneiros-Recall: off.",
		},
		{
			Key:     "serve.recall_budget",
			Sort:    Span,
			Default: "0s",
			Low:     0,
			High:    10,
			Reason:  "The longest that a turn waits for its memories. 0s follows the embedder: 40 ms with a built-in one, which nobody notices, and a second with one that is called over a network. An embedder that has not answered after three quarters of it is not waited for: memory is searched by words alone, and the answer says so.",
		},
		{
			Key:     "serve.recall_items",
			Sort:    Whole,
			Default: 6,
			Unit:    "memories",
			Low:     1,
			High:    50,
			Reason:  "The most memories that a turn is given. Each costs some forty tokens of every prompt.",
		},
		{
			Key: "serve.store", Sort: YesNo, Default: true,
			Reason: "What is said is remembered after the answer, by its importance. A request turns it off with the header X-Oneiros-Store: off.",
		},
		{
			Key: "serve.affect", Sort: YesNo, Default: true,
			Reason: "The model is told how the agent feels, once in each talk and again when it feels otherwise. A request turns it off with the header X-Oneiros-Affect: off.",
		},
		{
			Key: "serve.persona", Sort: Choice, Default: "system", Choices: []string{"system", "user", "off"},
			Reason: "How the model is told the agent's name and persona: by a message of the role system before all others, of the role user for models whose templates refuse a second system message, or not at all.",
		},
		{
			Key: "serve.joined", Sort: YesNo, Default: false,
			Reason: "Background goes into the message of the user and not before it, for models whose templates want user and assistant to take turns (Gemma on llama.cpp says so with an error).",
		},
		{
			Key: "serve.mood_sampling", Sort: YesNo, Default: false,
			Reason: "The agent's arousal sets the temperature, from 0.8 to 1.2, where the client names neither temperature nor top_p and the model takes one. Off, because most clients expect the provider's own default.",
		},
		{
			Key:     "serve.recall_except",
			Sort:    Text,
			Default: "",
			Unit:    "handles",
			Reason:  "Agents for which serve.recall is the other way round, with commas between.",
		},
		{
			Key:     "serve.store_except",
			Sort:    Text,
			Default: "",
			Unit:    "handles",
			Reason:  "Agents for which serve.store is the other way round.",
		},
		{
			Key:     "serve.affect_except",
			Sort:    Text,
			Default: "",
			Unit:    "handles",
			Reason:  "Agents for which serve.affect is the other way round.",
		},
		{
			Key:     "serve.digest_except",
			Sort:    Text,
			Default: "",
			Unit:    "handles",
			Reason:  "Agents whose clients are told nothing of dreams, whatever agent.digest says.",
		},
		{
			Key: "serve.keys", Sort: Choice, Default: KeysAuto, Choices: []string{KeysAuto, KeysRequired},
			Reason: "auto: a server on a loopback address needs no key until the first one is made; everyone on this machine has the rights of an owner until then. required: no request is served without a key, for machines that several people use.",
		},
		{
			Key:     "serve.tls_cert",
			Sort:    Text,
			Default: "",
			Unit:    "path",
			Reason:  "The server's certificate, with those of its authorities behind it; goes with tls_key. Empty: plain HTTP, for loopback or behind a gate that speaks TLS.",
		},
		{
			Key:     "serve.tls_key",
			Sort:    Text,
			Default: "",
			Unit:    "path",
			Reason:  "The key of tls_cert.",
		},
		{
			Key: "serve.hosts", Sort: Text, Default: "", Unit: "names",
			Reason: "The names under which clients reach the server, with commas between, such as \"dreams.example\". A request to another name is refused: a web page could have made its own name point here. This machine's own names and the address of serve.listen are always right.",
		},
		{
			Key: "serve.origins", Sort: Text, Default: "", Unit: "origins",
			Reason: "The web pages that may call the server from a browser, with commas between, such as \"https://app.example\". Empty: none; programs send no origin and are not concerned.",
		},
		{
			Key: "serve.allow_fields", Sort: Text, Default: "", Unit: "fields",
			Reason: "Fields that a paid model may be asked with although tokens do not bound their price, with commas between, such as \"service_tier, plugins\". Empty: they are refused by name, so that no request costs more than was reserved. What an allowed field costs beyond tokens at list price no cap sees; docs/money.md lists the fields.",
		},
		{
			Key:     "serve.rate",
			Sort:    Whole,
			Default: 600,
			Unit:    "requests a minute",
			Low:     0,
			High:    1_000_000,
			Reason:  "The most requests of one principal in a minute; ten a second is more than a person and an agent's tools send. A key may have a rate of its own. Each server process counts by itself: N of them let N times as many pass. 0: no bound.",
		},
		{
			Key:       "serve.key_day",
			Sort:      Dollars,
			Default:   "unlimited",
			Unit:      "USD",
			Unlimited: true,
			Reason:    "The most that one principal may cost in a day, with all its keys. Unlimited, because the caps of the agents bound what a turn may cost; a key may have a cap of its own.",
		},
		{
			Key:     "serve.max_body",
			Sort:    Whole,
			Default: 16 << 20,
			Unit:    "bytes",
			Low:     1 << 10,
			High:    1 << 30,
			Reason:  "The largest body that is taken in; larger ones are refused before they are read. 16 MiB hold a full context and a few pictures.",
		},
		{
			Key:     "serve.max_streams",
			Sort:    Whole,
			Default: 1024,
			Unit:    "requests",
			Low:     1,
			High:    1_000_000,
			Reason:  "The most requests under way at once in one process; the next is told to come again. One that waits for its model holds about 60 KiB.",
		},
		{
			Key:     "serve.key_streams",
			Sort:    Whole,
			Default: 64,
			Unit:    "requests",
			Low:     1,
			High:    1_000_000,
			Reason:  "The most requests under way at once of one principal, so that one client cannot take every place. Where no key was made yet, of everybody together.",
		},
		{
			Key:     "serve.memories_per_principal",
			Sort:    Whole,
			Default: 100_000,
			Unit:    "memories",
			Low:     0,
			High:    1_000_000_000,
			Reason:  "The most live memories that one agent keeps of what one principal said, with all its keys and users. Beyond it nothing more of the principal is remembered: turns go on, the log and the agent's status say so, and store_memory is refused. A hundred exchanges a day fill it in three years, and dreams that forget make room. Each process counts anew every ten minutes. 0: no bound.",
		},
		{
			Key:     "serve.memories_per_user",
			Sort:    Whole,
			Default: 20_000,
			Unit:    "memories",
			Low:     0,
			High:    1_000_000_000,
			Reason:  "The same for one user that a client of a principal names, so that one user of an application cannot fill the principal's share. 0: no bound but the principal's.",
		},
		{
			Key:     "serve.answers_per_principal",
			Sort:    Whole,
			Default: 10_000,
			Unit:    "answers",
			Low:     0,
			High:    1_000_000_000,
			Reason:  "How many answers to requests with an Idempotency-Key are kept of each principal; the oldest make room, and a request that comes again is told so. A client that sends one a second for three hours fills it. 0: any number.",
		},
		{
			Key:     "serve.mcp_sessions",
			Sort:    Whole,
			Default: 64,
			Unit:    "sessions",
			Low:     1,
			High:    1_000_000,
			Reason:  "The most MCP sessions of one principal at once in one process. The one that asked nothing for longest gives way to a new one: clients forget sessions more often than they end them.",
		},
		{
			Key:     "serve.write_within",
			Sort:    Span,
			Default: "30s",
			Low:     .1,
			High:    3600,
			Reason:  "How long a client may take to accept one piece of an answer, before its connection ends and the model stops.",
		},
		{
			Key:     "serve.grace",
			Sort:    Span,
			Default: "20s",
			Low:     0,
			High:    600,
			Reason:  "How long answers under way may go on after the process was told to stop. Nothing new is let in meanwhile.",
		},
	}
}

func (s Serve) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Listen != "" {
		host, port, err := net.SplitHostPort(s.Listen)
		if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || (host == "" && n == 0) {
			fault(
				"serve.listen is %s; it must be an address of this machine and a port, such as 127.0.0.1:7680, or empty",
				quoted(s.Listen))
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		fault("serve.tls_cert and serve.tls_key go together; one of them is empty")
	}
	for _, host := range SplitList(s.Hosts) {
		if strings.ContainsAny(host, "/@:") && net.ParseIP(host) == nil {
			fault("serve.hosts names %s; a host is a name such as dreams.example, without scheme and port",
				quoted(host))
		}
	}
	for _, origin := range SplitList(s.Origins) {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.Path != "" || u.User != nil {
			fault("serve.origins names %s; an origin is such as https://app.example, without a path", quoted(origin))
		}
	}
	for _, field := range SplitList(s.AllowFields) {
		if _, listed := inference.FieldBeyondTokens(field); !listed {
			fault(
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
				fault("serve.%s names %s, which no agent can be called; handles go with commas between", list.name,
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

// validTalk checks that the model for conversations is known, generates text, and has a price.
func (c Config) validTalk() error {
	if c.Serve.Model == "" {
		return nil
	}
	spec, err := c.Spec(c.Serve.Model)
	switch {
	case err != nil:
		return fmt.Errorf("serve.model: %w", err)
	case spec.Embeds:
		return fmt.Errorf(
			"serve.model: %q is the wrong sort of model; it must be a model that writes, not an embedder", spec.Name)
	case spec.Price == nil:
		return fmt.Errorf(
			"serve.model: model %q has no price; add it under providers.%s.models: {name: %s, price: {in: \"0.15\", out: \"0.60\"}} in dollars per million tokens",
			spec.Name, spec.Provider, spec.Wire)
	}
	return nil
}
