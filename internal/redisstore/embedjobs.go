package redisstore

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var embedJobScript = script("embedjob")

// embedJobs keeps the background work of embedding agents' memories.
type embedJobs struct{ *server }

// PutEmbedJob stores a job in place of the agent's.
func (s embedJobs) PutEmbedJob(ctx context.Context, j memory.EmbedJob, now time.Time) (memory.EmbedJob, error) {
	var kept memory.EmbedJob
	err := s.change(ctx, j.Agent, func(before memory.EmbedJob) (*memory.EmbedJob, error) {
		var err error
		kept, err = j.After(before, now)
		return &kept, err
	})
	return kept, store.Wrap(err, "put the embedding of ", j.Agent)
}

// EndEmbedJob removes the agent's job.
func (s embedJobs) EndEmbedJob(ctx context.Context, j memory.EmbedJob) (bool, error) {
	ended := true
	err := s.change(ctx, j.Agent, func(before memory.EmbedJob) (*memory.EmbedJob, error) {
		ended = before.Agent == "" || j.Ends(before)
		if ended {
			return nil, nil
		}
		return &before, nil
	})
	return ended, store.Wrap(err, "end the embedding of ", j.Agent)
}

// change replaces an agent's job by the result of to; nil removes it. A job without an agent is treated as missing.
func (s embedJobs) change(ctx context.Context, agent string, to func(memory.EmbedJob) (*memory.EmbedJob, error)) error {
	if err := store.CheckNames("the agent's id", agent); err != nil {
		return err
	}
	return s.retryTorn(ctx, func(int) (bool, error) {
		before, err := s.field(ctx, s.root(embedJobsKey), agent)
		p := parser{err: ignoreMissing(err)}
		var j memory.EmbedJob
		p.json(before, &j)
		if p.err != nil {
			return false, p.err
		}
		after, err := to(j)
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
		word, err := s.run(ctx, embedJobScript, nil, agent, before, body)
		return word == "torn", err
	})
}

// EmbedJob returns the agent's job.
func (s embedJobs) EmbedJob(ctx context.Context, agent string) (memory.EmbedJob, error) {
	var j memory.EmbedJob
	body, err := s.field(ctx, s.root(embedJobsKey), agent)
	p := parser{err: notFound(err)}
	p.json(body, &j)
	return j, store.Wrap(p.err, "the embedding of ", agent)
}

// EmbedJobs lists all jobs by agent.
func (s embedJobs) EmbedJobs(ctx context.Context) ([]memory.EmbedJob, error) {
	all, err := list(ctx, s.server, s.root(embedJobsKey),
		func(a, b memory.EmbedJob) int { return strings.Compare(a.Agent, b.Agent) })
	return store.Result(all, err, "list embedding jobs")
}
