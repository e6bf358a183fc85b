package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// goOn lies down again for a later sitting of an interrupted dream.
func (b *Bed) goOn(ctx context.Context, s Sitting, r LieDownRequest, night *dream.Night) (LieDownResult, error) {
	left, err := b.remaining(ctx, r.Order)
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	result := LieDownResult{Remaining: left, Epoch: s.Epoch}
	if night.Outcome == dream.Dreaming && night.Sittings >= r.Sitting {
		return result, nil
	}
	if !r.Order.Free && left <= 0 {
		result.Refused, result.Reason = dream.Interrupted, "nothing is left of its budget to go on with"
		return result, tell(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	night.Outcome, night.Reason, night.Ended, night.Until, night.Sittings = dream.Dreaming, "", time.Time{}, time.Time{}, r.Sitting
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{night},
		Events: []event.Event{b.event(s, fmt.Sprintf("sitting-%d/%s", r.Sitting, s.Run), event.DreamResumed{Sitting: r.Sitting, Phase: r.Phase, Left: left})},
	})
	if errors.Is(err, memory.ErrWoken) { // between the slot and this write
		result.Refused, result.Awake, result.Reason = dream.Canceled, true, r.Order.Handle+" was woken again"
		return result, tell(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	return result, tell(err)
}
