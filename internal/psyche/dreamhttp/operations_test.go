package dreamhttp_test

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
)

// note is what types and route do not say of an operation. A route without it is described by its path, method and
// role.
type note struct {
	id, summary, note string
	place             string // what the path's variable means, where it is not as usual
	query             []parameter
	body              any
	// answers holds by status: the zero value of a type, a schema, the name of a media type, a stream, either, or
	// nothing.
	answers map[int]any
	fails   string // of components/responses; empty: Error
}

type parameter struct {
	name, note string
	schema     object
}

// places describe the variables of paths.
var places = map[string]string{
	"id":    "The dream's id: dream_iris_0042, or dream/iris/0042 with its slashes escaped as %2F.",
	"agent": "The agent's handle or id.",
	"claim": "The claim's id, such as cl_8b3b862100f3b353.",

	"response": "The response's id, such as resp_4x2k.",

	"room":   "The room's id, such as hall.",
	"member": "The name of a member as the room shows it, or its id.",
	"offset": "The number of the post in its room: 12 of hall/12.",

	"hypothesis": "The hypothesis' id, such as dream/iris/0001/integration/1, with its slashes escaped as %2F.",
}

// named describes the variable for a model's name.
const named = "The agent's handle, which is the id of its model in GET /v1/models, or its id."

var (
	word    = object{"type": "string"}
	null    = object{"type": "null"}
	yesOrNo = object{"type": "boolean", "default": false}
	after   = parameter{"after", "The last_id of the page before.", word}
	limit   = parameter{
		"limit", "How many at most.",
		object{"type": "integer", "minimum": 1, "maximum": psyche.LargestPage, "default": psyche.UsualPage},
	}
	pages = []parameter{after, limit}
)

func one(v any) map[int]any { return map[int]any{http.StatusOK: v} }

