package redisstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// checkedFor is how long after its acknowledgement a write is looked for on another run of the server. Its step's
	// reply stays there for a minute, by the clock of the server.
	checkedFor = 45 * time.Second
	// checkedWrites is how many of the newest writes are looked for.
	checkedWrites = 256
)

// acknowledgements are the newest writes to memory of this process that the server has acknowledged.
type acknowledgements struct {
	mu  sync.Mutex
	all [checkedWrites]acknowledgement // a ring
	end int                            // where the next one goes
}

type acknowledgement struct {
	token string
	at    time.Time
}

func (a *acknowledgements) note(token string) {
	at := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[a.end%checkedWrites] = acknowledgement{token, at}
	a.end++
}

// since returns those of the last time, oldest first.
func (a *acknowledgements) since(last time.Duration) (newest []acknowledgement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range checkedWrites {
		one := a.all[(a.end+i)%checkedWrites]
		if one.token != "" && time.Since(one.at) < last {
			newest = append(newest, one)
		}
	}
	return newest
}

// forget drops a write, so that it is missed once.
func (a *acknowledgements) forget(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.all {
		if a.all[i].token == token {
			a.all[i] = acknowledgement{}
		}
	}
}

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

// MissingWrite looks for the newest writes to memory of this process on the server. It returns when the last one was
// acknowledged that the server lacks, or the zero time when none is missing. Each is missed once.
func (s *Store) MissingWrite(ctx context.Context) (last time.Time, err error) {
	newest := s.acknowledged.since(checkedFor)
	if len(newest) == 0 {
		return last, nil
	}
	found := make([]*redis.IntCmd, len(newest))
	err = s.together(ctx, func(ctx context.Context, p redis.Pipeliner) {
		for i, one := range newest {
			found[i] = p.Exists(ctx, s.root("done:"+one.token))
		}
	})
	if err != nil {
		return last, fmt.Errorf("look for the newest writes: %w", err)
	}
	for i, one := range newest {
		if found[i].Val() == 0 {
			last = one.at
			s.acknowledged.forget(one.token)
		}
	}
	return last, nil
}
