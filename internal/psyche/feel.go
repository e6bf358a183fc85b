package psyche

import (
	"context"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// feelings are the moods in use: momentum and the hourly limit are this process's own, the mood itself is in the
// store.
type feelings struct {
	mu  sync.Mutex
	all map[string]*feeling
}

type feeling struct {
	mu sync.Mutex
	mood.Feeling

	read   sync.Mutex
	cached dream.Affect
	until  time.Time // when the cached affect is read again
}

// believedMood is how long a turn uses the mood that an earlier turn has read.
const believedMood = time.Second

// affect is the agent's stored mood, read at most a second ago, undecayed.
func (b *finder) affect(ctx context.Context, agent string) (dream.Affect, error) {
	f, now := b.feelings.of(agent), b.now()
	f.read.Lock()
	defer f.read.Unlock()
	if now.Before(f.until) {
		return f.cached, nil
	}
	affect, err := readOnOwnStack(func() (dream.Affect, error) { return b.Memory.Affect(ctx, agent) })
	if err == nil {
		f.cached, f.until = affect, now.Add(believedMood)
	}
	return affect, err
}

func (f *feelings) of(agent string) *feeling {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]*feeling{}
	}
	if f.all[agent] == nil {
		f.all[agent] = &feeling{}
	}
	return f.all[agent]
}

// Emotion returns how an agent feels now.
func (s *Service) Emotion(ctx context.Context, c Caller, agent string) (Emotion, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return Emotion{}, err
	}
	return s.emotion(ctx, a)
}

func (s *Service) emotion(ctx context.Context, a dream.Agent) (Emotion, error) {
	affect, err := s.Memory.Affect(ctx, a.ID)
	if err != nil {
		return Emotion{}, storeFault("read how the agent feels", err)
	}
	return s.shown(affect), nil
}

// shown is an affect decayed to the present.
func (s *Service) shown(affect dream.Affect) Emotion {
	now := mood.Settled(affect.PAD, s.o.Baseline, s.now().Sub(affect.Since))
	return Emotion{
		PAD:       now,
		Valence:   now.Pleasure,
		Intensity: now.Distance(s.o.Baseline),
		Word:      mood.Word(now),
		Since:     affect.Since,
		Cause:     affect.Cause,
	}
}

// Feel appraises an event.
func (s *Service) Feel(ctx context.Context, c Caller, agent, event string, intensity float64) (Emotion, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return Emotion{}, err
	}
	e, err := mood.EventNamed(clipped(event, 64))
	if err != nil {
		return Emotion{}, invalidRequest("unknown_event", "event", "%v.", err)
	}
	if !(intensity > 0 && intensity <= 1) {
		return Emotion{},
			invalidRequest("out_of_range", "intensity", "The intensity is %v; it must be above 0 and at most 1.", intensity)
	}
	return s.feel(ctx, a, e, intensity)
}

// feel moves the mood of an agent by an event.
func (s *Service) feel(ctx context.Context, a dream.Agent, e mood.Event, intensity float64) (Emotion, error) {
	f := s.feelings.of(a.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	affect, err := s.Memory.Affect(ctx, a.ID)
	if err != nil {
		return Emotion{}, storeFault("read how the agent feels", err)
	}
	before := f.Feeling
	if !affect.Since.Equal(before.At) || affect.PAD != before.PAD { // a dream or another process has moved it since
		before.PAD, before.At = affect.PAD, affect.Since
	}
	after, err := before.Feel(e, intensity, s.now().UTC(), s.o.Baseline)
	if err != nil {
		return Emotion{}, invalidRequest("out_of_range", "intensity", "%v.", err)
	}
	affect = dream.Affect{PAD: after.PAD, Since: after.At, Cause: "event/" + e.Name}
	if _, err := s.Memory.Commit(ctx, memory.Write{Agent: a.ID, Cause: affect.Cause, Affect: &affect}); err != nil {
		return Emotion{}, storeFault("keep how the agent feels", err)
	}
	f.Feeling = after
	return s.shown(affect), nil
}
