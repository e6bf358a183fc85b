package ablation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
)

// Endpoint is a server that speaks the OpenAI wire, and what its model takes and costs.
type Endpoint struct {
	URL, Key string
	Model    string // on the wire
	Profile  string // kind of server, as in a provider's section; empty: any
	Price    budget.Price
	Judges   bool // its log-probabilities mean something, so they are requested and paid for

	EmbedURL, EmbedModel string // an embedder; empty: the built-in one, which compares words
}

// The environment variables that name an endpoint.
const (
	EnvURL        = "ONEIROS_ABLATION_URL"
	EnvModel      = "ONEIROS_ABLATION_MODEL"
	EnvKey        = "ONEIROS_ABLATION_KEY" // name of the variable that holds the key
	EnvProfile    = "ONEIROS_ABLATION_PROFILE"
	EnvPrice      = "ONEIROS_ABLATION_PRICE" // dollars for a million tokens, in and out: "0.15/0.60"
	EnvJudges     = "ONEIROS_ABLATION_JUDGES"
	EnvEmbedURL   = "ONEIROS_ABLATION_EMBED_URL"
	EnvEmbedModel = "ONEIROS_ABLATION_EMBED_MODEL"
)

// usual is the price when none is set: that of a small hosted model.
const usual = "0.15/0.60"

// FromEnvironment reads an endpoint; without a URL it is empty.
func FromEnvironment(getenv func(string) string) (Endpoint, error) {
	e := Endpoint{
		URL: getenv(EnvURL), Model: getenv(EnvModel), Profile: getenv(EnvProfile), Judges: getenv(EnvJudges) != "",
		EmbedURL: getenv(EnvEmbedURL), EmbedModel: getenv(EnvEmbedModel),
	}
	if name := getenv(EnvKey); name != "" {
		e.Key = getenv(name)
	}
	price := getenv(EnvPrice)
	if price == "" {
		price = usual
	}
	in, out, ok := strings.Cut(price, "/")
	dear := func(text string) budget.Micros {
		dollars, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		ok = ok && err == nil && dollars > 0
		return budget.Micros(dollars * float64(budget.Dollar))
	}
	e.Price = budget.Price{In: dear(in), Out: dear(out)}
	e.Price.CachedIn = e.Price.In // nothing is counted as cached: no arm gains by the order of its calls
	if !ok {
		return e,
			fmt.Errorf("%s is %q; it must be dollars for a million tokens in and out, such as %q", EnvPrice, price,
				usual)
	}
	if e.URL != "" && e.Model == "" {
		return e, fmt.Errorf("%s is set and %s is not; it must name the model on that server", EnvURL, EnvModel)
	}
	if (e.EmbedURL == "") != (e.EmbedModel == "") {
		return e, fmt.Errorf("%s and %s must be set together", EnvEmbedURL, EnvEmbedModel)
	}
	return e, nil
}

// vecs is the embedder's name in the catalogue.
const vecs = "vectors/embedder"

// embedder is the model that places texts.
func (e Endpoint) embedder() string {
	if e.EmbedURL == "" {
		return "builtin/lexical"
	}
	return vecs
}

// dreamer is the catalogue's entry of the model: what the product knows of it, at the price that is counted.
func (e Endpoint) dreamer() (inference.Spec, error) {
	return inference.Resolve("model", cmp.Or(e.Profile, "generic"), e.Model,
		&inference.Override{Price: &e.Price, Judges: &e.Judges})
}

func (e Endpoint) specs() (inference.Table, error) {
	model, err := e.dreamer()
	t := inference.Table{model.Name: model}
	if e.EmbedURL != "" {
		t[vecs] = inference.Spec{
			Name:     vecs,
			Provider: "vectors",
			Wire:     e.EmbedModel,
			Price:    &budget.Price{},
			Context:  512,
			Embeds:   true,
		}
	}
	for _, s := range localmodel.Specs() {
		t[s.Name] = s
	}
	return t, err
}

// models are the models of a night of this arm.
func (e Endpoint) models(a Arm, table inference.Table) (inference.Switchboard, error) {
	specs, err := e.specs()
	if err != nil {
		return inference.Switchboard{}, err
	}
	maps.Copy(table, specs)
	models := map[string]inference.Model{localmodel.Provider: localmodel.New()}
	profile, err := openaigw.ProfileOf(e.Profile)
	if err != nil {
		return inference.Switchboard{}, err
	}
	gateway, err := openaigw.New(openaigw.Options{
		Name:      "model",
		BaseURL:   e.URL,
		APIKey:    e.Key,
		Profile:   profile,
		Catalog:   table,
		UsageWait: usageWait,
	})
	if err != nil {
		return inference.Switchboard{}, err
	}
	models["model"] = gateway
	if a.TopP > 0 {
		models["model"] = topPModel{gateway, a.TopP}
	}
	if e.EmbedURL != "" {
		key := ""
		if e.EmbedURL == e.URL { // the key is sent to no other server
			key = e.Key
		}
		places, err := openaigw.New(openaigw.Options{Name: "vectors", BaseURL: e.EmbedURL, APIKey: key, Catalog: table})
		if err != nil {
			return inference.Switchboard{}, err
		}
		models["vectors"] = places
	}
	return inference.Switchboard{Catalog: table, Providers: models}, nil
}

// topPModel sends top-p in the place of min-p.
type topPModel struct {
	inference.Model
	topP float64
}

// Generate calls the model behind it.
func (n topPModel) Generate(ctx context.Context, r inference.Request,
	token func(string) bool,
) (inference.Answer, error) {
	if r.Sampling.MinP != nil {
		r.Sampling.MinP, r.Sampling.TopP = nil, &n.topP
	}
	return n.Model.Generate(ctx, r, token)
}

// modelsByRole names the model of each role.
func (e Endpoint) modelsByRole() map[dream.Role]string {
	all := map[dream.Role]string{}
	for _, role := range dream.Roles {
		all[role] = "model/" + e.Model
	}
	all[dream.Embedder] = e.embedder()
	return all
}
