package dreamhttp_test

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
)

// told is what the types and the route do not say of an operation. A route without it is described by its path, method and role.
type told struct {
	id, summary, told string
	place             string // what the path's part stands for, where it is not as usual
	query             []parameter
	body              any
	answers           map[int]any // by status: the zero value of a type, the name of a media type, or nothing
}

type parameter struct {
	name, told string
	schema     object
}

// places are the parts of paths that stand for something.
var places = map[string]string{
	"id":    "The dream's id: dream_iris_0042, or dream/iris/0042 with its slashes escaped as %2F.",
	"agent": "The agent's handle or id.",
}

// named is the place of a model's name.
const named = "The agent's handle, which is the id of its model in GET /v1/models, or its id."

var (
	word    = object{"type": "string"}
	yesOrNo = object{"type": "boolean", "default": false}
	after   = parameter{"after", "The last_id of the page before.", word}
	limit   = parameter{"limit", "How many at most.", object{"type": "integer", "minimum": 1, "maximum": psyche.LargestPage, "default": psyche.UsualPage}}
	pages   = []parameter{after, limit}
)

func one(v any) map[int]any { return map[int]any{http.StatusOK: v} }

// operations by method and path.
var operations = map[string]told{
	"POST /v1/dreams": {
		id: "createDream", summary: "Begin a dream", body: dreamhttp.Begin{}, answers: map[int]any{http.StatusCreated: psyche.Dream{}},
		told: "402 for a budget above the agent's cap of one dream, 429 when nothing is left under a cap of its day or month, 409 when the agent dreams already or is held awake. Fields that nobody knows are refused by name.",
	},
	"GET /v1/dreams": {
		id: "listDreams", summary: "List dreams, the newest first", answers: one(psyche.Page[psyche.Dream]{}),
		query: []parameter{
			after, limit,
			{"agent", "Only this agent's: a handle or an id.", word},
			{"status", "Only of this status.", object{"type": "string", "enum": words(dream.Statuses)}},
			{"include_archived", "Those that were archived as well.", yesOrNo},
		},
	},
	"GET /v1/dreams/{id}":          {id: "getDream", summary: "Read a dream", told: "Reason and record are told to operators.", answers: one(psyche.Dream{})},
	"POST /v1/dreams/{id}/cancel":  {id: "cancelDream", summary: "End a dream with what it has", told: "It is asked to end, and does soon. One that is canceled already stays so; 409 for one that ended otherwise.", answers: one(psyche.Dream{})},
	"POST /v1/dreams/{id}/resume":  {id: "resumeDream", summary: "Let an interrupted dream go on", told: "Under the same id, from what it had finished, with what is left of its money. 409 when it does not wait, or its agent is held awake.", answers: one(psyche.Dream{})},
	"POST /v1/dreams/{id}/archive": {id: "archiveDream", summary: "Put a dream that is over out of the lists", told: "What it left behind in the agent's memory stays as it is. Twice is once.", answers: one(psyche.Dream{})},
	"POST /v1/dreams/{id}/redream": {id: "redreamDream", summary: "Dream a night anew from one of its phases on", body: dreamhttp.Redream{}, answers: map[int]any{http.StatusCreated: psyche.Dream{}}},
	"GET /v1/dreams/{id}/insights": {
		id: "listInsights", summary: "What a dream brought that a client may be told", answers: one(psyche.Page[psyche.Insight]{}),
		told: "What was confirmed, and what surfaced on return and is significant, labelled as dreamt and unverified.",
	},
	"GET /v1/dreams/{id}/fragments":   {id: "listFragments", summary: "Thoughts caught at sleep onset, kept and discarded", query: pages, answers: one(psyche.Page[*dream.Fragment]{})},
	"GET /v1/dreams/{id}/scenarios":   {id: "listScenarios", summary: "What a dream imagined", query: pages, answers: one(psyche.Page[*dream.Scenario]{})},
	"GET /v1/dreams/{id}/hypotheses":  {id: "listHypotheses", summary: "Claims that a dream staged for the playbook", query: pages, answers: one(psyche.Page[*dream.Hypothesis]{})},
	"GET /v1/dreams/{id}/predictions": {id: "listDreamPredictions", summary: "What a dream foretold", query: pages, answers: one(psyche.Page[*dream.Prediction]{})},
	"GET /v1/dreams/{id}/journal":     {id: "listDreamJournal", summary: "The journal entries of a dream", query: pages, answers: one(psyche.Page[journal.Public]{})},
	"GET /v1/agents/{agent}/journal":  {id: "listJournal", summary: "An agent's dream journal, the newest first", query: pages, answers: one(psyche.Page[journal.Public]{})},
	"GET /v1/agents/{agent}/playbook": {id: "listPlaybook", summary: "The heuristics that an agent acts by, the surest first", query: pages, answers: one(psyche.Page[*dream.Playbook]{})},
	"GET /v1/agents/{agent}/predictions": {
		id: "listPredictions", summary: "What was foretold, the soonest due first", answers: one(psyche.Page[*dream.Prediction]{}),
		query: append([]parameter{{"status", "Only of this status.", object{"type": "string", "enum": []any{dream.PredictionOpen, dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid}}}}, pages...),
	},
	"GET /v1/events": {
		id: "followEvents", summary: "Follow what is announced of an agent", answers: map[int]any{http.StatusOK: "text/event-stream", http.StatusNoContent: nil},
		told: "Server-sent events: id is the number of the event among the agent's, event its type, data the schema Event. Who comes again with Last-Event-ID goes on behind it, and misses nothing. Role client is told of states, without data that anybody wrote. A stream of one dream ends when that is over; 204 says that nothing follows. A stream ends after an hour; resume it.",
		query: []parameter{
			{"agent", "A handle or an id; may be left out when the key reaches one agent only.", word},
			{"dream", "Only of this dream, from its beginning.", word},
			{"after", "Begin behind this number; 0 is the agent's first. Without it, and without dream, what comes is told.", object{"type": "integer", "minimum": 0}},
			{"type", "Only of these types, with commas between them.", word},
			{"text", "With words: reasons, and the text of what an event names. Needs role operator.", yesOrNo},
		},
	},
	"GET /v1/openapi.json": {id: "describe", summary: "This description", answers: one(object{"type": "object"})},

	"POST /v1/chat/completions": {
		id: "createChatCompletion", summary: "Talk to an agent", body: foreign, answers: streamed,
		told: "As OpenAI's, streaming and not. The model is the agent's handle; all else goes to the provider as it is, and so does what comes back. The agent wakes if it sleeps.",
	},
	"POST /v1/embeddings":            {id: "createEmbedding", summary: "Embed texts", told: "As OpenAI's; it wakes nobody.", body: foreign, answers: one(foreign)},
	"GET /v1/models":                 {id: "listModels", summary: "The agents that this key reaches", told: "As OpenAI's; it wakes nobody.", answers: one(models)},
	"GET /v1/models/{id}":            {id: "getModel", summary: "One agent as a model", place: named, answers: one(model)},
	"GET /v1/models/agent/{id}":      {id: "getModelOfAgent", summary: "One agent as a model, by the name agent/{id}", place: named, answers: one(model)},
	"GET /v1/agents/{agent}/status":  {id: "getStatus", summary: "How an agent is", told: "It wakes nobody.", answers: one(psyche.Status{})},
	"GET /v1/agents/{agent}/emotion": {id: "getEmotion", summary: "How an agent feels", told: "It wakes nobody.", answers: one(psyche.Emotion{})},
	"POST /v1/agents/{agent}/emotion": {
		id: "updateEmotion", summary: "Let an event move how an agent feels", answers: one(psyche.Emotion{}),
		body: object{"type": "object", "required": []string{"event"}, "properties": object{"event": word, "intensity": object{"type": "number", "exclusiveMinimum": 0, "maximum": 1}}},
	},
	"POST /v1/agents/{agent}/session": {
		id: "openSession", summary: "Hold an agent awake, waking it if it sleeps", answers: one(psyche.Session{}),
		body: object{"type": "object", "properties": object{"id": word, "ttl": object{"type": "number", "minimum": 1, "maximum": 3600, "description": "seconds"}}},
	},
	"GET /v1/agents/{agent}/session":    {id: "holdSession", summary: "Hold an agent awake for as long as this stream lasts", answers: one("text/event-stream")},
	"DELETE /v1/agents/{agent}/session": {id: "leaveSession", summary: "Let an agent go", query: []parameter{{"id", "The session's.", word}}, answers: map[int]any{http.StatusNoContent: nil}},

	"GET /healthz": {id: "health", summary: "Whether the server lives", answers: one(object{"type": "object", "properties": object{"status": word}})},
	"GET /readyz": {
		id: "readiness", summary: "Whether clients can talk", told: "503 when they cannot.",
		answers: map[int]any{http.StatusOK: ready, http.StatusServiceUnavailable: ready},
	},
	"GET /metrics": {id: "metrics", summary: "Figures for Prometheus", answers: one("text/plain")},

	"POST /mcp":   {id: "mcpMessage", summary: "The Model Context Protocol, streamable HTTP", body: foreign, answers: streamed},
	"GET /mcp":    {id: "mcpStream", summary: "The stream of an MCP session", answers: one("text/event-stream")},
	"DELETE /mcp": {id: "mcpEnd", summary: "End an MCP session", answers: map[int]any{http.StatusNoContent: nil}},
}

// both is an answer that is whole or a stream, as the request wants it.
type both struct{}

// What other specifications say is left to them.
var (
	foreign  = object{"type": "object", "additionalProperties": true}
	streamed = map[int]any{http.StatusOK: both{}}
	ready    = object{"type": "object", "properties": object{"status": word, "parts": object{"type": "object", "additionalProperties": word}}}
	model    = object{
		"type": "object", "required": []string{"id", "object", "created", "owned_by"},
		"properties": object{"id": word, "object": object{"const": "model"}, "created": object{"type": "integer"}, "owned_by": word},
	}
	models = object{"type": "object", "required": []string{"object", "data"}, "properties": object{"object": object{"const": "list"}, "data": object{"type": "array", "items": model}}}
)
