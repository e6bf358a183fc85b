package presencetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// The size of a race. Leases last a few ticks of its clock, so that the agent often falls asleep.
const (
	raceClients, callsEach   = 4, 120
	raceDreamers, dreamsEach = 3, 60
	leastDreamt              = 5 // of each dreamer, where clients leave no room for more
	writesPerDream           = 6
)

// Race lets clients connect and disconnect while dreams write, for one agent and through the given handles of one
// deployment. It returns an error when a stretch of an older epoch wrote in a step that began after Arrive had returned
// a newer one, when a wake changed, when an epoch was raised twice or never, or when a mood or a digest was applied
// twice. The seed decides who does what, not who is first.
func Race(ctx context.Context, seed uint64, handles ...Store) error {
	if len(handles) == 0 {
		return errors.New("no store to test")
	}
	r := &race{wakes: map[int64]presence.Wake{}, raised: map[int64]int{}}
	if err := r.firstDream(ctx, handles[0]); err != nil {
		return fmt.Errorf("the first dream, before any client connects: %w", err)
	}
	var wg sync.WaitGroup
	begin := func(i int, run func(context.Context, Store, *rand.Rand, string) error) {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() { r.fault(run(ctx, handles[i%len(handles)], dice, fmt.Sprint(i))) })
	}
	for i := range raceClients {
		begin(i, r.client)
	}
	for i := range raceDreamers {
		begin(raceClients+i, r.dreamer)
	}
	wg.Wait()
	for _, s := range handles {
		r.fault(r.agrees(ctx, s))
	}
	if err := errors.Join(r.faults...); err != nil {
		return fmt.Errorf("race with seed %d: %w", seed, err)
	}
	return nil
}

type race struct {
	tick   atomic.Int64
	newest atomic.Int64 // the newest epoch that an Arrive has returned

	mu     sync.Mutex
	wakes  map[int64]presence.Wake
	raised map[int64]int
	wrote  int // writes of stretches that held their epoch
	woken  int // writes refused for their epoch
	faults []error
}

// firstDream runs undisturbed: with a fast store, clients may later connect before every write of every dream.
func (r *race) firstDream(ctx context.Context, s Store) error {
	want := memory.Slot{Fence: memory.Fence{Dream: "first", Run: "r"}, Since: r.now()}
	got, err := s.TakeSlot(ctx, echo, want, memory.Fence{})
	if err != nil {
		return err
	}
	if err := commit(ctx, s,
		memory.Write{Fence: got.Fence, OnWake: &memory.OnWake{Digest: []string{"first"}}}); err != nil {
		return err
	}
	r.wrote++
	return s.FreeSlot(ctx, echo, got.Fence)
}

func (r *race) fault(err error) {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.faults = append(r.faults, err)
	}
}

// failed says whether somebody found a fault; the slot may then be taken for good.
func (r *race) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.faults) > 0
}

func (r *race) now() time.Time { return at(time.Duration(r.tick.Add(1)) * time.Millisecond) }

