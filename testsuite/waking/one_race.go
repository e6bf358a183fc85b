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

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// race is one connect, or two at once, during one activity.
type race struct {
	store       RaceStore // the activity's
	clientStore RaceStore // the clients'
	remote      bool      // the two are separate processes
	inflight    *inflight.Registry
	steps       StepOrder
	agent       string
	now         time.Time
	fence       memory.Fence
	seeds       [2]uint64

	// the step of the activity at which the clients connect: 0 before it registers, then after each step
	moment    int
	reached   chan struct{} // closed when the activity is there
	connected atomic.Bool   // every client's connect has returned
}

func (r *race) dice(who uint64) *rand.Rand {
	return rand.New(rand.NewPCG(r.seeds[0], r.seeds[1]<<8|who))
}

func (r *race) run(ctx context.Context) (Score, error) {
	slot, err := r.store.TakeSlot(ctx, r.agent, memory.Slot{Fence: r.fence, Workflow: r.fence.Dream, Since: r.now},
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
	if _, err := r.store.Dismiss(ctx, r.agent, r.now); err != nil {
		return s, err
	}
	return s, r.store.FreeSlot(ctx, r.agent, r.fence)
}

// connect does what the starter does: it raises the epoch, then publishes the notice.
func (r *race) connect(ctx context.Context, before int64, client int) (bool, error) {
	dice := r.dice(uint64(2 + client))
	yieldRandomly(dice)
	notice := presence.WakeNotice{Agent: r.agent, Epoch: before + 1, Cause: presence.Connect, At: r.now}
	if r.steps == NoticeFirst || r.steps == BothReversed {
		if err := r.clientStore.Publish(ctx, notice); err != nil {
			return false, err
		}
		yieldRandomly(dice)
	}
	a, err := r.clientStore.Arrive(ctx, presence.Visit{
		Agent:  r.agent,
		Client: "guest-" + strconv.Itoa(client),
		Cause:  presence.Connect,
		Now:    r.now,
		For:    time.Minute,
		Lock:   5 * time.Second,
	})
	if err != nil || r.steps == NoticeFirst || r.steps == BothReversed || !a.Raised {
		return a.Raised, err
	}
	yieldRandomly(dice)
	notice.Epoch = a.Epoch
	return a.Raised, r.clientStore.Publish(ctx, notice)
}

// activity registers, then works and writes by turns, and checks before each step whether it has been woken.
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
			close(r.reached) // it ended before that step
		}
	}()
	come()
	yieldRandomly(dice)
	if r.steps == ReadFirst || r.steps == BothReversed {
		read, err := r.store.Epoch(ctx, r.agent)
		if err != nil {
			return Score{}, err
		}
		ctx = context.WithValue(ctx, readBefore{}, read)
		yieldRandomly(dice)
	}
	seated, release := r.inflight.Register(ctx, r.agent, epoch)
	defer release()
	if seated.Err() != nil {
		return Score{Never: 1}, nil
	}
	var s Score
	for step := range steps {
		if r.work(dice, seated, &s) {
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
	return s, r.awaitNotice(seated, &s)
}

// noticeTimeout is how long a notice from another process may take before it counts as lost.
const noticeTimeout = 10 * time.Second

// awaitNotice waits, at the end of an activity, for the notice of another process, which comes soon after the connect
// returns.
func (r *race) awaitNotice(seated context.Context, s *Score) error {
	if !r.remote {
		return nil
	}
	late := time.NewTimer(noticeTimeout)
	defer late.Stop()
	select {
	case <-seated.Done():
		var woken *inflight.Woken
		if !errors.As(context.Cause(seated), &woken) {
			return context.Cause(seated)
		}
	case <-late.C:
		s.Lost = 1
	}
	return nil
}

// work goes on for a while, as a call does; true when the activity was told to stop.
func (r *race) work(dice *rand.Rand, seated context.Context, s *Score) bool {
	for range 1 + dice.IntN(4) {
		after := r.connected.Load()
		if seated.Err() != nil {
			return true
		}
		if after && !r.remote {
			s.Lost = 1
		}
		yieldRandomly(dice)
	}
	return false
}

// write saves a note, fenced; true when the store refused it.
func (r *race) write(ctx context.Context, epoch int64, step int, s *Score) (bool, error) {
	after, fence := r.connected.Load(), r.fence
	fence.Epoch = epoch
	_, err := r.store.PutNote(ctx, r.agent, fence, "step-"+strconv.Itoa(step), []byte("done"))
	if errors.Is(err, memory.ErrWoken) {
		return true, nil
	}
	if err == nil && after {
		s.Written++
	}
	return false, err
}

// yieldRandomly lets other goroutines run for a random time.
func yieldRandomly(dice *rand.Rand) {
	for range dice.IntN(1 << dice.IntN(10)) {
		runtime.Gosched()
	}
}

// readBefore is the context key of an epoch that an activity read before it registered.
type readBefore struct{}

// slow is a store that takes its time around reading the epoch, so that a connect meets an activity there too. It
// returns what the activity has read before, if it has.
type slow struct{ presence.Store }

func (s slow) Epoch(ctx context.Context, agent string) (int64, error) {
	if epoch, read := ctx.Value(readBefore{}).(int64); read {
		return epoch, nil
	}
	yieldRandomly(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	epoch, err := s.Store.Epoch(ctx, agent)
	yieldRandomly(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	return epoch, err
}
