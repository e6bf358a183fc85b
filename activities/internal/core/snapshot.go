package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/inflight"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// Snapshot is what an interrupted call leaves. Its text is kept until it is judged; the prompt is only named.
type Snapshot struct {
	Step    string      `json:"step"`  // Run.Key of the call, which names its prompt
	Phase   dream.Phase `json:"phase"` //
	Partial string      `json:"partial"`
	Drawn   int         `json:"drawn"` // distinct prompt lines that the text uses
	Affect  mood.PAD    `json:"affect"`
	Began   time.Time   `json:"began"`
	Stopped time.Time   `json:"stopped"`
	Epoch   int64       `json:"epoch"`
	Behind  []string    `json:"behind,omitempty"` // ids of the items in the prompt
}

// Cut keeps the text of an interrupted call. If the store cannot take it, the text is lost and nothing waits.
func (r *Run) Cut(ctx context.Context, c Call, paid spend.PaidAnswer, began time.Time) *activities.CutCall {
	how := &activities.CutCall{Stopped: stopped(r, paid, began)}
	if w, ok := inflight.WokenBy(ctx); ok {
		how.At, how.Raised, how.ReceivedAt = w.Notice.At, w.Notice.Raised, w.ReceivedAt
	}
	if strings.TrimSpace(paid.Text) == "" {
		how.Saved = how.Stopped
		return how
	}
	body, err := json.Marshal(Snapshot{
		Step:    r.Key(c),
		Phase:   c.Phase,
		Partial: paid.Text,
		Drawn:   journal.CountDrawnLines(paid.Text, strings.Split(c.Text.User(), "\n")),
		Affect:  c.Tone,
		Began:   began,
		Stopped: how.Stopped,
		Epoch:   r.Epoch,
		Behind:  dream.DistinctIDs(c.Behind),
	})
	if err == nil {
		how.Snapshot = memory.LateNote + fmt.Sprint(r.Epoch) + "/" + string(c.Phase) + "/" + c.Step
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
		defer cancel()
		_, err = r.PutNote(ctx, how.Snapshot, body)
	}
	how.Saved = r.Now()
	if err != nil {
		how.Snapshot = ""
		if activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Warn("the text of an interrupted call could not be kept", "step", r.Key(c),
				"error", err)
		}
	}
	return how
}

// stopped is when the model stopped, by the activity's clock.
func stopped(r *Run, paid spend.PaidAnswer, began time.Time) time.Time {
	now := r.Now()
	if paid.Ended.IsZero() { // no call was made
		return now
	}
	at := now.Add(-time.Since(paid.Ended))
	if at.Before(began) { // a test server that skips idle time stops the clock meanwhile
		return began
	}
	return at
}
