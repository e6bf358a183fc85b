package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// PutEmbedJob stores a job in place of the agent's.
func (s *Store) PutEmbedJob(ctx context.Context, j memory.EmbedJob, now time.Time) (memory.EmbedJob, error) {
	var kept memory.EmbedJob
	err := s.write(ctx, func(d tx) error {
		if j.Agent == "" {
			return errors.New("the agent's id is empty")
		}
		before, err := d.embedJob(j.Agent)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		kept, err = j.After(before, now)
		if err != nil {
			return err
		}
		body, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		_, err = d.exec(
			"INSERT INTO embed_jobs (agent, body) VALUES (?, ?) ON CONFLICT (agent) DO UPDATE SET body = excluded.body",
			j.Agent, string(body))
		return err
	})
	return kept, wrap(err, "put the embedding of "+j.Agent)
}

// EmbedJob returns the agent's job.
func (s *Store) EmbedJob(ctx context.Context, agent string) (memory.EmbedJob, error) {
	var j memory.EmbedJob
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		j, err = d.embedJob(agent)
		return err
	})
	return j, wrap(err, "the embedding of "+agent)
}

func (d tx) embedJob(agent string) (memory.EmbedJob, error) {
	var j memory.EmbedJob
	var body []byte
	found, err := d.one("SELECT body FROM embed_jobs WHERE agent = ?", []any{agent}, &body)
	if err != nil || !found {
		return j, errors.Join(err, errIfMissing(found))
	}
	return j, json.Unmarshal(body, &j)
}

func errIfMissing(found bool) error {
	if found {
		return nil
	}
	return memory.ErrNotFound
}

// EmbedJobs lists all jobs by agent.
func (s *Store) EmbedJobs(ctx context.Context) ([]memory.EmbedJob, error) {
	var all []memory.EmbedJob
	err := s.readOnce(ctx, func(d tx) error {
		all = nil
		return d.each("SELECT body FROM embed_jobs ORDER BY agent", nil, func(scan func(...any) error) error {
			var body []byte
			if err := scan(&body); err != nil {
				return err
			}
			var j memory.EmbedJob
			if err := json.Unmarshal(body, &j); err != nil {
				return err
			}
			all = append(all, j)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list embedding jobs: %w", err)
	}
	return all, nil
}

// EndEmbedJob removes the agent's job.
func (s *Store) EndEmbedJob(ctx context.Context, j memory.EmbedJob) (bool, error) {
	ended := false
	err := s.write(ctx, func(d tx) error {
		ended = false
		kept, err := d.embedJob(j.Agent)
		if errors.Is(err, memory.ErrNotFound) {
			ended = true
			return nil
		}
		if err != nil || !j.Ends(kept) {
			return err
		}
		ended = true
		_, err = d.exec("DELETE FROM embed_jobs WHERE agent = ?", j.Agent)
		return err
	})
	return ended, wrap(err, "end the embedding of "+j.Agent)
}
