package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
)

// EmbeddingState is how far the embedding of an agent's memories is, where any are left.
type EmbeddingState struct {
	Pending int    `json:"pending"`           // live memories that recall finds, without a vector
	Of      int    `json:"of"`                // live memories that have or get one
	By      string `json:"by,omitempty"`      // the process that embeds them now
	Left    *int64 `json:"left_ms,omitempty"` // estimate of the remaining time
	Failure string `json:"failure,omitempty"` // of the newest attempt
	Next    string `json:"next,omitempty"`    // when it is tried again

	requested bool // servers and workers embed the rest by themselves
}

// EmbeddingOf is nil when every memory has its vector.
func EmbeddingOf(ctx context.Context, h *Deployment, a dream.Agent, now time.Time) (*EmbeddingState, error) {
	pending, of, err := importer.Pending(ctx, h.Store, a.ID)
	if err != nil || pending == 0 {
		return nil, err
	}
	s := &EmbeddingState{Pending: pending, Of: of}
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
	s.requested = true
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

// mostUnembedded is how many agents the doctor describes by themselves.
const mostUnembedded = 3

// unembedded describes the progress of the agents whose memories lack vectors, the first few by themselves; empty for
// none.
func unembedded(ctx context.Context, h *Deployment, now time.Time) (string, error) {
	agents, err := h.Store.Agents(ctx)
	if err != nil {
		return "", err
	}
	var parts []string
	n := 0
	for _, a := range agents {
		s, err := EmbeddingOf(ctx, h, a, now)
		if err != nil {
			return "", err
		}
		if s == nil {
			continue
		}
		n++
		if n <= mostUnembedded {
			parts = append(parts, a.Handle+": "+s.Text(a.Handle))
		}
	}
	if n > mostUnembedded {
		parts = append([]string{fmt.Sprintf("%d agents have memories without a vector", n)}, parts...)
		parts = append(parts, fmt.Sprintf("and %d more", n-mostUnembedded))
	}
	return strings.Join(parts, "; "), nil
}

// Text describes the state; empty for none.
func (s *EmbeddingState) Text(handle string) string {
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
	case s.requested:
		text += "; the rest waits for a server, a dream or oneiros memory embed --agent " + handle
	default:
		text += "; the rest waits for a dream or oneiros memory embed --agent " + handle
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

// Behind lists the agents without an embedder of their own whose memory was embedded in another space than the usual
// embedder's.
func Behind(ctx context.Context, store memory.Store, usual inference.Spec) ([]string, error) {
	agents, err := store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var behind []string
	for _, a := range agents {
		if a.Models[dream.Embedder] != "" {
			continue
		}
		space, err := store.Space(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		if space != "" && !usual.Makes(space) {
			behind = append(behind, a.Handle)
		}
	}
	return behind, nil
}
