package dreamhttp_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/roomhttp"
)

var update = flag.Bool("update", false, "write the description anew")

// served are the routes of all APIs, and those that the program adds. A route of every method is one of the three
// that the protocol behind it uses.
func served() []front.Route {
	nothing := func(http.ResponseWriter, *http.Request) {}
	var all []front.Route
	for _, r := range slices.Concat((&dreamhttp.Handler{}).Routes(), (&openaihttp.Handler{}).Routes(),
		(&responseshttp.Handler{}).Routes(), (&messageshttp.Handler{}).Routes(),
		(&roomhttp.Handler{}).Routes(), mcpserver.New(nil, nil, mcpserver.Options{}).Routes(), []front.Route{
			{Method: http.MethodGet, Path: "/healthz", Open: true, Serve: nothing},
			{Method: http.MethodGet, Path: "/readyz", Open: true, Serve: nothing},
			{Method: http.MethodGet, Path: "/metrics", Role: access.Operator, Serve: nothing},
		}) {
		methods := []string{r.Method}
		if r.Method == "" {
			methods = []string{http.MethodPost, http.MethodGet, http.MethodDelete}
		}
		for _, r.Method = range methods {
			all = append(all, r)
		}
	}
	return all
}

var placeholder = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// operation describes a route.
func (b *book) operation(r front.Route) object {
	b.t.Helper()
	result := operationOf(r.Method, r.Path)
	op := object{
		"operationId": idOf(r), "summary": cmp.Or(result.summary, r.Method+" "+r.Path),
		"tags": []string{tagOf(r.Path)},
	}
	text := result.note
	if !r.Open && !r.Signed {
		text = strings.TrimSpace(text + "\n\nNeeds a key of role " + string(r.Role) + ".")
		op["x-role"] = string(r.Role)
	} else {
		op["security"] = []object{}
	}
	op["description"] = text
	var parameters []object
	for _, name := range placeholder.FindAllStringSubmatch(r.Path, -1) {
		parameters = append(parameters,
			object{
				"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"},
				"description": cmp.Or(result.place, places[name[1]]),
			})
	}
	for _, p := range result.query {
		parameters = append(parameters,
			object{"name": p.name, "in": "query", "schema": p.schema, "description": p.note})
	}
	if r.Once {
		parameters = append(parameters, object{"$ref": "#/components/parameters/Idempotency"})
	}
	if r.Path == "/v1/events" || r.Path == "/v1/rooms/{room}/events" {
		parameters = append(parameters,
			object{
				"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string"},
				"description": "The number of the last event that was received; before after.",
			})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if schema, ok := result.body.(object); ok {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
	} else if result.body != nil {
		op["requestBody"] = object{
			"required": true,
			"content":  object{"application/json": object{"schema": b.of(result.body)}},
		}
	}
	require.NotNil(b.t, result.answers, "say in operations what %s %s answers", r.Method, r.Path)
	op["responses"] = b.responses(result.answers, cmp.Or(result.fails, "Error"))
	return op
}

func (b *book) responses(answers map[int]any, fails string) object {
	all := object{"default": object{"$ref": "#/components/responses/" + fails}}
	events := func(data object) object { return object{"schema": object{"type": "string"}, "x-event-data": data} }
	for status, v := range answers {
		answer := object{"description": http.StatusText(status) + "."}
		switch kind := v.(type) {
		case nil:
		case stream:
			answer["content"] = object{"text/event-stream": events(kind.data)}
		case either:
			answer["content"] = object{
				"application/json":  object{"schema": kind.whole},
				"text/event-stream": events(kind.data),
			}
		case string:
			answer["content"] = object{kind: object{"schema": object{"type": "string"}}}
		case object:
			answer["content"] = object{"application/json": object{"schema": kind}}
		default:
			answer["content"] = object{"application/json": object{"schema": b.of(v)}}
		}
		all[strconv.Itoa(status)] = answer
	}
	return all
}

func idOf(r front.Route) string {
	if result := operationOf(r.Method, r.Path); result.id != "" {
		return result.id
	}
	return strings.ToLower(r.Method) +
		strings.Join(strings.FieldsFunc(r.Path, func(c rune) bool { return strings.ContainsRune("/{}._", c) }), "_")
}

func tagOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/dreams"):
		return "dreams"
	case strings.HasPrefix(path, "/v1/rooms"):
		return "rooms"
	case strings.HasPrefix(path, "/v1/agents"):
		return "agents"
	case path == "/v1/events":
		return "events"
	case strings.HasPrefix(path, "/v1/messages"):
		return "anthropic"
	case path == "/mcp":
		return "mcp"
	case strings.HasPrefix(path, "/v1/openapi"), !strings.HasPrefix(path, "/v1/"):
		return "server"
	}
	return "openai"
}

