package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// embedStore is a deployment's store with its queue of embedding jobs.
type embedStore struct {
	memory.Store
	memory.EmbedQueue
}

// embedWorker embeds memories in this process.
func (app *App) embedWorker(h *Deployment) *importer.EmbedWorker {
	return &importer.EmbedWorker{Store: embedStore{h.Store, h.Jobs}, Holder: h.Holder, Now: app.Now}
}

// The states of embedding imported memories.
const (
	embedDone       = "done"
	embedBackground = "background" // a server does it
	embedStopped    = "stopped"    // interrupted, or the embedder failed; the rest is tried again
)

// embedOutcome is what became of the vectors of imported memories.
type embedOutcome struct {
	State    string `json:"state"`
	Embedded int    `json:"embedded"`     // by this command
	By       string `json:"by,omitempty"` // the process that continues
	Failure  string `json:"failure,omitempty"`
}

// embedImported gives imported memories their vectors: in the background when a server of this data folder runs and
// the embedder is not the quickest, else here, with a progress bar.
func (app *App) embedImported(ctx context.Context, h *Deployment, a dream.Agent) (embedOutcome, error) {
	e := importer.Embedder{
		Embed: func(ctx context.Context, texts []string) ([][]float32, string, error) {
			return h.Embed(ctx, a, "", texts)
		},
		Stay: true,
	}
	if spec, err := embedderOf(ctx, h, a); err == nil {
		e.Makes = spec.Makes
		if h.Background != nil {
			if process, runs := h.Background(spec); runs {
				return embedOutcome{State: embedBackground, By: fmt.Sprintf("process %d", process)}, nil
			}
		}
	}
	bar := app.meter("embedding")
	moved, err := app.embedWorker(h).Embed(ctx, a, e, bar.move)
	bar.done()
	var held *importer.EmbedHeld
	switch {
	case errors.As(err, &held):
		return embedOutcome{State: embedBackground, Embedded: moved.Placed, By: "process " + held.Job.Holder}, nil
	case err != nil:
		out := embedOutcome{State: embedStopped, Embedded: moved.Placed, Failure: err.Error()}
		return out,
			fmt.Errorf(
				"the memories are stored and found by their words; %s, and not all: %w\na server goes on with it, as does oneiros memory embed --agent %s",
				plural(moved.Placed, "is embedded", "are embedded"), err, a.Handle)
	}
	return embedOutcome{State: embedDone, Embedded: moved.Placed}, nil
}

func (app *App) reportEmbedded(a dream.Agent, o embedOutcome) {
	switch {
	case o.State == embedBackground:
		app.say(
			"They are found by their words; %s embeds them in the background. How far it is: oneiros agents show %s",
			o.By, a.Handle)
	case o.Embedded > 0:
		app.say("%s embedded.", plural(o.Embedded, "memory is", "memories are"))
	}
}

// embeddingState is how far the embedding of an agent's memories is, where any are left.
type embeddingState struct {
	Pending int    `json:"pending"`           // live memories without a vector
	Of      int    `json:"of"`                // live memories that have or get one
	By      string `json:"by,omitempty"`      // the process that embeds them now
	Left    *int64 `json:"left_ms,omitempty"` // estimate of the remaining time
	Failure string `json:"failure,omitempty"` // of the newest attempt
	Next    string `json:"next,omitempty"`    // when it is tried again
}

// embeddingOf is nil when every memory has its vector.
func embeddingOf(ctx context.Context, h *Deployment, a dream.Agent, now time.Time) (*embeddingState, error) {
	pending, of, err := importer.Pending(ctx, h.Store, a.ID)
	if err != nil || pending == 0 {
		return nil, err
	}
	s := &embeddingState{Pending: pending, Of: of}
	if h.Jobs == nil {
		return s, nil
	}
	j, err := h.Jobs.EmbedJob(ctx, a.ID)
	if errors.Is(err, memory.ErrNotFound) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.Failure = j.Failure
	if j.Live(now) {
		s.By = j.Holder
	} else if now.Before(j.Next) {
		s.Next = j.Next.Format(time.RFC3339)
	}
	if left, found := j.Left(now); found {
		ms := left.Milliseconds()
		s.Left = &ms
	}
	return s, nil
}

// Unembedded describes the progress of each agent whose memories lack vectors.
func Unembedded(ctx context.Context, h *Deployment, now time.Time) ([]string, error) {
	agents, err := h.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, a := range agents {
		s, err := embeddingOf(ctx, h, a, now)
		if err != nil {
			return nil, err
		}
		if s != nil {
			pending = append(pending, a.Handle+": "+s.text(a.Handle))
		}
	}
	return pending, nil
}

// text describes the state; empty for none.
func (s *embeddingState) text(handle string) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("embedded %s of %s", thousands(s.Of-s.Pending), thousands(s.Of))
	switch {
	case s.Left != nil:
		left := time.Duration(*s.Left) * time.Millisecond
		text += fmt.Sprintf(", about %s left", max(time.Second, left.Round(time.Second)))
	case s.By != "":
		text += ", being embedded by " + s.By
	case s.Failure != "":
		text += "; " + s.Failure
		if s.Next != "" {
			text += "; tried again at " + s.Next
		}
	default:
		text += "; the rest waits for a server, a dream or oneiros memory embed --agent " + handle
	}
	return text
}

// thousands writes a count with a comma after each three digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
