// Package waking proves that no wake is lost, and that a wake loses nothing of a dream.
package waking

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// RaceStore is the store that races run on.
type RaceStore interface {
	presence.Store
	presence.WakeBus
	PutAgent(ctx context.Context, a dream.Agent) error
	TakeSlot(ctx context.Context, agent string, s memory.Slot, steal memory.Fence) (memory.Slot, error)
	FreeSlot(ctx context.Context, agent string, f memory.Fence) error
	PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error)
}

// StepOrder is the order of steps in a race. The first is the right one (decision 16); the others are what it
// forbids.
type StepOrder int

// The orders.
const (
	// a visit raises the epoch, then publishes; an activity registers, then reads the epoch
	RightOrder   StepOrder = iota
	NoticeFirst            // a visit publishes, then raises the epoch
	ReadFirst              // an activity reads the epoch, then registers
	BothReversed           // both reversed
)

// Races are many short races of a connect against an activity, each with random numbers of its own.
type Races struct {
	Seed      uint64
	Count     int
	Lanes     int // agents, each with one race at a time
	StepOrder StepOrder
	From      RaceStore // the same store, opened by another process, from which clients connect; nil: this process
}

// Score counts how races ended.
type Score struct {
	Never   int // the activity found itself woken before it began
	Stopped int // its context ended between two steps
	Refused int // the store refused its write, because the epoch had risen
	Ended   int // it had ended before the connect
	Twice   int // races with two clients at once
	// a step began after the connect had returned, and no notice had reached the activity; from another process, none
	// in time
	Lost    int
	Written int // a fenced write that began after the connect had returned was accepted
	Raised  int // epochs raised; one a race
}

// Total is the number of races.
func (s Score) Total() int { return s.Never + s.Stopped + s.Refused + s.Ended }

// String is the counts in one line.
func (s Score) String() string {
	return fmt.Sprintf(
		"%d races: %d never ran, %d stopped, %d refused, %d done before; %d with two clients; %d epochs; lost %d, written late %d",
		s.Total(),
		s.Never,
		s.Stopped,
		s.Refused,
		s.Ended,
		s.Twice,
		s.Raised,
		s.Lost,
		s.Written,
	)
}

func (s *Score) add(o Score) {
	s.Never += o.Never
	s.Stopped += o.Stopped
	s.Refused += o.Refused
	s.Ended += o.Ended
	s.Twice += o.Twice
	s.Lost += o.Lost
	s.Written += o.Written
	s.Raised += o.Raised
}

// Run runs all races on a store and counts.
func (r Races) Run(ctx context.Context, g RaceStore) (Score, error) {
	registry := inflight.NewRegistry(slow{g})
	defer registry.Close()
	hush, err := g.Listen(registry.OnNotice)
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
			s, err := r.lane(ctx, g, registry, lane)
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
	if left := registry.Running(); left != 0 {
		faults = append(faults, fmt.Errorf("%d activities are registered after the last has ended", left))
	}
	return sum, errors.Join(faults...)
}

func (r Races) lane(ctx context.Context, g RaceStore, registry *inflight.Registry, lane int) (Score, error) {
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
			store:       g,
			inflight:    registry,
			steps:       r.StepOrder,
			agent:       name,
			now:         now,
			fence:       memory.Fence{Dream: "dream/" + name + "/0001", Run: "run"},
			seeds:       [2]uint64{r.Seed, uint64(i)},
			clientStore: g,
			remote:      r.From != nil,
		}
		if race.remote {
			race.clientStore = r.From
		}
		s, err := race.run(ctx)
		if err != nil {
			return sum, fmt.Errorf("race %d of seed %d: %w", i, r.Seed, err)
		}
		sum.add(s)
	}
	return sum, nil
}
