package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Hook adds a hook to the connections of a store.
func Hook(s *Store, h redis.Hook) { s.client.AddHook(h) }

// WaitingVisits counts the visits that wait to be sent.
func WaitingVisits(s *Store) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}

// Lasting reports whether an archive contains a key.
func Lasting(s *Store, key string) bool { return s.lasting(key) }

// BeginRemoval is the first step of DropAgent.
func BeginRemoval(ctx context.Context, s *Store, agent string, now time.Time) error {
	_, _, err := s.beginRemoval(ctx, agent, now)
	return err
}

// DropParts is the step of DropAgent that removes keys.
func DropParts(ctx context.Context, s *Store, agent string) error { return s.dropParts(ctx, agent) }

// MomentHash names the script by which an export reads the ledger as of one moment.
func MomentHash() string { return momentScript.Hash() }
