package dreamrun

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// judgedSnapshots is the result of judging the snapshots of a stretch: an entry with the most significant text, or
// none.
type judgedSnapshots struct {
	keys         []string
	partials     int
	significance float64
	entry        *dream.Journal
}

// judgeSnapshots judges every snapshot of a dream that is not judged yet.
func judgeSnapshots(ctx context.Context, r *core.Run, number int, now time.Time) (judgedSnapshots, error) {
	var j judgedSnapshots
	notes, err := r.Memory.Notes(ctx, r.Agent, r.Dream, memory.LateNote)
	if err != nil {
		return j, fmt.Errorf("read what the interrupted calls of %s had said: %w", r.Dream, err)
	}
	var best core.Snapshot
	text := ""
	for key, body := range notes {
		j.keys = append(j.keys, key)
		var shot core.Snapshot
		// left behind by a stretch that did not wait for it
		if json.Unmarshal(body, &shot) != nil || r.Epoch > 0 && shot.Epoch != r.Epoch {
			continue
		}
		j.partials++
		legible := journal.ReadableText(shot.Partial)
		if may, err := core.MaySurface(ctx, r, legible); err != nil || !may {
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
	sources, err := takenUp(ctx, r, text, best.Behind)
	if err != nil {
		return j, err
	}
	j.entry = &dream.Journal{
		Head: dream.Head{
			ID:      fmt.Sprintf("%s/wake/%d", r.Dream, number),
			Agent:   r.Agent,
			Kind:    dream.KindJournal,
			At:      now.UTC(),
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   r.Dream,
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
func takenUp(ctx context.Context, r *core.Run, text string, shown []string) ([]string, error) {
	items, err := r.Get(ctx, shown...)
	if err != nil {
		return nil, fmt.Errorf("read the memories behind what was said: %w", err)
	}
	var ids []string
	for _, item := range items {
		lines := []string{item.Text()}
		for _, piece := range hypnagogia.Decompose(item) {
			lines = append(lines, piece.Text)
		}
		if journal.CountDrawnLines(text, lines) > 0 {
			ids = append(ids, item.Header().ID)
		}
	}
	return ids, nil
}
