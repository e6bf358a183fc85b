// Package waking proves that no wake is lost and that nothing is lost by one.
package waking

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Ground is the store that races run over.
type Ground interface {
	presence.Store
	presence.WakeBus
	PutAgent(ctx context.Context, a dream.Agent) error
	TakeSlot(ctx context.Context, agent string, s memory.Slot, steal memory.Fence) (memory.Slot, error)
	FreeSlot(ctx context.Context, agent string, f memory.Fence) error
	PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error)
}

// Order is who does what first in a race. The first is the law (decision 16), the others are what it forbids.
type Order int

// The orders.
const (
	Lawful      Order = iota // a visit raises the epoch, then rings; a deed registers, then reads the epoch
	NoticeFirst              // a visit rings, then raises the epoch
	ReadFirst                // a deed reads the epoch, then registers
	BothTurned               // both the wrong way round
)

// Races are many short stories of a knock against a deed, each from its own dice.
type Races struct {
	Seed  uint64
	Count int
	Lanes int // agents, each with one race at a time
	Order Order
	From  Ground // the same store as another process has it open, from which the knocks come; nil: this process
}

// Score counts how races ended.
type Score struct {
	Never   int // the deed found itself woken before it began
	Stopped int // its context ended between two steps
	Refused int // the store refused what it wrote, because the epoch had risen
	Ended   int // it was done before the knock
	Twice   int // races with two visitors at once
	// a step began after the knock had returned, and nothing had told the deed; from afar, nothing told it in time
	Lost    int
	Written int // a fenced write that began after the knock had returned was taken
	Raised  int // epochs raised; one a race
}

// Total is the number of races.
func (s Score) Total() int { return s.Never + s.Stopped + s.Refused + s.Ended }

func (s Score) String() string {
	return fmt.Sprintf(
		"%d races: %d never ran, %d stopped, %d refused, %d done before; %d with two visitors; %d epochs; lost %d, written late %d",
		s.Total(), s.Never, s.Stopped, s.Refused, s.Ended, s.Twice, s.Raised, s.Lost, s.Written)
}

func (s *Score) add(o Score) {
	s.Never, s.Stopped, s.Refused, s.Ended = s.Never+o.Never, s.Stopped+o.Stopped, s.Refused+o.Refused, s.Ended+o.Ended
	s.Twice, s.Lost, s.Written, s.Raised = s.Twice+o.Twice, s.Lost+o.Lost, s.Written+o.Written, s.Raised+o.Raised
}

// Run plays all races on the ground and counts.
func (r Races) Run(ctx context.Context, g Ground) (Score, error) {
	inflight := activities.NewInflightRegistry(slow{g})
	defer inflight.Close()
	hush, err := g.Listen(inflight.Hear)
	if err != nil {
		return Score{}, err
	}
	defer hush()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var sum Score
	var faults []error
	var lanes sync.WaitGroup
	for lane := range r.Lanes {
		lanes.Go(func() {
			s, err := r.lane(ctx, g, inflight, lane)
			mu.Lock()
			defer mu.Unlock()
			sum.add(s)
			if err != nil {
				faults = append(faults, err)
				stop()
			}
		})
	}
	lanes.Wait()
	if left := inflight.Running(); left != 0 {
		faults = append(faults, fmt.Errorf("%d deeds are registered after the last has ended", left))
	}
	return sum, errors.Join(faults...)
}

func (r Races) lane(ctx context.Context, g Ground, inflight *activities.InflightRegistry, lane int) (Score, error) {
	name := "racer-" + strconv.Itoa(lane)
	if err := g.PutAgent(ctx, dream.Agent{
		ID:     name,
		Handle: name,
		Zone:   "UTC",
		Tier:   dream.Core,
		Caps:   dream.DefaultCaps,
	}); err != nil {
		return Score{}, err
	}
	var sum Score
	now := time.Unix(1_800_000_000, 0).UTC()
	for i := lane; i < r.Count; i += r.Lanes {
		now = now.Add(time.Hour)
		race := race{
			ground:   g,
			inflight: inflight,
			order:    r.Order,
			agent:    name,
			now:      now,
			fence:    memory.Fence{Dream: "dream/" + name + "/0001", Run: "run"},
			seeds:    [2]uint64{r.Seed, uint64(i)},
			door:     g,
			far:      r.From != nil,
		}
		if race.far {
			race.door = r.From
		}
		s, err := race.run(ctx)
		if err != nil {
			return sum, fmt.Errorf("race %d of seed %d: %w", i, r.Seed, err)
		}
		sum.add(s)
	}
	return sum, nil
}
