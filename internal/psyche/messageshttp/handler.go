// Package messageshttp is Anthropic's Messages API, for its SDKs and Claude Code: each agent is a model. Where the
// model's provider speaks this wire, a request is edited and passed on, and its answer comes back as it is. Elsewhere
// it is translated into a chat completion, and the answer is translated back. Both go through the same turn as every
// other request.
package messageshttp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// Handler serves a psyche.Service.
type Handler struct {
	turnhttp.Turns
	Meter psyche.Meter
}

// Routes returns the routes.
func (h *Handler) Routes() []front.Route {
	return []front.Route{
		{
			Method: http.MethodPost,
			Path:   "/v1/messages",
			Role:   access.Client,
			Once:   true,
			Stream: true,
			Form:   form,
			Serve:  h.create,
		},
		{
			Method: http.MethodPost,
			Path:   "/v1/messages/count_tokens",
			Role:   access.Client,
			Serve:  h.count,
		},
	}
}

// form is Anthropic's.
var form = &front.Form{Refusal: refusal, Left: setLeft, RequestID: "Request-Id", Elsewhere: isAnthropics}

// isAnthropics says whether a request is of a client of Anthropic's API: for the models, whose path is that of
// OpenAI's, or for what is not served.
func isAnthropics(h http.Header, path string) bool {
	ofOpenAI := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
	return h.Get("Anthropic-Version") != "" && !slices.ContainsFunc(pathsOfOpenAI, ofOpenAI)
}

// pathsOfOpenAI begin the paths that clients of OpenAI's API alone ask for.
var pathsOfOpenAI = []string{"/v1/chat/", "/v1/completions", "/v1/responses", "/v1/embeddings"}

// question is a request that was read.
type question struct {
	*messages.Request // nil: it is passed on
	turn              *psyche.Turn
	ignored           []string
}

// IgnoredHeader of an answer names the fields of the request that had no effect.
const IgnoredHeader = "X-Oneiros-Ignored"

// ask reads a request, and translates its body where the provider of its agent's model does not speak this wire.
func (h *Handler) ask(r *http.Request) (*question, error) {
	raw, err := front.Body(r)
	if err != nil {
		return nil, err
	}
	head, err := messages.ReadHead(raw)
	if err != nil {
		return nil, fault(err)
	}
	t, err := turnhttp.New(r, turnhttp.Names{
		Model: head.Model,
		Users: []turnhttp.Name{{Field: "metadata.user_id", Value: head.User}},
	})
	if err != nil {
		return nil, err
	}
	spec, err := h.talker(r.Context(), t)
	if err != nil {
		return nil, h.Unknown(r.Context(), &t.Caller, t.Agent, err)
	}
	if spec.Wires.Speaks(inference.MessagesWire) {
		q := &question{turn: t}
		t.Path = path
		t.Header, q.ignored = nativeHeader(r.Header, &spec)
		t.Body, err = psyche.ReadMessagesBody(messages.Native(raw))
		return q, err
	}
	translated, err := messages.Read(raw)
	if err != nil {
		return nil, fault(err)
	}
	t.Path, t.Header = "/chat/completions", providerHeader(r.Header)
	body, err := translated.Chat(messages.Provider{Reasons: spec.Reasoning, Caches: caches(&spec)})
	if err != nil {
		return nil, fault(err)
	}
	t.Body, err = psyche.ReadBody(body)
	if err == nil {
		psyche.NameAs(t.Body, words.Sent(raw))
		psyche.PicturesOfTools(t.Body, translated.PicturesOfTools())
	}
	return &question{Request: translated, turn: t, ignored: translated.Ignored()}, err
}

// words are those of this wire for what its translation names otherwise.
var words = &turnhttp.Vocabulary{
	Fields: map[string]string{
		"max_completion_tokens": "max_tokens",
		"stop":                  "stop_sequences",
		"user":                  "metadata.user_id",
		"response_format":       "output_config.format",
		"reasoning_effort":      "thinking",
		"reasoning":             "thinking",
		"parallel_tool_calls":   "tool_choice",
	},
	Parts: map[string]turnhttp.Part{
		"file":      {Type: "document", Source: "base64"},
		"image_url": {Type: "image", Source: "url"},
	},
	Element: func(path string, i int) string { return path + "." + strconv.Itoa(i) },
	Kept:    "messages",
}

// path is the wire's path, below a provider's address and as figures name it.
const path = "/messages"

// anthropic begins the names of Anthropic's models.
const anthropic = "claude-"

// talker is the model that answers. A client that names one of Anthropic's models, which is no agent, means the one
// agent that its key reaches, if there is just one.
func (h *Handler) talker(ctx context.Context, t *psyche.Turn) (inference.Spec, error) {
	spec, _, err := h.Talk.ModelFor(ctx, t.Caller, t.Agent)
	if f, ok := errors.AsType[*psyche.Fault](err); !ok || f.Status != http.StatusNotFound ||
		!strings.HasPrefix(t.Agent, anthropic) {
		return spec, err
	}
	reached, fault := h.Reached(ctx, t.Caller)
	if fault != nil {
		return spec, fault
	}
	if len(reached) != 1 {
		return spec, err
	}
	t.Agent = reached[0].Handle
	spec, _, err = h.Talk.ModelFor(ctx, t.Caller, t.Agent)
	return spec, err
}

