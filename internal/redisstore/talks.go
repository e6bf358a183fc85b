package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var putBackgroundScript = script("memory", "putbackground")

// talks keeps what was put before the messages of conversations.
type talks struct{ *server }

// talkKey names the list of a conversation's backgrounds, oldest first. It expires memory.TalkFor after the newest
// entry.
func (s *server) talkKey(agent, talk string) string { return s.key(agent, "talk:"+talk) }

// PutBackground adds a background to a conversation. When a reply was lost it may be stored twice, which does not
// disturb readers.
func (s talks) PutBackground(ctx context.Context, agent, talk string, b memory.Background) error {
	body, err := json.Marshal(b)
	if err == nil {
		err = store.CheckNames("agent and conversation", agent, talk)
	}
	if err == nil {
		plan := map[string]any{"talk": talk, "seconds": int64(memory.TalkFor / time.Second)}
		_, err = s.apply(ctx, putBackgroundScript, agent, plan, body)
	}
	return store.Wrap(err, "keep a background of talk ", talk, " of ", agent)
}

// Backgrounds lists the backgrounds of a conversation.
func (s talks) Backgrounds(ctx context.Context, agent, talk string) ([]memory.Background, error) {
	var all []memory.Background
	bodies, err := ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
		return s.client.LRange(ctx, s.talkKey(agent, talk), 0, -1).Result()
	})
	if err == nil {
		all, err = store.Decode[memory.Background](bodies)
	}
	return store.Result(all, err, fmt.Sprintf("backgrounds of conversation %q of %s", talk, agent))
}

// dropTalks deletes every background of an agent.
func (s *server) dropTalks(ctx context.Context, agent string) error {
	return s.scan(ctx, s.talkKey(agent, ""), func(keys []string) error {
		if len(keys) == 0 {
			return nil
		}
		return s.exchange(ctx, func(ctx context.Context) error { return s.client.Del(ctx, keys...).Err() })
	})
}
