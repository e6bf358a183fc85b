package psyche

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/access"
)

var _ Meter = (*Service)(nil)

// PromptTokens is an upper bound of the tokens of a turn's prompt.
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
	l := u.limits()
	l.free, l.thorough = false, true
	d := costBound{choices: 1, times: 1}
	onOwnStack(func() { err = t.Body.prompt(l, &d) })
	if err != nil {
		return 0, err
	}
	u.persona()
	return plus(d.in, int64(u.added)), nil
}
