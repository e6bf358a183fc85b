package program

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/hermes/remote/overmcp"
)

// overMCP is the way to an agent over the Model Context Protocol.
type overMCP struct{ client *overmcp.Client }

func dialMCP(h *hermes, conversation string) (*overMCP, error) {
	client, err := overmcp.Dial(context.Background(), overmcp.Settings{
		URL:          h.Server,
		Key:          h.Key,
		Agent:        h.Agent,
		User:         h.User,
		Conversation: conversation,
	})
	if err != nil {
		return nil, err
	}
	return &overMCP{client}, nil
}