func (r *race) client(ctx context.Context, s Store, dice *rand.Rand, name string) error {
	for range callsEach {
		var err error
		switch dice.IntN(8) {
		case 0, 1, 2:
			err = r.connect(ctx, s, dice, name)
		case 3, 4:
			_, err = s.Depart(ctx, echo, name, r.now(), time.Duration(dice.IntN(2))*time.Millisecond)
		case 5:
			_, err = s.Dismiss(ctx, echo, r.now())
		default:
			err = r.look(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *race) connect(ctx context.Context, s Store, dice *rand.Rand, name string) error {
	v := presence.Visit{Agent: echo, Client: name, Cause: presence.Connect, Now: r.now()}
	v.For, v.Lock = time.Duration(1+dice.IntN(3))*time.Millisecond, time.Duration(dice.IntN(3))*time.Millisecond
	if dice.IntN(4) == 0 {
		v.Cause = presence.Alarm
	}
	a, err := s.Arrive(ctx, v)
	if err != nil {
		return err
	}
	for old := r.newest.Load(); old < a.Epoch && !r.newest.CompareAndSwap(old, a.Epoch); old = r.newest.Load() {
	}
	if a.Raised {
		r.mu.Lock()
		r.raised[a.Epoch]++
		r.mu.Unlock()
	}
	return r.sameWake(a.Wake)
}

func (r *race) look(ctx context.Context, s Store) error {
	before := r.newest.Load()
	st, err := s.Status(ctx, echo, at(time.Duration(r.tick.Load())*time.Millisecond))
	if err != nil || st.Last == nil {
		return err
	}
	if st.Epoch < before || st.Last.Epoch != st.Epoch {
		return fmt.Errorf("after epoch %d was raised, Status returned epoch %d and wake %d", before, st.Epoch,
			st.Last.Epoch)
	}
	return r.sameWake(*st.Last)
}

// sameWake compares a wake with what was first returned for its epoch.
func (r *race) sameWake(w presence.Wake) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, found := r.wakes[w.Epoch]
	if !found {
		r.wakes[w.Epoch] = w
		return nil
	}
	if !reflect.DeepEqual(first, w) {
		return fmt.Errorf("wake %d was %+v and became %+v", w.Epoch, first, w)
	}
	return nil
}

func (r *race) dreamer(ctx context.Context, s Store, dice *rand.Rand, name string) error {
	dreamt := 0
	for night := 0; !r.failed() && (night < dreamsEach || dreamt < leastDreamt); night++ {
		before := r.newest.Load()
		want := memory.Slot{Fence: memory.Fence{Dream: "d" + name, Run: "r"}, Since: r.now()}
		got, err := s.TakeSlot(ctx, echo, want, memory.Fence{})
		if errors.Is(err, memory.ErrTaken) || errors.Is(err, memory.ErrAwake) {
			continue
		}
		if err != nil {
			return err
		}
		dreamt++
		if got.Epoch < before {
			return fmt.Errorf("dream %s began at epoch %d after %d was raised", name, got.Epoch, before)
		}
		if err := r.dream(ctx, s, dice, got.Fence, fmt.Sprintf("%s/%d", name, night)); err != nil {
			return err
		}
		if err := s.FreeSlot(ctx, echo, got.Fence); err != nil {
			return err
		}
	}
	return nil
}

// dream writes until it is woken; sometimes it lets a client connect in between.
func (r *race) dream(ctx context.Context, s Store, dice *rand.Rand, f memory.Fence, name string) error {
	connected := dice.IntN(2 * writesPerDream)
	for i := range writesPerDream {
		if i == connected {
			if err := r.connect(ctx, s, dice, "caller of "+name); err != nil {
				return err
			}
		}
		before := r.newest.Load()
		affect := mood.PAD{Pleasure: dice.Float64(), Arousal: -dice.Float64()}
		id := fmt.Sprintf("%s/%d", name, i)
		err := commit(ctx, s, memory.Write{Fence: f, OnWake: &memory.OnWake{Mood: &affect, Digest: []string{id}}})
		if dice.IntN(2) == 0 && err == nil {
			before = r.newest.Load()
			_, err = s.PutNote(ctx, echo, f, id, []byte(id))
		}
		switch {
		case errors.Is(err, memory.ErrWoken):
			return r.lateWrite(ctx, s, f, id)
		case err != nil:
			return err
		case f.Epoch < before:
			return fmt.Errorf("the stretch of epoch %d wrote after %d was raised", f.Epoch, before)
		}
		r.mu.Lock()
		r.wrote++
		r.mu.Unlock()
	}
	return nil
}

func (r *race) lateWrite(ctx context.Context, s Store, f memory.Fence, id string) error {
	r.mu.Lock()
	r.woken++
	r.mu.Unlock()
	epoch, err := s.Epoch(ctx, echo)
	if err != nil {
		return err
	}
	if epoch <= f.Epoch {
		return fmt.Errorf("the stretch of epoch %d was refused although the agent's epoch is %d", f.Epoch, epoch)
	}
	if _, err := s.PutNote(ctx, echo, f, memory.LateNote+id, nil); err != nil {
		return fmt.Errorf("late note: %w", err)
	}
	if err := commit(ctx, s, memory.Write{Fence: f, Late: true}); err != nil {
		return fmt.Errorf("late write: %w", err)
	}
	return nil
}

// agrees checks the end state: every epoch raised once, every mood applied once, every digest entry returned once.
func (r *race) agrees(ctx context.Context, s Store) error {
	epoch, err := s.Epoch(ctx, echo)
	if err != nil {
		return err
	}
	affect, err := s.Affect(ctx, echo)
	if err != nil {
		return err
	}
	if err := r.look(ctx, s); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch != r.newest.Load() || len(r.raised) != int(epoch) || r.wrote == 0 || r.woken == 0 {
		return fmt.Errorf(
			"the epoch is %d, %d was the newest told, %d were raised; %d writes went through and %d did not", epoch,
			r.newest.Load(),
			len(r.raised), r.wrote, r.woken)
	}
	var before dream.Affect
	values := map[string]bool{}
	for n := int64(1); n <= epoch; n++ {
		w := r.wakes[n]
		if r.raised[n] != 1 {
			return fmt.Errorf("epoch %d was raised %d times", n, r.raised[n])
		}
		was := before.At(w.At)
		if moved := was.Distance(w.Affect); math.Abs(w.Delta-moved) > 1e-9 ||
			w.Cause == presence.Alarm && w.Delta != 0 {
			return fmt.Errorf("wake %d by %s moved %+v to %+v, with a delta of %v", n, w.Cause, was, w.Affect, w.Delta)
		}
		if w.Delta > 0 {
			before = dream.Affect{PAD: w.Affect, Since: w.At}
		}
		for _, id := range w.Digest {
			if values[id] {
				return fmt.Errorf("entry %s is in two digests", id)
			}
			values[id] = true
		}
	}
	if affect.PAD != before.PAD {
		return fmt.Errorf("the affect is %+v and the last wake left %+v", affect.PAD, before.PAD)
	}
	return nil
}

// Heedless is a store that does not check a writer's epoch: the negative control of Race.
func Heedless(s Store) Store { return heedless{s} }

type heedless struct{ Store }

func (h heedless) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	for {
		if w.Fence != (memory.Fence{}) {
			epoch, err := h.Epoch(ctx, w.Agent)
			if err != nil {
				return memory.Receipt{}, err
			}
			w.Fence.Epoch = epoch
		}
		receipt, err := h.Store.Commit(ctx, w)
		if !errors.Is(err, memory.ErrWoken) {
			return receipt, err
		}
	}
}
