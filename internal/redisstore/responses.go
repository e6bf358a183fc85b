package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	putResponseScript   = script("memory", "putresponse")
	dropResponsesScript = script("dropresponses")
)

// responses keeps answers that later requests may go on from.
type responses struct{ *server }

// responseKey is a hash: user, agent, previous, at, until, body.
func (s *server) responseKey(scope, id string) string {
	return s.set.prefix + "response:" + escaped.Replace(scope) + ":" + escaped.Replace(id)
}

// responsesKey is a sorted set: the responses of a scope, by their time in microseconds.
func (s *server) responsesKey(scope string) string {
	return s.set.prefix + "responses:" + escaped.Replace(scope)
}

// PutResponse keeps a response. The server removes it by itself when it has ended.
func (s responses) PutResponse(ctx context.Context, r memory.KeptResponse, most int) error {
	err := r.Validate()
	if err == nil {
		keep := int64(0)
		if !r.Until.IsZero() {
			keep = keepMillis(r.Until.Sub(r.At))
		}
		plan := map[string]any{
			"key": s.responseKey(r.Scope, r.ID), "scope": s.responsesKey(r.Scope),
			"user": r.User, "agent": r.Agent, "previous": r.Previous, "at": date(r.At), "until": date(r.Until),
			"keep": keep, "most": most, "micros": strconv.FormatInt(r.At.UnixMicro(), 10),
		}
		_, err = s.apply(ctx, putResponseScript, r.Agent, plan, append([]byte{}, r.Body...))
	}
	return store.Wrap(err, "keep response ", r.ID, " of ", r.Scope)
}

// Response returns a response that has not ended.
func (s responses) Response(ctx context.Context, scope, id string, now time.Time) (memory.KeptResponse, error) {
	what := "response " + id + " of " + scope
	fields, err := ask(ctx, s.server, func(ctx context.Context) (map[string]string, error) {
		return s.client.HGetAll(ctx, s.responseKey(scope, id)).Result()
	})
	if err != nil {
		return memory.KeptResponse{}, store.Wrap(err, what)
	}
	var p parser
	r := memory.KeptResponse{
		ID:       id,
		Scope:    scope,
		User:     fields["user"],
		Agent:    fields["agent"],
		Previous: fields["previous"],
		At:       p.time(fields["at"]),
		Until:    p.time(fields["until"]),
		Body:     []byte(fields["body"]),
	}
	if p.err == nil && (len(fields) == 0 || !r.Until.IsZero() && !r.Until.After(now)) {
		p.err = memory.ErrNotFound
	}
	return store.Result(r, p.err, what)
}

// DropResponse removes a response.
func (s responses) DropResponse(ctx context.Context, scope, id string) error {
	key := s.responseKey(scope, id)
	dropped, err := ask(ctx, s.server, func(ctx context.Context) (int64, error) {
		return s.client.Del(ctx,
			key).Result()
	})
	if err == nil && dropped == 0 {
		err = memory.ErrNotFound
	}
	return store.Wrap(err, "remove response ", id, " of ", scope)
}

// dropResponses removes all responses of an agent.
func (s *server) dropResponses(ctx context.Context, agent string) error {
	return s.scan(ctx, s.set.prefix+"response:", func(keys []string) error {
		if len(keys) == 0 {
			return nil
		}
		_, err := s.run(ctx, dropResponsesScript, keys, agent)
		return err
	})
}
