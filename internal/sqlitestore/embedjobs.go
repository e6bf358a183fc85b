package sqlitestore

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// embedJobs keeps the background work of embedding agents' memories.
type embedJobs struct{ *file }

// PutEmbedJob stores a job in place of the agent's. With memory.ErrTaken it returns the job that stays.
func (s embedJobs) PutEmbedJob(ctx context.Context, j memory.EmbedJob, now time.Time) (memory.EmbedJob, error) {
	var kept memory.EmbedJob
	err := s.write(ctx, func(d *tx) {
		if j.Agent == "" {
			d.fail(errNoAgent)
		}
		before, _ := d.embedJob(j.Agent)
		var refused error
		kept, refused = j.After(before, now)
		d.fail(refused)
		d.exec("INSERT INTO embed_jobs (agent, body) VALUES (?, ?) ON CONFLICT (agent) DO UPDATE SET body = excluded.body",
			j.Agent, jsonText{kept})
	})
	return kept, store.Wrap(err, "put the embedding of ", j.Agent)
}

// EmbedJob returns the agent's job.
func (s embedJobs) EmbedJob(ctx context.Context, agent string) (memory.EmbedJob, error) {
	return in(ctx, s.readOnce, "the embedding of "+agent, func(d *tx) memory.EmbedJob {
		j, found := d.embedJob(agent)
		if !found {
			d.fail(memory.ErrNotFound)
		}
		return j
	})
}

func (d *tx) embedJob(agent string) (j memory.EmbedJob, found bool) {
	found = d.one("SELECT body FROM embed_jobs WHERE agent = ?", []any{agent}, jsonText{&j})
	return j, found
}

// EmbedJobs lists all jobs by agent.
func (s embedJobs) EmbedJobs(ctx context.Context) ([]memory.EmbedJob, error) {
	return in(ctx, s.readOnce, "list embedding jobs", func(d *tx) []memory.EmbedJob {
		return decoded[memory.EmbedJob](d, "SELECT body FROM embed_jobs ORDER BY agent")
	})
}

// EndEmbedJob removes the agent's job.
func (s embedJobs) EndEmbedJob(ctx context.Context, j memory.EmbedJob) (bool, error) {
	return in(ctx, s.write, "end the embedding of "+j.Agent, func(d *tx) bool {
		kept, found := d.embedJob(j.Agent)
		if !found {
			return true
		}
		ends := j.Ends(kept)
		if ends {
			d.exec("DELETE FROM embed_jobs WHERE agent = ?", j.Agent)
		}
		return ends
	})
}
