package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// chat serves one generation.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", err.Error())
		return
	}
	if s.options.Reading != "" {
		s.greedy(w, r, raw)
		return
	}
	q, err := readQuestion(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error",
			"We could not parse the JSON body of your request: "+err.Error())
		return
	}
	s.serve(w, r, q)
}

// serve serves one generation, in the form of either wire.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, q question) {
	model, served := s.models[q.Model]
	arrival := Arrival{
		Path:   r.URL.Path,
		Key:    r.Header.Get("Idempotency-Key"),
		Model:  q.Model,
		Prompt: q.prompt(),
		Schema: q.schema() != nil,
	}
	fault := s.choose(arrival)
	number := s.Billing.arrive(Call{
		Path:        r.URL.Path,
		Key:         arrival.Key,
		Model:       q.Model,
		Stream:      q.Stream,
		Prompt:      q.promptTokens(),
		Fault:       fault,
		Temperature: q.Temperature,
		Sampling:    q.sentSampling(),
		Format:      q.Format.Type,
		Tools:       q.tools(),
	}, model.Price)
	completed := false
	defer func() { s.Billing.end(number, completed) }()
	if status := s.refuseInvalid(w, r, q, model, served, fault); status != 0 {
		s.Billing.status(number, status)
		return
	}
	s.Billing.begin(number)
	if fault == HangFirst {
		s.hang(r.Context())
		return
	}
	a := s.answer(q, model, fault, number)
	s.Billing.status(number, http.StatusOK)
	if q.Stream && fault != Plain {
		completed = s.stream(w, r.Context(), a)
	} else {
		completed = s.whole(w, r.Context(), a)
	}
	if !completed && fault == CutMiddle {
		panic(http.ErrAbortHandler) // breaks the connection; the deferred call records the end
	}
}