// describe makes the whole description.
func describe(t *testing.T) []byte {
	t.Helper()
	b := newBook(t)
	paths := object{}
	for _, r := range served() {
		path := placeholder.ReplaceAllString(r.Path, "{$1}")
		at, _ := paths[path].(object)
		if at == nil {
			at = object{}
			paths[path] = at
		}
		at[strings.ToLower(r.Method)] = b.operation(r)
	}
	b.of(psyche.VisibleEvent{})
	b.of(psyche.Page[room.Event]{})
	responses := failures(b)
	for name, schema := range borrowed {
		require.Nil(t, b.schemas[name], "two schemas are called %s", name)
		b.schemas[name] = schema
	}
	b.prune(paths, responses)
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Oneiros", "version": "1",
			"license":     object{"name": "see the project", "identifier": "LicenseRef-Oneiros"},
			"description": "An agent awake, its dreams, and the rooms in which it talks. Fields and paths are only added: ignore what you do not know. Where an answer is a stream of server-sent events, x-event-data is the schema of each one's data. Times are whole seconds since 1970 where a field ends in _at or _until, money is in micro-dollars where it ends in _micros.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"key": []string{}}},
		"tags": []object{
			{"name": "dreams"},
			{"name": "events"},
			{"name": "agents"},
			{"name": "rooms"},
			{"name": "openai"},
			{"name": "anthropic"},
			{"name": "mcp"},
			{"name": "server"},
		},
		"paths": paths,
		"components": object{
			"schemas": b.schemas,
			"securitySchemes": object{
				"key": object{
					"type": "http", "scheme": "bearer",
					"description": "A key of oneiros keys add. A loopback address needs none as long as no key was ever made.",
				},
			},
			"responses": responses,
			"parameters": object{"Idempotency": object{
				"name": "Idempotency-Key", "in": "header",
				"schema":      object{"type": "string", "minLength": 1, "maxLength": 255},
				"description": "Names this request: when it comes again under the same name, it is not done again, and answered as before.",
			}},
		},
	}
	var made bytes.Buffer
	e := json.NewEncoder(&made)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(doc))
	return made.Bytes()
}

func TestTheDescriptionIsThatOfTheTypesAndRoutes(t *testing.T) {
	made := describe(t)
	shown := filepath.Join("..", "..", "..", "docs", "openapi.json")
	if *update || os.Getenv("UPDATE") == "1" {
		require.NoError(t, os.WriteFile("openapi.json", made, 0o644))
		require.NoError(t, os.WriteFile(shown, made, 0o644))
	}
	for _, path := range []string{"openapi.json", shown} {
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(made), string(kept), "go generate ./internal/psyche/dreamhttp writes it anew")
	}
}

func TestEveryRouteIsDescribedWithItsRoleAndItsKey(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string            `json:"operationId"`
			Summary    string            `json:"summary"`
			Role       string            `json:"x-role"`
			Parameters []object          `json:"parameters"`
			Responses  map[string]object `json:"responses"`
		} `json:"paths"`
	}
	kept, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(kept, &doc))
	ids := map[string]bool{}
	for _, r := range served() {
		op, ok := doc.Paths[placeholder.ReplaceAllString(r.Path, "{$1}")][strings.ToLower(r.Method)]
		require.True(t, ok, "%s %s is not described; go generate ./internal/psyche/dreamhttp", r.Method, r.Path)
		require.NotEqual(t, r.Method+" "+r.Path, op.Summary, "say in operations what it does")
		require.False(t, ids[op.ID], "two operations are called %s", op.ID)
		ids[op.ID] = true
		require.Equal(t, string(r.Role), op.Role, r.Path)
		once := slices.ContainsFunc(op.Parameters,
			func(p object) bool { return p["$ref"] == "#/components/parameters/Idempotency" })
		require.Equal(t, r.Once, once, r.Path)
		require.NotEmpty(t, op.Responses)
	}
}

func TestEveryReferenceOfTheDescriptionLeadsSomewhere(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc object
	require.NoError(t, json.Unmarshal(kept, &doc))
	found := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				found++
				var at any = doc
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					within, ok := at.(object)
					require.True(t, ok, ref)
					at = within[part]
				}
				require.NotNil(t, at, ref)
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	require.Greater(t, found, 100)
}
