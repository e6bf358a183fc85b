package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

var putBackgroundScript = script("memory", "putbackground")

// talkKey names the list of a conversation's backgrounds, oldest first. It expires memory.TalkFor after the newest
// entry.
func (s *Store) talkKey(agent, talk string) string { return s.key(agent, "talk:"+talk) }

// PutBackground adds a background to a conversation. When a reply was lost it may be stored twice, which does not
// disturb readers.
func (s *Store) PutBackground(ctx context.Context, agent, talk string, b memory.Background) error {
	body, err := json.Marshal(b)
	if err == nil && (agent == "" || talk == "" || !utf8.ValidString(agent+talk)) {
		err = errors.New("agent and conversation must be UTF-8 text and not empty")
	}
	if err == nil {
		plan := struct {
			Talk    string `json:"talk"`
			Seconds int64  `json:"seconds"`
		}{talk, int64(memory.TalkFor / time.Second)}
		var args []any
		args, err = s.runMemory(ctx, putBackgroundScript, agent, plan, body)
		if err == nil {
			err = refusal(args)
		}
	}
	return wrap(err, "keep a background of talk ", talk, " of ", agent)
}

// Backgrounds lists the backgrounds of a conversation.
func (s *Store) Backgrounds(ctx context.Context, agent, talk string) ([]memory.Background, error) {
	var bodies []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		bodies, err = s.client.LRange(ctx, s.talkKey(agent, talk), 0, -1).Result()
		return err
	})
	all := make([]memory.Background, len(bodies))
	for i, body := range bodies {
		err = errors.Join(err, json.Unmarshal([]byte(body), &all[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("backgrounds of conversation %q of %s: %w", talk, agent, err)
	}
	return all, nil
}

// dropTalks deletes every background of an agent.
func (s *Store) dropTalks(ctx context.Context, agent string) error {
	return s.scanFrom(ctx, s.talkKey(agent, ""), func(keys []string) error {
		if len(keys) == 0 {
			return nil
		}
		return s.exchange(ctx, again,
			func(ctx context.Context, _ bool) error { return s.client.Del(ctx, keys...).Err() })
	})
}
