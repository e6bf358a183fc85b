package waking

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// race is one knock, or two at once, against one deed.
type race struct {
	ground   Ground // where the deed is
	door     Ground // where the visitors are
	far      bool   // those are two processes
	inflight *activities.InflightRegistry
	order    Order
	agent    string
	now      time.Time
	fence    memory.Fence
	seeds    [2]uint64

	moment    int           // of the deed at which the visitors set out: 0 before it registers, then after each step
	reached   chan struct{} // closed when the deed is there
	connected atomic.Bool   // every visitor's knock has returned
}

func (r *race) dice(who uint64) *rand.Rand {
	return rand.New(rand.NewPCG(r.seeds[0], r.seeds[1]<<8|who))
}

func (r *race) run(ctx context.Context) (Score, error) {
	slot, err := r.ground.TakeSlot(ctx, r.agent, memory.Slot{Fence: r.fence, Workflow: r.fence.Dream, Since: r.now},
		memory.Fence{})
	if err != nil {
		return Score{}, err
	}
	dice := r.dice(0)
	clients, steps := 1, 1+dice.IntN(4)
	if dice.IntN(4) == 0 {
		clients = 2
	}
	r.moment, r.reached = dice.IntN(steps+1), make(chan struct{})
	var s Score
	var activityErr error
	faults, raised := make([]error, clients), make([]bool, clients)
	var both, visits sync.WaitGroup
	both.Go(func() { s, activityErr = r.activity(ctx, slot.Epoch, steps) })
	both.Go(func() {
		<-r.reached
		for i := range clients {
			visits.Go(func() { raised[i], faults[i] = r.connect(ctx, slot.Epoch, i) })
		}
		visits.Wait()
		r.connected.Store(true)
	})
	both.Wait()
	if err := errors.Join(append(faults, activityErr)...); err != nil {
		return s, err
	}
	for _, up := range raised {
		if up {
			s.Raised++
		}
	}
	if clients == 2 {
		s.Twice++
	}
	if _, err := r.ground.Dismiss(ctx, r.agent, r.now); err != nil {
		return s, err
	}
	return s, r.ground.FreeSlot(ctx, r.agent, r.fence)
}

// connect is what the starter does: the epoch, then the bell.
func (r *race) connect(ctx context.Context, before int64, client int) (bool, error) {
	dice := r.dice(uint64(2 + client))
	dawdle(dice)
	notice := presence.WakeNotice{Agent: r.agent, Epoch: before + 1, Cause: presence.Connect, At: r.now}
	if r.order == NoticeFirst || r.order == BothTurned {
		if err := r.door.Publish(ctx, notice); err != nil {
			return false, err
		}
		dawdle(dice)
	}
	a, err := r.door.Arrive(ctx, presence.Visit{
		Agent:  r.agent,
		Client: "guest-" + strconv.Itoa(client),
		Cause:  presence.Connect,
		Now:    r.now,
		For:    time.Minute,
		Lock:   5 * time.Second,
	})
	if err != nil || r.order == NoticeFirst || r.order == BothTurned || !a.Raised {
		return a.Raised, err
	}
	dawdle(dice)
	notice.Epoch = a.Epoch
	return a.Raised, r.door.Publish(ctx, notice)
}

// activity takes its seat, then runs and writes by turns, and looks before each step whether it is woken.
func (r *race) activity(ctx context.Context, epoch int64, steps int) (Score, error) {
	dice, at := r.dice(1), 0
	come := func() {
		if at == r.moment {
			close(r.reached)
		}
		at++
	}
	defer func() {
		if at <= r.moment {
			close(r.reached) // it never came so far
		}
	}()
	come()
	dawdle(dice)
	if r.order == ReadFirst || r.order == BothTurned {
		read, err := r.ground.Epoch(ctx, r.agent)
		if err != nil {
			return Score{}, err
		}
		ctx = context.WithValue(ctx, readBefore{}, read)
		dawdle(dice)
	}
	seated, release := r.inflight.Seat(ctx,
		activities.Stretch{Agent: r.agent, Dream: r.fence.Dream, Run: r.fence.Run, Epoch: epoch})
	defer release()
	if seated.Err() != nil {
		return Score{Never: 1}, nil
	}
	var s Score
	for step := range steps {
		if r.think(dice, seated, &s) {
			s.Stopped++
			return s, nil
		}
		refused, err := r.write(ctx, epoch, step, &s)
		if refused || err != nil {
			s.Refused++
			return s, err
		}
		come()
	}
	s.Ended++
	return s, r.heard(seated, &s)
}

// hearing is how long a ring from another process may take before it counts as lost.
const hearing = 10 * time.Second

// heard waits, at the end of a deed, for the ring of another process: it comes soon, and not before the knock returns.
func (r *race) heard(seated context.Context, s *Score) error {
	if !r.far {
		return nil
	}
	late := time.NewTimer(hearing)
	defer late.Stop()
	select {
	case <-seated.Done():
		var woken *activities.Woken
		if !errors.As(context.Cause(seated), &woken) {
			return context.Cause(seated)
		}
	case <-late.C:
		s.Lost = 1
	}
	return nil
}

// think goes on for a while, as a call does; true when the deed was told to stop.
func (r *race) think(dice *rand.Rand, seated context.Context, s *Score) bool {
	for range 1 + dice.IntN(4) {
		after := r.connected.Load()
		if seated.Err() != nil {
			return true
		}
		if after && !r.far {
			s.Lost = 1
		}
		dawdle(dice)
	}
	return false
}

// write keeps a note, fenced; true when the store refused it.
func (r *race) write(ctx context.Context, epoch int64, step int, s *Score) (bool, error) {
	after, fence := r.connected.Load(), r.fence
	fence.Epoch = epoch
	_, err := r.ground.PutNote(ctx, r.agent, fence, "step-"+strconv.Itoa(step), []byte("done"))
	if errors.Is(err, memory.ErrWoken) {
		return true, nil
	}
	if err == nil && after {
		s.Written++
	}
	return false, err
}

// dawdle lets others go first, for a time drawn from the dice.
func dawdle(dice *rand.Rand) {
	for range dice.IntN(1 << dice.IntN(10)) {
		runtime.Gosched()
	}
}

// readBefore is the key of an epoch that a deed read before it registered.
type readBefore struct{}

// slow is a store that takes its time around the reading of the epoch, so that a knock meets a deed there too. It
// answers what a deed has read before, if it has.
type slow struct{ presence.Store }

func (s slow) Epoch(ctx context.Context, agent string) (int64, error) {
	if epoch, read := ctx.Value(readBefore{}).(int64); read {
		return epoch, nil
	}
	dawdle(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	epoch, err := s.Store.Epoch(ctx, agent)
	dawdle(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	return epoch, err
}
