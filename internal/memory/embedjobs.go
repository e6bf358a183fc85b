package memory

import (
	"context"
	"fmt"
	"time"
)

// EmbedJob is the work of embedding an agent's memories in the background, as the process that does it reports it.
type EmbedJob struct {
	Agent  string    `json:"agent"`            // id
	Asked  time.Time `json:"asked"`            // when it was asked for last
	Holder string    `json:"holder,omitempty"` // the process that does it; empty: it waits for one
	Until  time.Time `json:"until,omitzero"`   // the holder's claim ends then unless it is renewed
	Began  time.Time `json:"began,omitzero"`   // when the holder began
	Done   int       `json:"done"`             // memories that were embedded since it began
	Total  int       `json:"total"`            // and those that were to be embedded then

	Failure string    `json:"failure,omitempty"` // how the newest attempt ended; empty: it goes on
	Failed  int       `json:"failed,omitempty"`  // attempts in a row that failed
	Next    time.Time `json:"next,omitzero"`     // after a failure it is not tried again before
}

// Live says whether a process holds the job.
func (j EmbedJob) Live(now time.Time) bool { return j.Holder != "" && now.Before(j.Until) }

// Left estimates how long the job still takes by how fast it went; false while nobody knows.
func (j EmbedJob) Left(now time.Time) (time.Duration, bool) {
	took := now.Sub(j.Began)
	if !j.Live(now) || j.Done <= 0 || took <= 0 {
		return 0, false
	}
	return time.Duration(float64(took) / float64(j.Done) * float64(max(0, j.Total-j.Done))), true
}

// After is what a store keeps when j is put over the job that it has. ErrTaken when another holder's claim on that one
// lasts at now and j is a claim as well. A request, which names no holder, only notes its time with a claim that lasts.
func (j EmbedJob) After(kept EmbedJob, now time.Time) (EmbedJob, error) {
	if kept.Asked.After(j.Asked) {
		j.Asked = kept.Asked
	}
	if !kept.Live(now) || kept.Holder == j.Holder {
		return j, nil
	}
	if j.Holder == "" {
		kept.Asked = j.Asked
		return kept, nil
	}
	return kept, fmt.Errorf("the memories of %s are being embedded by %s: %w", kept.Agent, kept.Holder, ErrTaken)
}

// EmbedQueue keeps who embeds which agent's memories, one job an agent. They are work in progress: an archive does not
// hold them.
type EmbedQueue interface {
	// PutEmbedJob keeps a job in place of the agent's, as EmbedJob.After says, and answers what is kept. ErrTaken.
	PutEmbedJob(ctx context.Context, j EmbedJob, now time.Time) (EmbedJob, error)
	// EmbedJob is the agent's. ErrNotFound when none is kept.
	EmbedJob(ctx context.Context, agent string) (EmbedJob, error)
	// EmbedJobs lists all, by agent.
	EmbedJobs(ctx context.Context) ([]EmbedJob, error)
	// EndEmbedJob removes the agent's job, unless it has another holder than j or was asked for again after j.Asked;
	// false then.
	EndEmbedJob(ctx context.Context, j EmbedJob) (bool, error)
}

// Ends says whether j, which is done, ends the job that a store keeps.
func (j EmbedJob) Ends(kept EmbedJob) bool {
	return kept.Holder == j.Holder && !kept.Asked.After(j.Asked)
}
