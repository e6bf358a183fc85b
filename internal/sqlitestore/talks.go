package sqlitestore

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// talks keeps what was put before the messages of conversations.
type talks struct{ *file }

// PutBackground adds a background to a conversation, and deletes those older than memory.TalkFor.
func (s talks) PutBackground(ctx context.Context, agent, talk string, b memory.Background) error {
	err := store.CheckNames("agent and conversation", agent, talk)
	if err == nil {
		err = s.write(ctx, func(d *tx) {
			d.writable(agent)
			d.exec("DELETE FROM backgrounds WHERE at < ?", sortedTime(b.At.Add(-memory.TalkFor)))
			d.exec("INSERT INTO backgrounds (agent, talk, at, body) VALUES (?, ?, ?, ?)", agent, talk, sortedTime(b.At),
				jsonText{b})
		})
	}
	return store.Wrap(err, "keep a background of talk ", talk, " of ", agent)
}

// Backgrounds lists the backgrounds of a conversation.
func (s talks) Backgrounds(ctx context.Context, agent, talk string) ([]memory.Background, error) {
	return in(ctx, s.readOnce, fmt.Sprintf("backgrounds of conversation %q of %s", talk, agent),
		func(d *tx) []memory.Background {
			return decoded[memory.Background](d, "SELECT body FROM backgrounds WHERE agent = ? AND talk = ? ORDER BY key",
				agent, talk)
		})
}
