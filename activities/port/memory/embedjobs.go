package memory

import (
	"context"
	"fmt"
	"time"
)

// EmbedJob is the background work of embedding one agent's memories, with the progress that its process reports.
type EmbedJob struct {
	Agent     string    `json:"agent"`            // id
	Requested time.Time `json:"asked"`            // time of the newest request for it
	Holder    string    `json:"holder,omitempty"` // the process that does the work; empty: no process yet
	Until     time.Time `json:"until,omitzero"`   // when the holder's claim expires unless it is renewed
	Began     time.Time `json:"began,omitzero"`   // when the holder began
	Done      int       `json:"done"`             // memories embedded since it began
	Total     int       `json:"total"`            // memories that had no embedding when it began

	Failure string    `json:"failure,omitempty"` // error of the newest attempt; empty: it has not failed
	Failed  int       `json:"failed,omitempty"`  // failed attempts in a row
	Next    time.Time `json:"next,omitzero"`     // after a failure, the earliest time of the next attempt
}

// Live reports whether a process holds the job at that time.
func (j EmbedJob) Live(now time.Time) bool { return j.Holder != "" && now.Before(j.Until) }

// Left estimates the remaining time from the speed so far; false while there is nothing to estimate from.
func (j EmbedJob) Left(now time.Time) (time.Duration, bool) {
	took := now.Sub(j.Began)
	if !j.Live(now) || j.Done <= 0 || took <= 0 {
		return 0, false
	}
	return time.Duration(float64(took) / float64(j.Done) * float64(max(0, j.Total-j.Done))), true
}

// After returns the job to store when j is put over the existing one. ErrTaken when j is a claim and another holder's
// claim on the existing job is live. A request, which has no holder, only updates Asked of a live claim.
func (j EmbedJob) After(kept EmbedJob, now time.Time) (EmbedJob, error) {
	if kept.Requested.After(j.Requested) {
		j.Requested = kept.Requested
	}
	if !kept.Live(now) || kept.Holder == j.Holder {
		return j, nil
	}
	if j.Holder == "" {
		kept.Requested = j.Requested
		return kept, nil
	}
	return kept, fmt.Errorf("the memories of %s are being embedded by %s: %w", kept.Agent, kept.Holder, ErrTaken)
}

// EmbedQueue stores one embedding job per agent. Jobs are working data: an archive does not contain them.
type EmbedQueue interface {
	// PutEmbedJob stores a job in place of the agent's, by the rule of EmbedJob.After, and returns the stored job.
	// ErrTaken.
	PutEmbedJob(ctx context.Context, j EmbedJob, now time.Time) (EmbedJob, error)
	// EmbedJob returns the agent's job. ErrNotFound.
	EmbedJob(ctx context.Context, agent string) (EmbedJob, error)
	// EmbedJobs lists all jobs by agent.
	EmbedJobs(ctx context.Context) ([]EmbedJob, error)
	// EndEmbedJob removes the agent's job. It returns false and keeps the job when that has another holder than j, or
	// was requested again after j.Asked.
	EndEmbedJob(ctx context.Context, j EmbedJob) (bool, error)
}

// Ends reports whether completing j also completes the stored job.
func (j EmbedJob) Ends(kept EmbedJob) bool {
	return kept.Holder == j.Holder && !kept.Requested.After(j.Requested)
}
