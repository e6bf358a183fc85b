package inference

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

//go:embed known.json
var knownData []byte

// entry is one line of the data: a model by its names, a family by a pattern, or a profile.
type entry struct {
	Names []string `json:"names"`
	Like  string   `json:"like"` // pattern of path.Match
	Open  bool     `json:"open"` // open weights: the server decides what is accepted
	Name  string   `json:"name"`
	// of a profile: how it names the makers' models, "bare" or "prefixed"; empty: it has none
	Lists          string   `json:"lists"`
	Native         bool     `json:"native"` // of a profile: the wire of Claude's maker, where NativeJSON holds
	About          string   `json:"about"`
	In             *string  `json:"in"` // dollars per million tokens
	CachedIn       *string  `json:"cached_in"`
	Out            *string  `json:"out"`
	LongFrom       int64    `json:"long_from"` // tokens of a prompt; a call with more costs the long prices
	LongIn         *string  `json:"long_in"`
	LongCachedIn   *string  `json:"long_cached_in"`
	LongOut        *string  `json:"long_out"`
	Context        int      `json:"context"`
	Tokenizer      string   `json:"tokenizer"`
	MaxTemperature float64  `json:"max_temperature"`
	MinP           bool     `json:"min_p"`
	TopP           bool     `json:"top_p"`
	Seed           bool     `json:"seed"`
	Stop           bool     `json:"stop"`
	JSON           JSONMode `json:"json"`
	NativeJSON     JSONMode `json:"native_json"` // JSON on the wire of the model's maker; empty: the same
	CacheFrom      int      `json:"cache_from"`  // tokens of a prompt, on the wire of the model's maker
	Reasoning      bool     `json:"reasoning"`
	Embeds         bool     `json:"embeds"`
	Judges         bool     `json:"judges"`
	LogProbs       bool     `json:"log_probs"`
	price          *budget.Price
}

// prefixedNames marks profiles that put the maker before a model's name.
const prefixedNames = "prefixed"

// book is the embedded data: models by name, families by pattern, and what each kind of server takes.
type book struct {
	Version  int     `json:"version"`
	AsOf     string  `json:"as_of"`
	Note     string  `json:"note"`
	Profiles []entry `json:"profiles"`
	Models   []entry `json:"models"`
	Families []entry `json:"families"`
	byName   map[string]*entry
}

var embeddedBook = sync.OnceValues(func() (*book, error) { return readBook(knownData) })

// readBook parses and checks the data; a test checks the embedded data with it.
func readBook(data []byte) (*book, error) {
	b := &book{byName: map[string]*entry{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(b); err != nil {
		return nil, fmt.Errorf("known models: %w", err)
	}
	for i := range b.Models {
		e := &b.Models[i]
		price, err := e.readPrice()
		if err != nil {
			return nil, fmt.Errorf("known model %v: %w", e.Names, err)
		}
		e.price = price
		for _, name := range e.Names {
			if b.byName[name] != nil {
				return nil, fmt.Errorf("known model %q stands twice", name)
			}
			b.byName[name] = e
		}
	}
	for _, e := range b.Families {
		if _, err := path.Match(e.Like, ""); err != nil {
			return nil, fmt.Errorf("family %q: %w", e.Like, err)
		}
	}
	return b, nil
}

func (e *entry) readPrice() (*budget.Price, error) {
	if e.In == nil || e.Out == nil {
		return nil, errors.New("in and out are both needed")
	}
	if rises := e.LongFrom > 0; rises != (e.LongIn != nil) || rises != (e.LongOut != nil) {
		return nil, errors.New("long_from, long_in and long_out go together")
	}
	p := budget.Price{LongFrom: e.LongFrom}
	for _, part := range []struct {
		text *string
		to   *budget.Micros
	}{
		{e.In, &p.In},
		{cmp.Or(e.CachedIn, e.In), &p.CachedIn},
		{e.Out, &p.Out},
		{e.LongIn, &p.LongIn},
		{cmp.Or(e.LongCachedIn, e.LongIn), &p.LongCachedIn},
		{e.LongOut, &p.LongOut},
	} {
		if part.text == nil {
			continue
		}
		amount, err := budget.ParseMicros(*part.text)
		if err != nil {
			return nil, err
		}
		*part.to = amount
	}
	return &p, nil
}

func (b *book) profile(name string) (*entry, error) {
	var names []string
	for i := range b.Profiles {
		if b.Profiles[i].Name == name {
			return &b.Profiles[i], nil
		}
		names = append(names, b.Profiles[i].Name)
	}
	return nil, fmt.Errorf("profile %q is not known; it must be one of %s", name, strings.Join(names, ", "))
}

var dated = regexp.MustCompile(`(?:[-@](?:\d{4}-\d{2}-\d{2}|20\d{6}|\d{4})|-latest|:latest)$`)

// find returns the entry of the exact name, else of the name without a date, else the first family that fits the name
// without its maker.
func (b *book) find(model, lists string) *entry {
	if lists != "" && (lists == prefixedNames) == strings.Contains(model, "/") {
		for _, name := range []string{model, dated.ReplaceAllString(model, "")} {
			if e := b.byName[name]; e != nil {
				return e
			}
		}
	}
	base := path.Base(model)
	for i := range b.Families {
		e := &b.Families[i]
		if ok, err := path.Match(e.Like, base); err == nil && ok && (e.Open || lists != "") {
			return e
		}
	}
	return nil
}

func (e *entry) spec() Spec {
	s := Spec{
		Context:        e.Context,
		Tokenizer:      e.Tokenizer,
		MaxTemperature: e.MaxTemperature,
		MinP:           e.MinP,
		TopP:           e.TopP,
		Seed:           e.Seed,
		Stop:           e.Stop,
		JSON:           e.JSON,
		Reasoning:      e.Reasoning,
		Embeds:         e.Embeds,
		Judges:         e.Judges,
		LogProbs:       e.LogProbs,
	}
	if e.price != nil {
		price := *e.price
		s.Price = &price
	}
	if s.JSON == "" {
		s.JSON = JSONPrompt
	}
	return s
}
