// Package cost runs dreams at the price lists of real providers and reads from the ledger what each cost.
package cost

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Class is one price list.
type Class struct {
	Name  string
	Price budget.Price
}

// Classes are three that are on the market: small models, middle ones, and the dearest. A cached part of a prompt
// costs half the full price at the first and a tenth at the others, as the providers charge.
var Classes = []Class{
	{"small", budget.Price{In: 150_000, CachedIn: 75_000, Out: 600_000}},
	{"middle", budget.Price{In: 3 * budget.Dollar, CachedIn: 300_000, Out: 15 * budget.Dollar}},
	{"large", budget.Price{In: 15 * budget.Dollar, CachedIn: 1_500_000, Out: 75 * budget.Dollar}},
}

// embedding is the price of the embedder in every class: that of a small one.
var embedding = budget.Price{In: 20_000, CachedIn: 20_000}

// Tokenizer counts prompts and answers of every class. Other makers do not publish theirs; those count up to a third
// more.
const Tokenizer = "o200k_base"

// Providers cache the common beginning of prompts from this many tokens on, in steps of this many.
const (
	cachedFrom = 1024
	cachedStep = 128
)

// Specs are the catalogue entries of the classes' models and their embedder, as a deployment would configure them.
func Specs(with ...Class) inference.Table {
	t := inference.Table{}
	for _, c := range with {
		t["scripted/"+c.Name] = inference.Spec{
			Name:           "scripted/" + c.Name,
			Provider:       "scripted",
			Wire:           c.Name,
			Price:          &c.Price,
			Context:        128_000,
			Tokenizer:      Tokenizer,
			JSON:           inference.JSONSchema,
			Stop:           true,
			Judges:         true,
			MaxTemperature: 2,
			MinP:           true,
			TopP:           true,
			Seed:           true,
		}
	}
	t["scripted/vectors"] = inference.Spec{
		Name:      "scripted/vectors",
		Provider:  "scripted",
		Wire:      "vectors",
		Price:     &embedding,
		Context:   8_000,
		Tokenizer: Tokenizer,
		Embeds:    true,
	}
	return t
}

// Provider is a fake provider that counts tokens as real ones do and answers at a given length.
type Provider struct {
	URL string

	long   Length
	caches bool
	prose  []string
	server *httptest.Server

	mu    sync.Mutex
	seen  []prompt
	bill  map[string]budget.Tokens // by model
	calls int
}

// prompt is one that was answered, with the step that it belongs to.
type prompt struct{ model, step, text string }

// Open starts a provider that answers with these sentences. With caches it charges less for the beginning that a
// prompt shares with prompts of earlier steps; calls of one step run at the same time and share nothing.
func Open(prose []string, long Length, caches bool) *Provider {
	c := &Provider{long: long, caches: caches, prose: prose, bill: map[string]budget.Tokens{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", c.chat)
	mux.HandleFunc("POST /v1/embeddings", c.embed)
	c.server = httptest.NewServer(mux)
	c.URL = c.server.URL + "/v1"
	return c
}

// Close stops it.
func (c *Provider) Close() { c.server.Close() }

// Bill is what it sold of a model.
func (c *Provider) Bill(model string) budget.Tokens {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bill[model]
}

// Calls counts its answers.
func (c *Provider) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func count(text string) int64 { return inference.CountText(inference.Spec{Tokenizer: Tokenizer}, text) }

// Tokens that a chat format adds around each message and the conversation, as OpenAI states them.
const (
	aroundMessage = 3
	aroundPrompt  = 3
)

func (c *Provider) chat(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string `json:"model"`
		Messages []struct{ Role, Content string }
		Most     int `json:"max_tokens"`
		Format   struct {
			Schema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	in, text := int64(aroundPrompt), ""
	for _, m := range q.Messages {
		in += count(m.Content) + aroundMessage
		text += m.Role + "\n" + m.Content + "\n"
	}
	if q.Format.Schema.Schema != nil {
		in += count(string(q.Format.Schema.Schema))
	}
	turn := fnv.New32a()
	_, _ = turn.Write([]byte(activity(r.Header.Get("Idempotency-Key")))) // a hash never fails
	completion, finish := answer{
		c.long,
		c.prose,
		references(text),
		int(turn.Sum32() >> 8),
	}.to(
		q.Format.Schema.Schema,
		q.Most,
	)
	used := budget.Tokens{In: in, Out: count(completion)}
	if q.Most > 0 && used.Out > int64(q.Most) { // cut by the limit
		used.Out = int64(q.Most)
	}
	if c.caches {
		used.Cached = c.cached(prompt{q.Model, step(r.Header.Get("Idempotency-Key")), text})
	}
	c.book(q.Model, used)
	reply(w, map[string]any{
		"id": "cost", "object": "chat.completion", "model": q.Model,
		"choices": []any{
			map[string]any{
				"index": 0, "message": map[string]any{"role": "assistant", "content": completion},
				"finish_reason": finish,
			},
		},
		"usage": map[string]any{
			"prompt_tokens": used.In, "completion_tokens": used.Out, "total_tokens": used.In + used.Out,
			"prompt_tokens_details": map[string]any{"cached_tokens": used.Cached},
		},
	})
}

func (c *Provider) book(model string, used budget.Tokens) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.bill[model]
	b.In, b.Cached, b.Out = b.In+used.In, b.Cached+used.Cached, b.Out+used.Out
	c.bill[model] = b
	c.calls++
}

// cached is how much of a prompt was the beginning of a prompt of an earlier step.
func (c *Provider) cached(p prompt) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	common := ""
	for _, other := range c.seen {
		if other.model != p.model || other.step == p.step {
			continue
		}
		n := 0
		for n < len(p.text) && n < len(other.text) && p.text[n] == other.text[n] {
			n++
		}
		if n > len(common) {
			common = p.text[:n]
		}
	}
	c.seen = append(c.seen, p)
	n := count(common)
	if n < cachedFrom {
		return 0
	}
	return n / cachedStep * cachedStep
}

// activity is a key without its dream, so that other dreams get the same answers: "onset/2/partial-3".
func activity(key string) string {
	key, _, _ = strings.Cut(key, "#")
	if parts := strings.SplitN(key, "/", 4); len(parts) == 4 {
		return parts[3]
	}
	return key
}

var numbered = regexp.MustCompile(`-\d+$`)

// step is the common part of the keys of calls that run together: "…/2/partial" of "…/2/partial-3#1".
func step(key string) string {
	key, _, _ = strings.Cut(key, "#")
	return numbered.ReplaceAllString(key, "")
}

func (c *Provider) embed(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var used budget.Tokens
	data := make([]any, len(q.Input))
	for i, text := range q.Input {
		used.In += count(text)
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": provider.Vector(text, 64)}
	}
	c.book(q.Model, used)
	reply(w, map[string]any{
		"object": "list", "model": q.Model, "data": data,
		"usage": map[string]any{"prompt_tokens": used.In, "total_tokens": used.In},
	})
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

var bracketed = regexp.MustCompile(`(?m)^- \[([a-z]+\d+)\]`)

// references are those that a prompt shows, in order.
func references(text string) []string {
	var refs []string
	for _, m := range bracketed.FindAllStringSubmatch(text, -1) {
		refs = append(refs, m[1])
	}
	return refs
}