// refuseInvalid answers what is not served and returns the status; 0 when it is served.
func (s *Server) refuseInvalid(
	w http.ResponseWriter,
	r *http.Request,
	q question,
	m Model,
	served bool,
	fault Fault,
) int {
	if s.options.Key != "" && !q.messages && r.Header.Get("Authorization") != "Bearer "+s.options.Key {
		refuse(w, http.StatusUnauthorized, "invalid_api_key",
			"Incorrect API key provided: "+r.Header.Get("Authorization"))
		return http.StatusUnauthorized
	}
	if q.tools() {
		s.Billing.fail("a request carried tools: dreams have no hands")
		refuse(w, http.StatusInternalServerError, "server_error", "This provider serves dreams; they carry no tools.")
		return http.StatusInternalServerError
	}
	if !served || m.Dim > 0 {
		refuse(w, http.StatusNotFound, "model_not_found", fmt.Sprintf("The model %q does not exist.", q.Model))
		return http.StatusNotFound
	}
	if m.Price == nil {
		s.Billing.fail("the unpriced model " + m.Name + " was called")
	}
	if status := s.refusal(w, fault, q.sampled()); status != 0 {
		return status
	}
	if m.NoSampling {
		if status := s.refusal(w, NoSampling, q.sampled()); status != 0 {
			return status
		}
	}
	if m.Thinks > 0 && q.MaxTokens != nil {
		refuse(
			w,
			http.StatusBadRequest,
			"unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		)
		return http.StatusBadRequest
	}
	return 0
}

// answer is what will be served.
type answer struct {
	number  int
	id      string
	model   string
	thought []string
	pieces  []string
	finish  string
	prompt  int64
	usage   bool // requested
	// it is served as Messages; prompt tokens that a cache was written with, and read from, of such an answer
	messages      bool
	written, read int64
	responses     bool  // it is served as a response
	billed        int64 // tokens of the answer that are billed, whatever was sent; 0: what was sent
	fault         Fault
	sure          func(token int) float64 // log-probability of a token; nil when not requested or not supported by this model
}

func (s *Server) answer(q question, m Model, fault Fault, number int) answer {
	a := answer{
		number: number, id: "till-" + strconv.Itoa(number), model: m.Name, prompt: q.promptTokens(),
		usage: q.Options.Usage || !q.Stream || fault == Plain, fault: fault, finish: "stop", messages: q.messages,
		responses: q.responses,
	}
	if m.LogProbs && q.LogProbs {
		a.sure = q.sureness()
	}
	most := q.most()
	if m.Thinks > 0 {
		a.thought = Pieces(strings.TrimSpace(strings.Repeat("Let me look at this again. ", 1+m.Thinks/6)))
		a.thought = a.thought[:min(len(a.thought), m.Thinks)]
	}
	room := 0
	if most > 0 {
		room = max(1, most-len(a.thought))
	}
	text := s.scripted(q)
	if text == "" {
		text = s.say(q, m, room)
	}
	if fault == BadJSON && q.schema() != nil {
		text = spoil(text)
	}
	for _, stop := range q.Stop {
		if at := strings.Index(text, stop); stop != "" && at >= 0 {
			text = text[:at]
		}
	}
	a.pieces = Pieces(text)
	if s.options.AtLeast > len(a.pieces) { // a caller who reads to the end finds the answer, and more text after it
		a.pieces = append(a.pieces, endless([]string{" and", " so", " on"}, s.options.AtLeast-len(a.pieces))...)
	}
	switch {
	case fault == IgnoreMax:
		a.pieces = endless(a.pieces, most+2000)
	case most > 0:
		a.thought = a.thought[:min(len(a.thought), most)]
		if left := most - len(a.thought); len(a.pieces) > left {
			a.pieces, a.finish = a.pieces[:left], "length"
		}
	}
	return a
}

// served counts tokens that were written, unless they were billed before.
func (s *Server) served(a answer, tokens int64) {
	if a.billed == 0 {
		s.Billing.serve(a.number, tokens)
	}
}

func endless(pieces []string, n int) []string {
	out := make([]string, 0, n)
	for len(out) < n {
		for _, p := range pieces {
			out = append(out, " "+strings.TrimSpace(p))
		}
	}
	return out
}

// spoil breaks a JSON text so that no parser accepts it.
func spoil(text string) string {
	runes := []rune(text)
	return "Here you are: " + string(runes[:len(runes)*2/3]) + " …"
}

// reported is the usage that the answer reports under its fault.
func (a answer) reported(completion int64) map[string]any {
	completion = max(completion, a.billed)
	t := budget.Tokens{In: a.prompt, Out: completion, Reasoning: min(int64(len(a.thought)), completion)}
	switch a.fault {
	case LowUsage:
		t.In, t.Out, t.Reasoning = (t.In+1)/2, t.Out/2, t.Reasoning/2
	case HighUsage:
		t.In, t.Out = t.In*2, t.Out*2
	}
	return map[string]any{
		"prompt_tokens": t.In, "completion_tokens": t.Out, "total_tokens": t.In + t.Out,
		"completion_tokens_details": map[string]any{"reasoning_tokens": t.Reasoning},
	}
}

// whole serves an answer in one piece; its tokens count once they are written.
func (s *Server) whole(w http.ResponseWriter, ctx context.Context, a answer) bool {
	n := int64(len(a.thought) + len(a.pieces))
	for i := int64(0); i < n; i++ {
		if !s.pause(ctx, s.delay(a, int(i))) {
			return false
		}
	}
	switch {
	case a.messages:
		return s.wholeMessage(w, ctx, a)
	case a.responses:
		return s.wholeResponse(w, ctx, a)
	}
	message := map[string]any{"role": "assistant", "content": strings.Join(a.pieces, "")}
	if len(a.thought) > 0 {
		message["reasoning_content"] = strings.Join(a.thought, "")
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": a.finish}
	if a.sure != nil {
		tokens := make([]any, len(a.pieces))
		for i, piece := range a.pieces {
			tokens[i] = map[string]any{"token": piece, "logprob": a.sure(i)}
		}
		choice["logprobs"] = map[string]any{"content": tokens}
	}
	out := map[string]any{
		"id": a.id, "object": "chat.completion", "created": 0, "model": a.model, "choices": []any{choice},
	}
	if a.fault != NoUsage {
		out["usage"] = a.reported(n)
	}
	return s.wholeBody(w, ctx, a, out)
}

// wholeBody serves a body in one piece, with its fault.
func (s *Server) wholeBody(w http.ResponseWriter, ctx context.Context, a answer, out any) bool {
	body, err := json.Marshal(out)
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	switch a.fault {
	case CutMiddle, HangMiddle:
		body = body[:len(body)/2]
	case BadChunk:
		body[len(body)/2] = 0
	}
	if _, err := w.Write(body); err != nil || http.NewResponseController(w).Flush() != nil {
		return false
	}
	s.served(a, int64(len(a.thought)+len(a.pieces)))
	if a.fault == HangMiddle {
		s.hang(ctx)
	}
	return a.fault != CutMiddle && a.fault != HangMiddle
}