// caches reports whether a model's provider takes marks of what it should cache: those that serve Anthropic's
// models do. Others cache by themselves.
func caches(spec *inference.Spec) bool { return strings.Contains(strings.ToLower(spec.Wire), "claude") }

// providerHeader is a request's header without what speaks of Anthropic's wire, which the provider does not get.
func providerHeader(h http.Header) http.Header {
	out := h.Clone()
	out.Del("Anthropic-Version")
	out.Del("Anthropic-Beta")
	return out
}

// version is Anthropic's version of its wire, for clients that name none.
const version = "2023-06-01"

// betas begin the names of Anthropic's betas that change no price. Others are not passed on for a paid model: a beta
// can have prices of its own, such as that of a larger window.
var betas = strings.Fields(`
	claude-code- interleaved-thinking- fine-grained-tool-streaming- prompt-caching- extended-cache-ttl-
	token-efficient-tools- token-counting- context-management- effort- structured-outputs- output-128k- computer-use- tool-examples- pdfs-`)

// nativeHeader is a request's header for a provider that speaks this wire, and what of it is left out.
func nativeHeader(h http.Header, spec *inference.Spec) (out http.Header, ignored []string) {
	out = h.Clone()
	if out.Get("Anthropic-Version") == "" {
		out.Set("Anthropic-Version", version)
	}
	if spec.Price != nil && *spec.Price == (budget.Price{}) {
		return out, nil
	}
	var kept []string
	for _, line := range h.Values("Anthropic-Beta") {
		for beta := range strings.SplitSeq(line, ",") {
			beta = strings.TrimSpace(beta)
			if slices.ContainsFunc(betas, func(begin string) bool { return strings.HasPrefix(beta, begin) }) {
				kept = append(kept, beta)
			} else if beta != "" {
				ignored = append(ignored, "anthropic-beta")
			}
		}
	}
	out.Del("Anthropic-Beta")
	if len(kept) > 0 {
		out.Set("Anthropic-Beta", strings.Join(kept, ","))
	}
	return out, slices.Compact(ignored)
}

// fault is an error of the translation as clients get it.
func fault(err error) error {
	e, ok := errors.AsType[*messages.Error](err)
	if !ok {
		return err
	}
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", e.Field, "%s", e.Error())
}

// refusal is an error in Anthropic's form. Where this server, or the provider, has too much to do, the status is
// the one that its clients know for it.
func refusal(f *psyche.Fault, request string) (int, any) {
	status := f.Status
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	return status, errorBody(status, f.Message, request)
}

// setLeft tells a client what is left of a limit in headers, as Anthropic's do.
func setLeft(h http.Header, of string, left ratelimit.State) {
	h.Set("Anthropic-Ratelimit-"+of+"-Limit", strconv.Itoa(left.Limit))
	h.Set("Anthropic-Ratelimit-"+of+"-Remaining", strconv.Itoa(left.Remaining))
	h.Set("Anthropic-Ratelimit-"+of+"-Reset", left.At.Add(left.Reset).UTC().Format(time.RFC3339))
}

// statusOverloaded is Anthropic's status for a server that has too much to do.
const statusOverloaded = 529

// apiError is an error in Anthropic's form.
type apiError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Request string `json:"request_id,omitempty"`
}

func errorBody(status int, message, request string) apiError {
	e := apiError{Type: "error", Request: request}
	e.Error.Type, e.Error.Message = errorType(status), message
	return e
}

// errorTypes are Anthropic's types of errors, by status.
var errorTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusGatewayTimeout:        "timeout_error",
	http.StatusServiceUnavailable:    "overloaded_error",
	statusOverloaded:                 "overloaded_error",
}

func errorType(status int) string {
	kind, listed := errorTypes[status]
	switch {
	case listed:
		return kind
	case status >= http.StatusInternalServerError:
		return "api_error"
	}
	return "invalid_request_error"
}

// count answers how many tokens a request's prompt has at most.
func (h *Handler) count(w http.ResponseWriter, r *http.Request) {
	q, err := h.ask(r)
	var tokens int64
	if err == nil {
		tokens, err = h.Meter.PromptTokens(r.Context(), *q.turn)
	}
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	front.Answer(w, http.StatusOK, map[string]int64{"input_tokens": tokens})
}

// newID is an id for a message or a call.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// setIgnored names what had no effect.
func (q *question) setIgnored(h http.Header) {
	if len(q.ignored) > 0 {
		h.Set(IgnoredHeader, strings.Join(q.ignored, ", "))
	}
}
