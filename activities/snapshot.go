package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// snapshot is what an interrupted call leaves. Its text is kept until it is judged; the prompt is only named.
type snapshot struct {
	Step    string      `json:"step"`   // names the prompt: phase, cycle, turn
	Phase   dream.Phase `json:"phase"`  //
	Tokens  int         `json:"tokens"` // tokens of the visible answer
	Calls   int         `json:"calls"`  // attempts of this step, including this one
	Partial string      `json:"partial"`
	Drawn   int         `json:"drawn"` // distinct prompt lines that the text uses
	Affect  mood.PAD    `json:"affect"`
	Began   time.Time   `json:"began"`
	Stopped time.Time   `json:"stopped"`
	Turn    string      `json:"turn"` // the turn and the number of turns
	Epoch   int64       `json:"epoch"`
	Behind  []string    `json:"behind,omitempty"` // ids of the items in the prompt
}

// Cut records how a call was interrupted; it holds no text.
type Cut struct {
	Snapshot   string    `json:"snapshot,omitempty"` // key of the note; empty when no text had arrived
	At         time.Time `json:"at,omitzero"`        // when the wake request was received, from the notice
	Raised     time.Time `json:"raised,omitzero"`
	ReceivedAt time.Time `json:"heard,omitzero"`
	Stopped    time.Time `json:"stopped,omitzero"` // when the stream was closed
	Saved      time.Time `json:"saved,omitzero"`   // when the snapshot was durable
}

// cut keeps the text of an interrupted call. If the store cannot take it, the text is lost and nothing waits.
func (p Ports) cut(ctx context.Context, s Stretch, c call, paid spend.PaidAnswer, began time.Time) *Cut {
	how := &Cut{Stopped: p.stopped(s, paid, began)}
	if w, ok := wokenBy(ctx); ok {
		how.At, how.Raised, how.ReceivedAt = w.Notice.At, w.Notice.Raised, w.ReceivedAt
	}
	if strings.TrimSpace(paid.Text) == "" {
		how.Saved = how.Stopped
		return how
	}
	body, err := json.Marshal(snapshot{
		Step:    c.key(),
		Phase:   c.phase,
		Tokens:  paid.Visible,
		Calls:   max(1, paid.Attempt),
		Partial: paid.Text,
		Drawn:   journal.Drawn(paid.Text, strings.Split(c.text.User(), "\n")),
		Affect:  c.tone,
		Began:   began,
		Stopped: how.Stopped,
		Turn:    c.step,
		Epoch:   s.Epoch,
		Behind:  distinct(c.behind),
	})
	if err == nil {
		how.Snapshot = memory.LateNote + fmt.Sprint(s.Epoch) + "/" + string(c.phase) + "/" + c.step
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
		defer cancel()
		_, err = p.Memory.PutNote(ctx, s.Agent, s.fence(), how.Snapshot, body)
	}
	how.Saved = p.now(s)
	if err != nil {
		how.Snapshot = ""
		if activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Warn("the text of an interrupted call could not be kept", "step", c.key(),
				"error", err)
		}
	}
	return how
}

// stopped is when the model stopped, by the activity's clock.
func (p Ports) stopped(s Stretch, paid spend.PaidAnswer, began time.Time) time.Time {
	now := p.now(s)
	if paid.Ended.IsZero() { // no call was made
		return now
	}
	at := now.Add(-time.Since(paid.Ended))
	if at.Before(began) { // a test server that skips idle time stops the clock meanwhile
		return began
	}
	return at
}

// judgedSnapshots is the result of judging the snapshots of a stretch: an entry with the most significant text, or
// none.
type judgedSnapshots struct {
	keys         []string
	partials     int
	significance float64
	entry        *dream.Journal
}

// weigh judges every snapshot of a dream that is not judged yet.
func (p Ports) weigh(ctx context.Context, s Stretch, number int, now time.Time) (judgedSnapshots, error) {
	var j judgedSnapshots
	notes, err := p.Memory.Notes(ctx, s.Agent, s.Dream, memory.LateNote)
	if err != nil {
		return j, fmt.Errorf("read what the interrupted calls of %s had said: %w", s.Dream, err)
	}
	var best snapshot
	text := ""
	for key, body := range notes {
		j.keys = append(j.keys, key)
		var shot snapshot
		// left behind by a stretch that did not wait for it
		if json.Unmarshal(body, &shot) != nil || s.Epoch > 0 && shot.Epoch != s.Epoch {
			continue
		}
		j.partials++
		legible := journal.Legible(shot.Partial)
		if may, err := p.maySurface(ctx, s, legible); err != nil || !may {
			if err != nil {
				return j, err
			}
			continue
		}
		score := journal.Significance(legible, shot.Drawn, shot.Affect)
		if score > j.significance || score == j.significance && (text == "" || shot.Step < best.Step) {
			j.significance, best, text = score, shot, legible
		}
	}
	if j.significance < journal.Threshold || text == "" {
		return j, nil
	}
	sources, err := p.takenUp(ctx, s.Agent, text, best.Behind)
	if err != nil {
		return j, err
	}
	j.entry = &dream.Journal{
		Head: dream.Head{
			ID:      fmt.Sprintf("%s/wake/%d", s.Dream, number),
			Agent:   s.Agent,
			Kind:    dream.KindJournal,
			At:      now.UTC(),
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   s.Dream,
			Phase:   best.Phase,
			Sources: sources,
		},
		Content:      text,
		Significance: j.significance,
		Affect:       best.Affect,
		Duration:     best.Stopped.Sub(best.Began),
		Interrupted:  true,
		Topics:       journal.Topics(text, 3),
	}
	return j, nil
}

// takenUp are the items whose words a text uses, of those that its prompt showed and that still exist.
func (p Ports) takenUp(ctx context.Context, agent, text string, shown []string) ([]string, error) {
	items, err := p.Memory.Get(ctx, agent, shown...)
	if err != nil {
		return nil, fmt.Errorf("read the memories behind what was said: %w", err)
	}
	var ids []string
	for _, item := range items {
		lines := []string{item.Text()}
		for _, piece := range hypnagogia.Decompose(item) {
			lines = append(lines, piece.Text)
		}
		if journal.Drawn(text, lines) > 0 {
			ids = append(ids, item.Header().ID)
		}
	}
	return ids, nil
}

// distinct removes duplicates and keeps the order.
func distinct(ids []string) []string {
	var once []string
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}