// operations by method and path.
var operations = map[string]note{
	"POST /v1/dreams": {
		id: "createDream", summary: "Begin a dream", body: dreamhttp.Begin{},
		answers: map[int]any{http.StatusCreated: psyche.Dream{}},
		note:    "402 for a budget above the agent's cap of one dream, 429 when nothing is left under a cap of its day or month, 409 when the agent dreams already or is held awake. Fields that nobody knows are refused by name.",
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
	"GET /v1/dreams/{id}": {
		id: "getDream", summary: "Read a dream", note: "Reason and record are told to operators.",
		answers: one(psyche.Dream{}),
	},
	"POST /v1/dreams/{id}/cancel": {
		id:      "cancelDream",
		summary: "End a dream with what it has",
		note:    "It is asked to end, and does soon. One that is canceled already stays so; 409 for one that ended otherwise.",
		body:    nothing,
		answers: one(psyche.Dream{}),
	},
	"POST /v1/dreams/{id}/resume": {
		id:      "resumeDream",
		summary: "Let an interrupted dream go on",
		note:    "Under the same id, from what it had finished, with what is left of its money. 409 when it does not wait, or its agent is held awake.",
		body:    nothing,
		answers: one(psyche.Dream{}),
	},
	"POST /v1/dreams/{id}/archive": {
		id:      "archiveDream",
		summary: "Put a dream that is over out of the lists",
		note:    "What it left behind in the agent's memory stays as it is. Twice is once.",
		body:    nothing,
		answers: one(psyche.Dream{}),
	},
	"POST /v1/dreams/{id}/redream": {
		id: "redreamDream", summary: "Dream a night anew from one of its phases on",
		body: dreamhttp.Redream{}, answers: map[int]any{http.StatusCreated: psyche.Dream{}},
	},
	"GET /v1/dreams/{id}/insights": {
		id: "listInsights", summary: "What a dream brought that a client may be told",
		answers: one(psyche.Page[psyche.Insight]{}),
		note:    "What was confirmed, and what surfaced on return and is significant, labelled as dreamt and unverified.",
	},
	"GET /v1/dreams/{id}/fragments": {
		id:      "listFragments",
		summary: "Thoughts caught at sleep onset, kept and discarded", query: pages,
		answers: one(psyche.Page[*dream.Fragment]{}),
	},
	"GET /v1/dreams/{id}/scenarios": {
		id: "listScenarios", summary: "What a dream imagined", query: pages,
		answers: one(psyche.Page[*dream.Scenario]{}),
	},
	"GET /v1/dreams/{id}/hypotheses": {
		id: "listHypotheses", summary: "Claims that a dream staged for the playbook",
		query: pages, answers: one(psyche.Page[*dream.Hypothesis]{}),
	},
	"GET /v1/dreams/{id}/predictions": {
		id: "listDreamPredictions", summary: "What a dream foretold", query: pages,
		answers: one(psyche.Page[*dream.Prediction]{}),
	},
	"GET /v1/dreams/{id}/journal": {
		id: "listDreamJournal", summary: "The journal entries of a dream",
		query: pages, answers: one(psyche.Page[journal.Public]{}),
	},
	"GET /v1/agents/{agent}/memories": {
		id: "searchMemories", summary: "Find what comes to an agent's mind", answers: one(psyche.Found{}),
		note: "As in its talks: by words and meaning, of the caller's own talk and what is the agent's own; nothing near, nothing found. It wakes nobody.",
		query: []parameter{
			{"query", "What to look for, in plain words.", word},
			{"limit", "How many at most.", object{"type": "integer", "minimum": 1, "maximum": 50, "default": 8}},
			{
				"include_dreamt",
				"What dreams made, too, each labelled as dreamt and with its dream: to operators everything, to a client that may be told of dreams what was promoted and significant insights.",
				yesOrNo,
			},
		},
	},
	"POST /v1/agents/{agent}/memories": {
		id: "addMemory", summary: "Add a statement as a person's own words", body: psyche.AddRequest{},
		answers: map[int]any{http.StatusCreated: psyche.AddedMemory{}, http.StatusOK: psyche.AddedMemory{}},
		note:    "It is labelled human, recalled for its owner alone, and takes the place of what the same owner said before where it gives the same thing another value. 200 when it was known. The words of another owner need role owner.",
	},
	"POST /v1/agents/{agent}/memories/forget": {
		id: "forgetMemories", summary: "Erase memories, and what repeats them, for good", body: dreamhttp.Forget{},
		answers: one(psyche.Erasure{}),
		note:    "What was made from nothing else goes with them, and what repeats their words loses these. With dry_run nothing is changed, and the answer names what would go. It holds ids, never words. Asking again finishes what was cut off.",
	},
	"GET /v1/agents/{agent}/memories/archived": {
		id: "listArchivedMemories", summary: "What dreams have archived and can be restored",
		answers: one(psyche.Page[psyche.ArchivedMemory]{}),
		query:   []parameter{{"dream", "Only of this dream.", word}},
	},
	"POST /v1/agents/{agent}/memories/restore": {
		id: "restoreMemories", summary: "Bring back what dreams have archived", body: dreamhttp.Restore{},
		answers: one(psyche.Restored{}),
		note:    "By ids, all or none, or all that one dream has archived. What had taken the place of a memory is archived instead.",
	},
	"GET /v1/agents/{agent}/owners": {
		id: "listOwners", summary: "Whose talk an agent keeps",
		answers: one(psyche.Page[psyche.OwnedMemories]{}),
	},
	"GET /v1/agents/{agent}/journal": {
		id: "listJournal", summary: "An agent's dream journal, the newest first",
		query: pages, answers: one(psyche.Page[journal.Public]{}),
	},
	"GET /v1/agents/{agent}/playbook": {
		id:      "listPlaybook",
		summary: "The heuristics that an agent acts by, the surest first", query: pages,
		answers: one(psyche.Page[*dream.Playbook]{}),
	},
	"GET /v1/agents/{agent}/claims": {
		id: "listClaims", summary: "What keeps coming true and what is still tried, what holds most often first",
		answers: one(psyche.Page[*dream.Claim]{}),
		query: append(
			[]parameter{
				{
					"status", "Only of this status.",
					object{
						"type": "string",
						"enum": []any{
							dream.ClaimTried, dream.ClaimPassed, dream.ClaimRetired, dream.ClaimDropped, dream.ClaimLapsed,
						},
					},
				},
			}, pages...),
	},
	"GET /v1/agents/{agent}/hypotheses": {
		id: "listAgentHypotheses", summary: "What dreams want to add to the playbook, the most confident first",
		note:    "Without a status those that are staged or promoted. Those that have ended are listed by their status.",
		answers: one(psyche.Page[*dream.Hypothesis]{}),
		query: append(
			[]parameter{
				{
					"status", "Only of this status.",
					object{"type": "string", "enum": anyOfTexts(psyche.HypothesisStatuses)},
				},
			}, pages...),
	},
	"GET /v1/agents/{agent}/hypotheses/{hypothesis}": {
		id: "explainHypothesis", summary: "Why a hypothesis was promoted or not",
		note:    "The hypothesis with each outcome, how often its predictions held, what it waits for, and in words the predictions that it rests on and the claims that decide it.",
		answers: one(psyche.HypothesisExplanation{}),
	},
	"GET /v1/agents/{agent}/morning": {
		id: "getMorning", summary: "What is new for an agent: what it learned, stopped believing, and waits to see",
		answers: one(morning.Report{}),
		note:    "Each finding names the days and the episodes that show it. It wakes nobody.",
		query: []parameter{
			{
				"since", "What is new after this time, RFC 3339; a day ago when it is left out.",
				object{"type": "string", "format": "date-time"},
			},
		},
	},
	"GET /v1/agents/{agent}/predictions": {
		id: "listPredictions", summary: "What was foretold, the soonest due first",
		answers: one(psyche.Page[*dream.Prediction]{}),
		query: append(
			[]parameter{
				{
					"status", "Only of this status.",
					object{
						"type": "string",
						"enum": []any{
							dream.PredictionOpen, dream.PredictionRight, dream.PredictionWrong,
							dream.PredictionVoid,
						},
					},
				},
			}, pages...),
	},
	"POST /v1/agents/{agent}/predictions/check": {
		id: "checkPredictions", summary: "Resolve the predictions that can be decided by now",
		note: "Those with a check by a look at what was lived, and those in prose by the agent's observer, under the cap predictions.judge_daily. The answer says what was resolved, what the model was asked and what that cost. The body may be left out.",
		body: object{
			"type": "object", "additionalProperties": false,
			"properties": object{
				"look_only": object{
					"type": "boolean", "default": false, "description": "ask no model, and spend nothing",
				},
			},
		},
		answers: one(psyche.PredictionCheck{}),
	},
	"POST /v1/agents/{agent}/predictions/resolve": {
		id: "resolvePrediction", summary: "Say what came of a prediction",
		note: "By a person, or by a tool that is named. The same verdict again changes nothing. 409 for another verdict, unless again is true, and for a prediction whose dream was undone; 404 where the agent has no such prediction.",
		body: object{
			"type": "object", "additionalProperties": false, "required": []any{"id", "verdict"},
			"properties": object{
				"id":      object{"type": "string", "description": "the prediction's id, with its slashes as they are"},
				"verdict": object{"type": "string", "enum": anyOfTexts(psyche.Verdicts)},
				"because": object{"type": "string", "description": "what was seen, at most 2000 bytes"},
				"tool": object{
					"type": "string", "maxLength": 32,
					"description": "the tool that says so; else a person does",
				},
				"again": object{"type": "boolean", "default": false, "description": "replace another verdict"},
			},
		},
		answers: one(psyche.PredictionResolution{}),
	},
	"GET /v1/agents/{agent}/claims/{claim}": {
		id: "explainClaim", summary: "Why a claim passed or did not",
		note:    "The claim with each outcome and the wealth after it, the predictions that say it, and of the episodes that decided it the sentences with its names.",
		answers: one(psyche.ClaimExplanation{}),
	},
	"GET /v1/events": {
		id: "followEvents", summary: "Follow what is announced of an agent",
		answers: map[int]any{http.StatusOK: stream{anyOf(refTo("Event"), refTo("Rewound"))}, http.StatusNoContent: nil},
		note:    "Server-sent events: id is the number of the event among the agent's, event its type, data the schema Event. Who comes again with Last-Event-ID goes on behind it, and misses nothing. Role client is told of states, without data that anybody wrote. A stream of one dream ends when that is over; 204 says that nothing follows. A stream ends after an hour; resume it.",
		query: []parameter{
			{"agent", "A handle or an id; may be left out when the key reaches one agent only.", word},
			{"dream", "Only of this dream, from its beginning.", word},
			{
				"after",
				"Begin behind this number; 0 is the agent's first. Without it, and without dream, what comes is told.",
				object{"type": "integer", "minimum": 0},
			},
			{"type", "Only of these types, with commas between them.", word},
			{"text", "With words: reasons, and the text of what an event names. Needs role operator.", yesOrNo},
		},
	},
	"GET /v1/openapi.json": {
		id: "describe", summary: "This description",
		answers: one(
			object{
				"type": "object", "required": []string{"openapi", "info", "paths"},
				"properties": object{
					"openapi": object{"const": "3.1.0"}, "info": object{"type": "object"},
					"paths": object{"type": "object"},
				},
			}),
	},

	"POST /v1/chat/completions": {
		id: "createChatCompletion", summary: "Talk to an agent", body: foreign,
		answers: one(
			either{
				refTo("ChatCompletion"),
				anyOf(refTo("ChatCompletionChunk"), refTo("Error"), refTo("ProviderError")),
			}),
		note:  "As OpenAI's, streaming and not. The model is the agent's handle; all else goes to the provider as it is, and so does what comes back: its answers have the fields that are named here as far as it keeps to OpenAI's API, and any others. A stream ends with [DONE]. The agent wakes if it sleeps.",
		fails: "Passed",
	},
	"POST /v1/responses": {
		id: "createResponse", summary: "Talk to an agent, as OpenAI's Responses API does", body: foreign,
		answers: one(either{refTo("Response"), refTo("ResponseEvent")}),
		note:    "As OpenAI's, streaming and not. The model is the agent's handle. The request is said to the provider as a chat completion, and its answer is said as a response; what a chat completion cannot say is refused by name. Built-in tools that are offered beside functions are left out and named in the header X-Oneiros-Tools-Left-Out. The agent wakes if it sleeps.",
		fails:   "Passed",
	},
	"POST /v1/messages": {
		id: "createMessage", summary: "Talk to an agent, as Anthropic's Messages API does", body: foreign,
		answers: one(either{refTo("AnthropicMessage"), refTo("AnthropicEvent")}),
		note:    "As Anthropic's, streaming and not. The model is the agent's handle. The request is said to the provider as a chat completion, and its answer is said as a message; what a chat completion cannot say is refused by name. Fields that have no effect are named in the header X-Oneiros-Ignored. Errors have Anthropic's form. The agent wakes if it sleeps.",
		fails:   "Anthropic",
	},
	"POST /v1/messages/count_tokens": {
		id: "countMessageTokens", summary: "How many tokens a message's prompt has at most", body: foreign,
		answers: one(object{
			"type": "object", "required": []string{"input_tokens"},
			"properties": object{"input_tokens": object{"type": "integer", "minimum": 1}},
		}),
		note:  "As Anthropic's. What the provider of the model that talks counts, where it speaks this wire, else an upper bound; with its name and persona, and without what it would recall. It wakes nobody and costs nothing.",
		fails: "Anthropic",
	},
	"GET /v1/responses/{response}": {
		id: "getResponse", summary: "A kept response", answers: one(refTo("Response")),
		note:  "As OpenAI's: of the same principal, and of the same user where the request names one. It wakes nobody.",
		query: []parameter{{"include", "Has no effect.", word}, {"stream", "Must be absent or false.", word}},
	},
	"DELETE /v1/responses/{response}": {
		id: "deleteResponse", summary: "Remove a kept response",
		answers: one(object{
			"type": "object", "required": []string{"id", "deleted"},
			"properties": object{"id": word, "object": object{"const": "response"}, "deleted": object{"const": true}},
		}),
	},
	"GET /v1/responses/{response}/input_items": {
		id: "listInputItems", summary: "What a kept response was asked with, the items that it went on from included",
		answers: one(object{
			"type": "object", "required": []string{"object", "data", "first_id", "last_id", "has_more"},
			"properties": object{
				"object": object{"const": "list"}, "data": listOf(refTo("ResponseItem")),
				"first_id": word, "last_id": word, "has_more": object{"type": "boolean"},
			},
		}),
		query: []parameter{
			{"limit", "Default 20.", object{"type": "integer", "minimum": 1, "maximum": 100}},
			{"order", "Default desc: the newest first.", object{"enum": []string{"asc", "desc"}}},
			{"after", "The id of an item: those behind it.", word},
		},
	},
	"POST /v1/responses/{response}/cancel": {
		id: "cancelResponse", summary: "Refused: no response is made in the background",
		note: "To stop a response that is under way, hang up.", answers: map[int]any{},
	},
	"POST /v1/completions": {
		id: "createCompletion", summary: "Complete a text, as the autocompletion of editors asks for it", body: foreign,
		answers: one(either{refTo("Completion"), anyOf(refTo("Completion"), refTo("Error"), refTo("ProviderError"))}),
		note:    "As OpenAI's legacy completions, streaming and not. The model is the handle of the agent that pays. The body goes to the model of the setting serve.completions as it is, and so does what comes back; without that setting it is 404 completions_off. Nothing is recalled or remembered, and nobody is woken unless serve.completions_wake says so. A stream ends with [DONE].",
		fails:   "Passed",
	},
	"POST /v1/embeddings": {
		id:      "createEmbedding",
		summary: "Embed texts",
		note:    "As OpenAI's; it wakes nobody.",
		body:    foreign,
		answers: one(refTo("EmbeddingList")),
		fails:   "Passed",
	},
	"GET /v1/models": {
		id: "listModels", summary: "The agents that this key reaches",
		note:    "As OpenAI's, and as Anthropic's where the header anthropic-version is sent; it wakes nobody.",
		answers: one(anyOf(refTo("ModelList"), refTo("AnthropicModelList"))), fails: "Models",
	},
	"GET /v1/models/{id}": {
		id: "getModel", summary: "One agent as a model", place: named,
		answers: one(anyOf(refTo("Model"), refTo("AnthropicModel"))), fails: "Models",
	},
	"GET /v1/models/agent/{id}": {
		id: "getModelOfAgent", summary: "One agent as a model, by the name agent/{id}",
		place: named, answers: one(anyOf(refTo("Model"), refTo("AnthropicModel"))), fails: "Models",
	},
	"GET /v1/models/oneiros/{id}": {
		id: "getModelOfServer", summary: "One agent as a model, by the name oneiros/{id}",
		place: named, answers: one(anyOf(refTo("Model"), refTo("AnthropicModel"))), fails: "Models",
	},
	"GET /v1/agents/{agent}/status": {
		id: "getStatus", summary: "How an agent is", note: "It wakes nobody.",
		answers: one(psyche.Status{}),
	},
	"GET /v1/agents/{agent}/emotion": {
		id: "getEmotion", summary: "How an agent feels", note: "It wakes nobody.",
		answers: one(psyche.Emotion{}),
	},
	"POST /v1/agents/{agent}/emotion": {
		id: "updateEmotion", summary: "Let an event move how an agent feels", answers: one(psyche.Emotion{}),
		body: object{
			"type": "object", "required": []string{"event", "intensity"},
			"properties": object{
				"event":     word,
				"intensity": object{"type": "number", "exclusiveMinimum": 0, "maximum": 1},
			},
		},
	},
	"POST /v1/agents/{agent}/session": {
		id: "openSession", summary: "Hold an agent awake, waking it if it sleeps", answers: one(psyche.Session{}),
		body: object{
			"type": "object",
			"properties": object{
				"id":  word,
				"ttl": object{"type": "number", "minimum": 1, "maximum": 3600, "description": "seconds"},
			},
		},
	},
	"GET /v1/agents/{agent}/session": {
		id:      "holdSession",
		summary: "Hold an agent awake for as long as this stream lasts",
		note:    "Its one event, session, tells of the session; comments follow.",
		answers: one(stream{refTo("Session")}),
	},
	"DELETE /v1/agents/{agent}/session": {
		id: "leaveSession", summary: "Let an agent go",
		query: []parameter{{"id", "The session's.", word}}, answers: map[int]any{http.StatusNoContent: nil},
	},

	"GET /healthz": {id: "health", summary: "Whether the server lives", answers: one(alive)},
	"GET /readyz": {
		id: "readiness", summary: "Whether this server can take requests",
		note:    "503 when it cannot. A provider that is away is named.",
		answers: map[int]any{http.StatusOK: ready, http.StatusServiceUnavailable: anyOf(ready, refTo("Error"))},
	},
	"GET /metrics": {id: "metrics", summary: "Figures for Prometheus", answers: one("text/plain")},

	"POST /mcp": {
		id: "mcpMessage", summary: "The Model Context Protocol, streamable HTTP",
		note: "202 to what wants no answer.", fails: "Protocol",
		body: messages, answers: map[int]any{http.StatusOK: stream{messages}, http.StatusAccepted: nil},
	},
	"GET /mcp": {
		id: "mcpStream", summary: "The stream of an MCP session", answers: one(stream{refTo("Message")}),
		fails: "Protocol",
	},
	"DELETE /mcp": {
		id: "mcpEnd", summary: "End an MCP session", answers: map[int]any{http.StatusNoContent: nil},
		fails: "Protocol",
	},
}

// stream is a response of server-sent events, with the schema of their data.
type stream struct{ data object }

// either is a response that is whole or a stream, as requested.
type either struct{ whole, data object }

func refTo(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func anyOf(all ...object) object { return object{"anyOf": all} }

func orNull(kind string) object { return object{"type": []string{kind, "null"}} }

func listOf(item object) object { return object{"type": "array", "items": item} }

// What other specifications define is left to them.
var (
	messages = anyOf(refTo("Message"), listOf(refTo("Message"))) // several at once are of version 2025-03-26
	nothing  = object{"type": "object", "description": "It may be left out.", "additionalProperties": false}
	foreign  = object{"type": "object", "additionalProperties": true}
	alive    = object{
		"type": "object", "required": []string{"status"},
		"properties": object{"status": object{"const": "ok"}},
	}
	dollars = object{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?$`}

	part = object{"type": "string", "enum": []string{
		"ok", "away", "takes no writes: full", "takes no writes: read-only", "takes no writes: its disk fails",
		"takes no writes: too few replicas", "takes no writes: loading",
		"takes no writes: a right is missing",
	}}
	ready = object{"type": "object", "required": []string{"status", "parts"}, "properties": object{
		"status": object{"type": "string", "enum": []string{"ready", "not ready"}},
		"parts": object{
			"type": "object", "required": []string{"store", "temporal", "provider"}, "additionalProperties": part,
			"properties": object{"store": part, "temporal": part, "provider": part},
		},
	}}
)

// windowOfAgent describes a field.
const windowOfAgent = "Tokens of prompt and answer together, of the model that talks for the agent, where they are known."

// borrowed are schemas of what this server passes on, from other specifications, and of what no type defines. Unnamed
// fields are allowed.
var borrowed = object{
	"Model": object{
		"type": "object", "required": []string{"id", "object", "created", "owned_by"},
		"properties": object{
			"id": word, "object": object{"const": "model"}, "created": object{"type": "integer"},
			"owned_by": word, "pricing": refTo("ModelPricing"),
			"context_length": object{
				"type": "integer", "minimum": 1, "description": windowOfAgent,
			},
		},
	},
	"ModelPricing": object{
		"type": "object", "required": []string{"prompt", "completion", "input_cache_read"},
		"description": "Dollars a token of the model that talks for the agent.",
		"properties":  object{"prompt": dollars, "completion": dollars, "input_cache_read": dollars},
	},
	"ModelList": object{
		"type": "object", "required": []string{"object", "data"},
		"properties": object{"object": object{"const": "list"}, "data": listOf(refTo("Model"))},
	},
	"AnthropicModel": object{
		"type": "object", "required": []string{
			"type", "id", "display_name", "created_at", "max_input_tokens", "lifecycle", "capabilities", "max_tokens",
			"line", "deprecated_at", "retires_at",
		},
		"description": "What is not known of an agent is null.",
		"properties": object{
			"type": object{"const": "model"}, "id": word, "display_name": word,
			"created_at": object{"type": "string", "format": "date-time"},
			"max_input_tokens": object{
				"type": []string{"integer", "null"}, "minimum": 1, "description": windowOfAgent,
			},
			"lifecycle": object{"const": "active"}, "capabilities": null, "max_tokens": null, "line": null,
			"deprecated_at": null, "retires_at": null,
		},
	},
	"AnthropicModelList": object{
		"type": "object", "required": []string{"data", "has_more", "first_id", "last_id"},
		"description": "All agents in one page.",
		"properties": object{
			"data": listOf(refTo("AnthropicModel")), "has_more": object{"const": false},
			"first_id": orNull("string"), "last_id": orNull("string"),
		},
	},
	"ChatCompletion": object{
		"type": "object", "required": []string{"choices"}, "properties": object{
			"id": word, "object": word, "created": object{"type": "integer"}, "model": word,
			"usage": refTo("ChatUsage"),
			"choices": listOf(object{"type": "object", "required": []string{"message"}, "properties": object{
				"index": object{"type": "integer"}, "message": refTo("ChatMessage"), "finish_reason": orNull("string"),
			}}),
		},
	},
	"ChatCompletionChunk": object{
		"type": "object", "required": []string{"choices"}, "properties": object{
			"id": word, "object": word, "created": object{"type": "integer"}, "model": word,
			"usage": refTo("ChatUsage"),
			"choices": listOf(object{"type": "object", "required": []string{"delta"}, "properties": object{
				"index": object{"type": "integer"}, "delta": refTo("ChatMessage"), "finish_reason": orNull("string"),
			}}),
		},
	},
	"ChatMessage": object{
		"type": "object",
		"properties": object{
			"role": word, "content": orNull("string"),
			"tool_calls": object{"type": []string{"array", "null"}, "items": object{
				"type": "object",
				"properties": object{
					"id": orNull("string"),
					"function": object{
						"type":       "object",
						"properties": object{"name": orNull("string"), "arguments": word},
					},
				},
			}},
		},
	},
	"ChatUsage": object{
		"type": []string{"object", "null"},
		"properties": object{
			"prompt_tokens":     object{"type": "integer"},
			"completion_tokens": object{"type": "integer"}, "total_tokens": object{"type": "integer"},
		},
	},
	"AnthropicMessage": object{
		"type":     "object",
		"required": []string{"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"},
		"properties": object{
			"id": word, "type": object{"const": "message"}, "role": object{"const": "assistant"}, "model": word,
			"content": listOf(refTo("AnthropicBlock")), "stop_sequence": orNull("string"),
			"stop_reason": object{"enum": []any{"end_turn", "max_tokens", "tool_use", "refusal", nil}},
			"usage":       refTo("AnthropicUsage"),
		},
	},
	"AnthropicBlock": object{
		"type": "object", "required": []string{"type"}, "properties": object{
			"type": object{"enum": []string{"text", "thinking", "tool_use"}}, "text": word, "thinking": word,
			"signature": word, "id": word, "name": word, "input": object{"type": "object"},
		},
	},
	"AnthropicUsage": object{
		"type": "object", "required": []string{"input_tokens", "output_tokens"}, "properties": object{
			"input_tokens": object{"type": "integer"}, "output_tokens": object{"type": "integer"},
			"cache_creation_input_tokens": object{"type": "integer"}, "cache_read_input_tokens": object{"type": "integer"},
		},
	},
	"AnthropicEvent": object{
		"type": "object", "required": []string{"type"}, "properties": object{
			"type": object{"enum": []string{
				"message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
				"message_stop", "error",
			}},
			"index": object{"type": "integer"}, "message": refTo("AnthropicMessage"), "usage": refTo("AnthropicUsage"),
			"content_block": refTo("AnthropicBlock"), "delta": object{"type": "object"}, "error": object{"type": "object"},
		},
	},
	"AnthropicError": object{
		"type": "object", "required": []string{"type", "error"}, "properties": object{
			"type": object{"const": "error"}, "request_id": word,
			"error": object{
				"type": "object", "required": []string{"type", "message"},
				"properties": object{"type": word, "message": word},
			},
		},
	},
	"Response": object{
		"type": "object", "required": []string{"id", "object", "created_at", "status", "model", "output", "usage"},
		"properties": object{
			"id": word, "object": object{"const": "response"}, "created_at": object{"type": "integer"},
			"status": object{"enum": []string{"in_progress", "completed", "incomplete", "failed", "cancelled"}},
			"model":  word, "output": listOf(refTo("ResponseItem")), "usage": object{"type": []string{
				"object",
				"null",
			}},
			"error": object{"type": []string{"object", "null"}}, "previous_response_id": orNull("string"),
			"store": object{"type": "boolean"},
		},
	},
	"ResponseItem": object{
		"type": "object", "required": []string{"type"}, "properties": object{"type": word, "id": word},
	},
	"ResponseEvent": object{
		"type": "object", "required": []string{"type", "sequence_number"},
		"properties": object{
			"type": word, "sequence_number": object{"type": "integer"}, "response": refTo("Response"),
			"item": refTo("ResponseItem"), "item_id": word, "output_index": object{"type": "integer"}, "delta": word,
		},
	},
	"Completion": object{
		"type": "object", "required": []string{"choices"}, "properties": object{
			"id": word, "object": word, "created": object{"type": "integer"}, "model": word,
			"usage": refTo("ChatUsage"),
			"choices": listOf(object{"type": "object", "required": []string{"text"}, "properties": object{
				"index": object{"type": "integer"}, "text": word, "finish_reason": orNull("string"),
				"logprobs": object{"type": []string{"object", "null"}},
			}}),
		},
	},
	"EmbeddingList": object{
		"type": "object", "required": []string{"data"}, "properties": object{
			"object": word, "model": word, "usage": object{"type": []string{"object", "null"}},
			"data": listOf(object{"type": "object", "required": []string{"embedding"}, "properties": object{
				"index":     object{"type": "integer"},
				"embedding": anyOf(listOf(object{"type": "number"}), object{"type": "string", "description": "base64"}),
			}}),
		},
	},
	"ProviderError": object{
		"type": "object", "description": "What a provider refused with, unchanged.",
		"required": []string{"error"},
	},
	"Message": object{
		"type": "object", "description": "A message of JSON-RPC 2.0.", "required": []string{"jsonrpc"},
		"properties": object{
			"jsonrpc": object{"const": "2.0"},
			"id":      object{"type": []string{"string", "integer", "null"}}, "method": word, "error": object{
				"type": "object", "required": []string{"code", "message"},
				"properties": object{"code": object{"type": "integer"}, "message": word},
			},
		},
		"anyOf": []object{
			{"required": []string{"method"}},
			{"required": []string{"id", "result"}},
			{"required": []string{"error"}},
		},
	},
	"Rewound": object{
		"type": "object", "description": "Data of an event Rewound: the log goes on behind head.",
		"required":   []string{"after", "head"},
		"properties": object{"after": object{"type": "integer"}, "head": object{"type": "integer"}},
	},
}

// failures are the error responses of an operation without statuses of its own.
func failures(b *book) object {
	failed := b.of(refusal{})
	in := func(kind string, schema object) object { return object{kind: object{"schema": schema}} }
	protocol := in("application/json", anyOf(failed, refTo("Message")))
	protocol["text/plain"] = object{"schema": word}
	return object{
		"Error": object{
			"description": "It was refused, or failed; the sentence says what would be right.",
			"content":     in("application/json", failed),
		},
		"Anthropic": object{
			"description": "An error in Anthropic's form; 529 says that the server, or the provider, has too much to do.",
			"content":     object{"application/json": object{"schema": refTo("AnthropicError")}},
		},
		"Models": object{
			"description": "It was refused, or failed; in Anthropic's form where the header anthropic-version is sent.",
			"content":     in("application/json", anyOf(failed, refTo("AnthropicError"))),
		},
		"Passed": object{
			"description": "Error, where this server refused it or failed; else what the provider refused it with, unchanged, beside the header X-Oneiros-Agent.",
			"content":     in("application/json", anyOf(failed, refTo("ProviderError"))),
		},
		"Protocol": object{
			"description": "Error, where this server refused it; a message of the protocol; or its library's own words.",
			"content":     protocol,
		},
	}
}

func anyOfTexts(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}
