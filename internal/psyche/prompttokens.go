package psyche

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

var _ Meter = (*Service)(nil)

// PromptTokens is how many tokens a turn's prompt has: as its provider counts them where it does, else an upper bound.
func (s *Service) PromptTokens(ctx context.Context, t Turn) (int64, error) {
	u := &turn{service: s, Turn: t}
	var err error
	u.agent, err = s.reach(ctx, t.Caller, t.Agent, access.Client)
	if err != nil {
		return 0, err
	}
	u.spec, err = s.talkModel(ctx, &u.agent)
	if err != nil {
		return 0, err
	}
	if !t.Body.chat {
		return 0, invalidRequest("invalid_type", "messages", "The body has no array of messages.")
	}
	introduced := u.persona()
	if t.Body.form == messagesForm {
		if n := u.providerCount(asks(ctx, &t.Caller), introduced); n > 0 {
			return n, nil
		}
	}
	l := u.limits()
	l.free, l.thorough = false, true
	d := costBound{choices: 1, times: 1}
	onOwnStack(func() { err = t.Body.prompt(l, &d) })
	if err != nil {
		return 0, err
	}
	return plus(d.in, int64(u.added)), nil
}

// countWithin is how long a provider may take to count a prompt, before the bound is said.
const countWithin = 5 * time.Second

// countedFields are the fields of a body of Messages that count, which alone its provider takes to count them.
var countedFields = set(`
	model messages system tools tool_choice thinking cache_control output_config output_format context_management
	compaction mcp_servers speed`)

// providerCount is how many tokens the provider counts in the prompt of a body of Messages, with what the agent adds to
// it; 0 where it counts none. It costs nothing, so that nothing is reserved.
func (t *turn) providerCount(ctx context.Context, introduced []splice) int64 {
	ctx, stop := context.WithTimeout(ctx, countWithin)
	defer stop()
	whole := spliced(t.Body.raw, append(introduced, t.Body.model(t.spec.Wire)))
	body := []byte{'{'}
	err := jsonscan.Members(whole, func(key, value []byte) error {
		if countedFields.has(jsonscan.Unquoted(key)) {
			if len(body) > 1 {
				body = append(body, ',')
			}
			body = append(append(append(body, key...), ':'), value...)
		}
		return nil
	})
	if err != nil {
		return 0 // the turn says what is wrong with it
	}
	res, err := t.service.Relay.Relay(ctx, inference.RelayRequest{
		Method: http.MethodPost,
		Path:   t.Path + "/count_tokens",
		Header: providerHeader(t.Header),
		Body:   append(body, '}'),
		Model:  t.spec.Name,
	})
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Tokens int64 `json:"input_tokens"`
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, mostCount))
	if err != nil || res.Status != http.StatusOK || json.Unmarshal(raw, &answer) != nil {
		return 0
	}
	return answer.Tokens
}

// mostCount is the most bytes of an answer that says how long a prompt is.
const mostCount = 64 << 10
