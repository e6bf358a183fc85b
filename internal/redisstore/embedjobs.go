package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

var embedJobScript = script("embedjob")

func (s *Store) embedJobsKey() string { return s.set.prefix + "embed_jobs" }

// PutEmbedJob stores a job in place of the agent's.
func (s *Store) PutEmbedJob(ctx context.Context, j memory.EmbedJob, now time.Time) (memory.EmbedJob, error) {
	var kept memory.EmbedJob
	err := s.changeEmbedJob(ctx, j.Agent, func(before memory.EmbedJob) (*memory.EmbedJob, error) {
		var err error
		kept, err = j.After(before, now)
		return &kept, err
	})
	return kept, wrap(err, "put the embedding of ", j.Agent)
}

// EndEmbedJob removes the agent's job.
func (s *Store) EndEmbedJob(ctx context.Context, j memory.EmbedJob) (bool, error) {
	ended := true
	err := s.changeEmbedJob(ctx, j.Agent, func(before memory.EmbedJob) (*memory.EmbedJob, error) {
		ended = before.Agent == "" || j.Ends(before)
		if ended {
			return nil, nil
		}
		return &before, nil
	})
	return ended, wrap(err, "end the embedding of ", j.Agent)
}

// changeEmbedJob replaces an agent's job by the result of change; nil removes it. A job without an agent is treated as
// missing.
func (s *Store) changeEmbedJob(ctx context.Context, agent string,
	change func(memory.EmbedJob) (*memory.EmbedJob, error),
) error {
	if agent == "" || !utf8.ValidString(agent) {
		return errNoAgent
	}
	return s.retryTorn(ctx, func(int) (bool, error) {
		before, err := s.embedJob(ctx, agent)
		if err != nil {
			return false, err
		}
		var j memory.EmbedJob
		if before != "" {
			if err := json.Unmarshal([]byte(before), &j); err != nil {
				return false, err
			}
		}
		after, err := change(j)
		if err != nil {
			return false, err
		}
		var body []byte
		if after != nil {
			body, err = json.Marshal(after)
			if err != nil {
				return false, err
			}
		}
		// If it runs twice, the second run finds the first one's job, which is then read and changed again.
		word, err := s.run(ctx, again, embedJobScript, nil, agent, before, body)
		return word == "torn", err
	})
}

// embedJob reads an agent's job in its stored form; empty for none.
func (s *Store) embedJob(ctx context.Context, agent string) (string, error) {
	var body string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		body, err = s.client.HGet(ctx, s.embedJobsKey(), agent).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return body, err
}

// EmbedJob returns the agent's job.
func (s *Store) EmbedJob(ctx context.Context, agent string) (memory.EmbedJob, error) {
	var j memory.EmbedJob
	body, err := s.embedJob(ctx, agent)
	switch {
	case err == nil && body == "":
		err = memory.ErrNotFound
	case err == nil:
		err = json.Unmarshal([]byte(body), &j)
	}
	return j, wrap(err, "the embedding of ", agent)
}

// EmbedJobs lists all jobs by agent.
func (s *Store) EmbedJobs(ctx context.Context) ([]memory.EmbedJob, error) {
	var bodies []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		bodies, err = s.client.HVals(ctx, s.embedJobsKey()).Result()
		return err
	})
	all := make([]memory.EmbedJob, len(bodies))
	for i, body := range bodies {
		err = errors.Join(err, json.Unmarshal([]byte(body), &all[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("list embedding jobs: %w", err)
	}
	slices.SortFunc(all, func(a, b memory.EmbedJob) int { return cmp.Compare(a.Agent, b.Agent) })
	return all, nil
}
