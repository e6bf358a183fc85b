package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// noteRun notes the id of the server's run when a connection is made. Another run, after a restart or a failover, may
// have lost the newest writes, so that its counters are lower than those that this process has seen. A server that does
// not allow INFO is taken for the same run.
func (s *server) noteRun(ctx context.Context, c *redis.Conn) error {
	text, err := c.Info(ctx, "server").Result()
	if id := parseInfo(text)["run_id"]; err == nil && id != "" {
		s.latest.Store(&id)
	}
	return nil
}

// runID is the id of the server's run at the newest connection; empty when it is not known.
func (s *server) runID() string {
	if id := s.latest.Load(); id != nil {
		return *id
	}
	return ""
}

// ServerRun is the id of the server's run at the newest connection; empty when it is not known. Another run may lack the
// newest writes of the one before.
func (s *Store) ServerRun() string { return s.runID() }
