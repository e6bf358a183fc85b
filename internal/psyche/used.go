package psyche

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// used notes beside the turn that knowledge was recalled, which keeps its strength.
func (b *memoryWriter) used(ctx context.Context, agent dream.Agent, found []Memory) {
	var ids []string
	for _, m := range found {
		if m.Kind == dream.KindSemantic {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	now := b.now()
	b.enqueue(task{context.WithoutCancel(ctx), agent, func(ctx context.Context) error {
		err := memory.NoteUse(ctx, b.Memory, agent.ID, now, ids...)
		if err != nil {
			b.Log.WarnContext(ctx, "that knowledge was recalled could not be noted", "agent", agent.Handle, "error",
				err)
		}
		return nil
	}, ""})
}
