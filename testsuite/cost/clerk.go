// Package cost dreams at the price lists of real providers and reads from the ledger what a night comes to.
package cost

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Class is a price list.
type Class struct {
	Name  string
	Price budget.Price
}

// Classes are three that are on the market: small models, the middle, and the dearest. Prompts that a provider has seen
// before cost half of the full price at the first and a tenth at the others, as their providers have it.
var Classes = []Class{
	{"small", budget.Price{In: 150_000, CachedIn: 75_000, Out: 600_000}},
	{"middle", budget.Price{In: 3 * budget.Dollar, CachedIn: 300_000, Out: 15 * budget.Dollar}},
	{"large", budget.Price{In: 15 * budget.Dollar, CachedIn: 1_500_000, Out: 75 * budget.Dollar}},
}

// embedding is the price of the embedder beside every class: that of a small one.
var embedding = budget.Price{In: 20_000, CachedIn: 20_000}

// Tokenizer counts prompts and answers of every class. Those of other makers are not public; theirs count up to a third
// more.
const Tokenizer = "o200k_base"

// From so many tokens on, and in steps of so many, providers keep what prompts have in common at their beginning.
const (
	cachedFrom = 1024
	cachedStep = 128
)

// Specs are the models of the classes and their embedder, as a deployment would write them down.
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

// Clerk is a provider that counts as real ones do, and answers at the length that it is told.
type Clerk struct {
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

// prompt is one that was answered, of the step that it belonged to.
type prompt struct{ model, step, text string }

// Open starts a clerk who speaks in these sentences. One who caches charges less for what prompts of earlier steps
// began with; those of the same step are under way at the same time.
func Open(prose []string, long Length, caches bool) *Clerk {
	c := &Clerk{long: long, caches: caches, prose: prose, bill: map[string]budget.Tokens{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", c.chat)
	mux.HandleFunc("POST /v1/embeddings", c.embed)
	c.server = httptest.NewServer(mux)
	c.URL = c.server.URL + "/v1"
	return c
}

// Close ends it.
func (c *Clerk) Close() { c.server.Close() }

// Bill is what it sold of a model.
func (c *Clerk) Bill(model string) budget.Tokens {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bill[model]
}

// Calls counts its answers.
func (c *Clerk) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func count(text string) int64 { return inference.CountText(inference.Spec{Tokenizer: Tokenizer}, text) }

// What a chat format wraps around a message and a conversation, by OpenAI's own account.
const (
	aroundMessage = 3
	aroundPrompt  = 3
)

func (c *Clerk) chat(w http.ResponseWriter, r *http.Request) {
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
	said, finish := answer{c.long, c.prose, references(text), int(turn.Sum32() >> 8)}.to(q.Format.Schema.Schema, q.Most)
	used := budget.Tokens{In: in, Out: count(said)}
	if q.Most > 0 && used.Out > int64(q.Most) { // cut by the limit
		used.Out = int64(q.Most)
	}
	if c.caches {
		used.Cached = c.cached(prompt{q.Model, step(r.Header.Get("Idempotency-Key")), text})
	}
	c.book(q.Model, used)
	reply(w, map[string]any{
		"id": "clerk", "object": "chat.completion", "model": q.Model,
		"choices": []any{
			map[string]any{
				"index": 0, "message": map[string]any{"role": "assistant", "content": said},
				"finish_reason": finish,
			},
		},
		"usage": map[string]any{
			"prompt_tokens": used.In, "completion_tokens": used.Out, "total_tokens": used.In + used.Out,
			"prompt_tokens_details": map[string]any{"cached_tokens": used.Cached},
		},
	})
}

func (c *Clerk) book(model string, used budget.Tokens) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.bill[model]
	b.In, b.Cached, b.Out = b.In+used.In, b.Cached+used.Cached, b.Out+used.Out
	c.bill[model] = b
	c.calls++
}

// cached is how much of a prompt had been the beginning of one of an earlier step.
func (c *Clerk) cached(p prompt) int64 {
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

// activity is a key without its dream, so that other dreams hear the same: "onset/2/partial-3".
func activity(key string) string {
	key, _, _ = strings.Cut(key, "#")
	if parts := strings.SplitN(key, "/", 4); len(parts) == 4 {
		return parts[3]
	}
	return key
}

var numbered = regexp.MustCompile(`-\d+$`)

// step is what the calls of one moment have in common: "…/2/partial" of "…/2/partial-3#1".
func step(key string) string {
	key, _, _ = strings.Cut(key, "#")
	return numbered.ReplaceAllString(key, "")
}

func (c *Clerk) embed(w http.ResponseWriter, r *http.Request) {
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
