package memory

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// TalkFor is how long a background is kept at least: a talk that goes on after a month begins with other bytes once.
const TalkFor = 30 * 24 * time.Hour

// Background is what was put before one message of a talk. It is kept so that each later request of the talk begins
// with the same bytes, which is what a provider's prompt cache needs, in every process of the deployment.
type Background struct {
	Place int         `json:"place"`           // of the message among those of the body, from 0
	Mark  string      `json:"mark"`            // digest of the message's bytes
	Text  string      `json:"text"`            // as it stands in the body
	Items []string    `json:"items,omitempty"` // ids of the memories that it quotes
	Taint dream.Taint `json:"taint,omitempty"` // the least trusted label among what it quotes
	Mood  string      `json:"mood,omitempty"`  // the word for the mood that it names; empty: it names none
	At    time.Time   `json:"at"`              // when it was written
}

// Talks keeps the backgrounds of talks. They are working memory: an archive does not hold them. Whenever the store
// forgets something of an agent, every background of that agent is erased before Forget returns, because it may quote
// what is forgotten.
type Talks interface {
	// PutBackground adds a background to a talk. Backgrounds that are older than TalkFor at b.At may be dropped in
	// passing.
	PutBackground(ctx context.Context, agent, talk string, b Background) error
	// Backgrounds lists the backgrounds of a talk in the order in which they were added; none for a talk that is not
	// known.
	Backgrounds(ctx context.Context, agent, talk string) ([]Background, error)
}
