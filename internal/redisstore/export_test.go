package redisstore

import (
	"context"
	"time"
)

// Lasting reports whether an archive contains a key.
func Lasting(s *Store, key string) bool { return s.lasting(key) }

// BeginRemoval is the first step of DropAgent.
func BeginRemoval(ctx context.Context, s *Store, agent string, now time.Time) error {
	_, _, err := s.beginRemoval(ctx, agent, now)
	return err
}

// DropParts is the step of DropAgent that removes keys.
func DropParts(ctx context.Context, s *Store, agent string) error { return s.dropParts(ctx, agent) }
