package memory

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// TalkFor is the minimum time that a background is kept. A conversation that continues later gets a new one, once.
const TalkFor = 30 * 24 * time.Hour

// Background is the text that was inserted before one message of a conversation. It is stored so that each later
// request of the conversation begins with the same bytes in every process of the deployment, as a provider's prompt
// cache needs.
type Background struct {
	Place int         `json:"place"`           // index of the message in the request body, from 0
	Mark  string      `json:"mark"`            // digest of the message's bytes
	Text  string      `json:"text"`            // as it stands in the body
	Items []string    `json:"items,omitempty"` // ids of the memories that it quotes
	Taint dream.Taint `json:"taint,omitempty"` // the least trusted label of what it quotes
	Mood  string      `json:"mood,omitempty"`  // the word for the mood in it; empty when it mentions none
	At    time.Time   `json:"at"`              // when it was written
}

// Talks stores the backgrounds of conversations. They are working data: an archive does not contain them. When the
// store forgets something of an agent, it deletes every background of that agent before Forget returns, because one may
// quote what is forgotten.
type Talks interface {
	// PutBackground adds a background to a conversation. It may also delete backgrounds older than TalkFor at b.At.
	PutBackground(ctx context.Context, agent, talk string, b Background) error
	// Backgrounds lists the backgrounds of a conversation in the order they were added; none for an unknown one.
	Backgrounds(ctx context.Context, agent, talk string) ([]Background, error)
}
