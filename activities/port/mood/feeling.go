package mood

import (
	"errors"
	"math"
	"time"
)

// How a mood returns to its baseline; our choice. That arousal decays sooner than pleasure follows the durations
// reported by Verduyn and others (2009, 2015); in ALMA a whole mood returns in twenty minutes.
const (
	PleasureHalf  = time.Hour
	ArousalHalf   = 20 * time.Minute
	DominanceHalf = time.Hour
)

// Limits against self-reinforcing moods. Our choice.
const (
	// Bound is the most that the events of one hour may move an axis in one direction.
	Bound    = .6
	window   = time.Hour
	momentum = .25              // share of the recent drift that is added to an event in the same direction
	driftFor = 10 * time.Minute // half-life of the drift
	keptFor  = time.Minute      // pushes within this time are stored as one, with the later time
)

// Feeling is a mood with its recent history.
type Feeling struct {
	PAD
	At     time.Time
	Drift  PAD    // recent movement
	Pushes []Push // of the last hour, oldest first; at most one per minute
}

// Push is how far events have moved a mood, up and down per axis.
type Push struct {
	At       time.Time
	Up, Down PAD // not negative
}

// Settled is a mood after some time without events: every axis decays toward the baseline.
func Settled(m, baseline PAD, after time.Duration) PAD {
	after = max(after, 0)
	axis := func(v, to float64, half time.Duration) float64 {
		left := math.Exp2(-float64(after) / float64(half))
		return within(to + (v-to)*left)
	}
	return PAD{
		axis(m.Pleasure, baseline.Pleasure, PleasureHalf), axis(m.Arousal, baseline.Arousal, ArousalHalf),
		axis(m.Dominance, baseline.Dominance, DominanceHalf),
	}
}

// Feel is the feeling after an event with an intensity in (0, 1]. Time that runs backwards counts as none.
func (f Feeling) Feel(e Event, intensity float64, now time.Time, baseline PAD) (Feeling, error) {
	if !(intensity > 0 && intensity <= 1) {
		return f, errors.New("the intensity of an event must be above 0 and at most 1")
	}
	if now.Before(f.At) {
		now = f.At
	}
	passed := now.Sub(f.At)
	if f.At.IsZero() {
		passed = 0
	}
	f.PAD = Settled(f.PAD, baseline, passed)
	fading := math.Exp2(-float64(passed) / float64(driftFor))
	pushes := recentPushes(f.Pushes, now)
	var up, down PAD
	for _, p := range pushes {
		up, down = plus(up, p.Up), plus(down, p.Down)
	}
	push := Push{At: now}
	move := func(v *float64, drift *float64, by, up, down float64, ups, downs *float64) {
		*drift *= fading
		by *= intensity
		if by**drift > 0 {
			by += momentum * *drift
		}
		spent, to := up, ups
		if by < 0 {
			spent, to = down, downs
		}
		// the more of the hour's bound is used up, the less an event moves
		by *= max(0, 1-spent/Bound)
		by = math.Copysign(min(math.Abs(by), max(0, Bound-spent)), by)
		*v, *drift, *to = within(*v+by), by, math.Abs(by)
	}
	move(&f.Pleasure, &f.Drift.Pleasure, e.Move.Pleasure, up.Pleasure, down.Pleasure, &push.Up.Pleasure,
		&push.Down.Pleasure)
	move(&f.Arousal, &f.Drift.Arousal, e.Move.Arousal, up.Arousal, down.Arousal, &push.Up.Arousal, &push.Down.Arousal)
	move(&f.Dominance, &f.Drift.Dominance, e.Move.Dominance, up.Dominance, down.Dominance, &push.Up.Dominance,
		&push.Down.Dominance)
	f.At, f.Pushes = now, pushed(pushes, push)
	return f, nil
}

func recentPushes(pushes []Push, now time.Time) []Push {
	var out []Push
	for _, p := range pushes {
		if now.Sub(p.At) < window {
			out = append(out, p)
		}
	}
	return out
}

// pushed adds a push; one within the same minute as the last is merged with it.
func pushed(pushes []Push, p Push) []Push {
	if n := len(pushes); n > 0 && p.At.Truncate(keptFor).Equal(pushes[n-1].At.Truncate(keptFor)) {
		pushes[n-1] = Push{p.At, plus(pushes[n-1].Up, p.Up), plus(pushes[n-1].Down, p.Down)}
		return pushes
	}
	return append(pushes, p)
}

func plus(a, b PAD) PAD {
	return PAD{a.Pleasure + b.Pleasure, a.Arousal + b.Arousal, a.Dominance + b.Dominance}
}

func within(v float64) float64 { return math.Max(-1, math.Min(1, v)) }
