package inference

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Profile is a kind of server, and with it the wire that it speaks.
type Profile struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Implies Spec   `json:"implies"` // what a model accepts there when nothing more is known about it; unpriced
}

// Override is what a deployment configures for a model; nil fields leave the known values.
type Override struct {
	Wire           *string
	Price          *budget.Price
	Context        *int
	Tokenizer      *string
	MaxTemperature *float64
	MinP           *bool
	TopP           *bool
	Seed           *bool
	Stop           *bool
	JSON           *JSONMode
	Reasoning      *bool
	Embeds         *bool
	Judges         *bool
	LogProbs       *bool
	Steers         *Steers
	Local          bool // the provider is declared local: a model without a price costs nothing
}

// PricesAsOf is the day of the embedded list prices, and the note that goes with them.
func PricesAsOf() (day, note string) {
	b, err := embeddedBook()
	if err != nil {
		return "", err.Error()
	}
	return b.AsOf, b.Note
}

// Profiles are the known kinds of server, and what each implies. Names of fields belong to the gateway.
func Profiles() []Profile {
	b, err := embeddedBook()
	if err != nil {
		return nil
	}
	out := make([]Profile, 0, len(b.Profiles))
	for _, e := range b.Profiles {
		out = append(out, Profile{Name: e.Name, About: e.About, Implies: e.spec()})
	}
	return out
}

// KnownModel is the embedded data about a model on a kind of server: by its name, by its name without a date, or by
// its family. What the server does not accept is removed. A model known only by its family has no price.
func KnownModel(profile, model string) (Spec, bool) {
	b, err := embeddedBook()
	if err != nil || model == "" {
		return Spec{}, false
	}
	p, err := b.profile(profile)
	if err != nil {
		return Spec{}, false
	}
	e := b.find(strings.ToLower(model), p.Lists)
	if e == nil {
		return Spec{}, false
	}
	s := e.spec()
	if e.Open {
		s = p.spec()
		s.Context = min(e.Context, p.Context)
		s.MaxTemperature = min(e.MaxTemperature, p.MaxTemperature)
		s.Reasoning, s.Embeds = e.Reasoning, e.Embeds
		s.Guessed = p.Context < e.Context
	}
	if p.Native && e.NativeJSON != "" {
		s.JSON = e.NativeJSON
	}
	if p.Native {
		s.CacheFrom = e.CacheFrom
	}
	s.MinP, s.LogProbs = s.MinP && p.MinP, s.LogProbs && p.LogProbs
	s.Wire, s.Judges = model, !s.Embeds
	return s, true
}

// Resolve builds the catalogue's entry "provider/model": what the profile implies, overridden by the data about the
// model, overridden by the deployment's configuration. An entry without a price is returned as it is; a paid call of
// it is refused.
func Resolve(provider, profile, model string, override *Override) (Spec, error) {
	if provider == "" || model == "" {
		return Spec{}, fmt.Errorf("provider %q and model %q must both be named", provider, model)
	}
	b, err := embeddedBook()
	if err != nil {
		return Spec{}, err
	}
	p, err := b.profile(profile)
	if err != nil {
		return Spec{}, fmt.Errorf("provider %s: %w", provider, err)
	}
	s := p.spec()
	s.Guessed = true
	if found, ok := KnownModel(profile, model); ok {
		s = found
	}
	s.Name, s.Provider, s.Wire = provider+"/"+model, provider, model
	if override != nil {
		override.applyTo(&s)
	}
	return s, nil
}

func (o *Override) applyTo(s *Spec) {
	replace(&s.Wire, o.Wire)
	if o.Context != nil {
		s.Context, s.Guessed = *o.Context, false
	}
	replace(&s.Tokenizer, o.Tokenizer)
	replace(&s.MaxTemperature, o.MaxTemperature)
	replace(&s.MinP, o.MinP)
	replace(&s.TopP, o.TopP)
	replace(&s.Seed, o.Seed)
	replace(&s.Stop, o.Stop)
	replace(&s.JSON, o.JSON)
	replace(&s.Reasoning, o.Reasoning)
	replace(&s.Embeds, o.Embeds)
	replace(&s.Judges, o.Judges)
	replace(&s.LogProbs, o.LogProbs)
	if o.Steers != nil {
		s.Steers = o.Steers
	}
	switch {
	case o.Price != nil:
		price := *o.Price
		s.Price = &price
	case o.Local && s.Price == nil:
		s.Price = &budget.Price{}
	}
}

func replace[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Embedded is all embedded data, as a table by "profile/wire name", for an API that looks models up by exact name.
func Embedded() Table {
	t := Table{}
	b, err := embeddedBook()
	if err != nil {
		return t
	}
	for _, p := range b.Profiles {
		for name := range b.byName {
			if s, ok := KnownModel(p.Name, name); ok && s.Price != nil {
				s.Name, s.Wire = p.Name+"/"+name, name
				t[s.Name] = s
			}
		}
	}
	return t
}
