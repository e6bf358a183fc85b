package worlds_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/testsuite/worlds"
)

// full plays as many worlds as the published figures are of.
var full = os.Getenv("PROVE") == "full"

// figures are the sums over worlds.
type figures struct {
	worlds, nulls, falsely, trues, able, passed, soon int
	proportion                                        float64 // of false claims among those that passed, added up
	drifted, retired, delay                           int
	kept, lost                                        int // outcomes of claims that passed and hold; retired all the same

	enough int   // outcomes that a true claim must have to count as one that did not pass
	until  []int // outcomes of each true claim when it passed
	hits   int   // outcomes of claims that know nothing that came true
	tries  int   // all of them
	early  int   // true claims that were dropped before they had enough outcomes
}

// within is the number of outcomes within which a true claim is to pass.
const within = 20

func (f *figures) add(fates []*worlds.Fate) {
	f.worlds++
	passed, falsely := 0, 0
	for _, c := range fates {
		if c.HasPassed() {
			passed++
		}
		if !c.True {
			f.nulls++
			f.hits, f.tries = f.hits+c.Hits, f.tries+c.Claim.Trials()
			if c.HasPassed() {
				falsely++
			}
			continue
		}
		f.trues++
		f.kept += c.Kept
		if c.RetiredTrue {
			f.lost++
		}
		if c.Drifts {
			if c.HasPassed() && c.SinceEnd > 0 {
				f.drifted++
			}
			if c.Retired && !c.RetiredTrue {
				f.retired++
				f.delay += c.SinceEnd
			}
			continue
		}
		if c.HasPassed() {
			f.passed++
			f.until = append(f.until, c.Trials)
		}
		if c.HasPassed() && c.Trials <= within {
			f.soon++
		}
		if c.Trials >= f.enough || c.HasPassed() {
			f.able++
		} else if c.Status == dream.ClaimDropped {
			f.early++
		}
	}
	f.falsely += falsely
	if passed > 0 {
		f.proportion += float64(falsely) / float64(passed)
	}
}

func share(n, of int) float64 { return float64(n) / float64(max(1, of)) }

func (f *figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds; of %d claims that know nothing %d passed (%.2f %%); mean share of false ones %.2f %%; ",
		f.worlds, f.nulls, f.falsely, 100*share(f.falsely, f.nulls), 100*f.proportion/float64(f.worlds))
	fmt.Fprintf(&b, "of %d true ones with 20 outcomes %d passed within them (%.0f %%), of all %d %d; ",
		f.able, f.soon, 100*share(f.soon, f.able), f.trues, f.passed)
	fmt.Fprintf(&b, "of %d that stopped holding %d were retired, after %.1f outcomes; %d retired in %d outcomes while they held",
		f.drifted, f.retired, share(f.delay, f.retired), f.lost, f.kept)
	return b.String()
}

// judging is a gate that worlds are played through.
type judging struct {
	play   func(w worlds.World, inducer *worlds.Inducer) []*worlds.Fate
	enough int // outcomes that a true claim must have to count as one that did not pass
}

// through judges by the rules of claims.
func through(g worlds.Gate) judging {
	return judging{
		func(w worlds.World, inducer *worlds.Inducer) []*worlds.Fate { return worlds.Play(w, inducer, g) }, within,
	}
}

// play plays the worlds of seeds from first on.
func play(first, n int, accuracy float64, g judging) *figures {
	all, f := make([][]*worlds.Fate, n), &figures{enough: g.enough}
	var group sync.WaitGroup
	room := make(chan struct{}, 2)
	for i := range n {
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			seed := uint64(first + i)
			w := worlds.Make(seed, worlds.Options{
				Days:   60,
				Names:  24,
				Rules:  8,
				Drifts: 2,
				Rate:   .8,
				Within: 12 * time.Hour,
			})
			inducer := worlds.NewInducer(seed, accuracy, 4)
			inducer.Within = 12 * time.Hour
			all[i] = g.play(w, inducer)
		})
	}
	group.Wait()
	for _, fates := range all {
		f.add(fates)
	}
	return f
}

// played are the figures of the product's gate, each played once for all tests.
var played = struct {
	mu   sync.Mutex
	sets map[string]func() *figures
}{sets: map[string]func() *figures{}}

// playDefault plays the worlds of seeds from first on through the product's gate.
func playDefault(first, n int, accuracy float64) *figures {
	key := fmt.Sprint(first, n, accuracy)
	played.mu.Lock()
	f := played.sets[key]
	if f == nil {
		f = sync.OnceValue(func() *figures { return play(first, n, accuracy, through(worlds.Gate{})) })
		played.sets[key] = f
	}
	played.mu.Unlock()
	return f()
}

// frozen is the first seed of the worlds on which nothing was chosen. Those from built on were looked at while the
// gate's settings were.
const built, frozen = 1000, 500_000

// powerful is the accuracy of an inducer from which on the gate must find what holds. Below it there are so few rules
// among hundreds of claims that they pass later than after twenty outcomes.
const powerful = .05

// How many worlds are played with which inducers, in short and in full.
const few, many = 12, 300

var fewAccuracies, manyAccuracies = []float64{0, .05, .5}, []float64{0, .02, .05, .2, .5, .9}

func TestWhatPassesTheGateHoldsAndWhatHoldsPassesIt(t *testing.T) {
	t.Parallel()
	n, accuracies, sets := few, fewAccuracies, []int{frozen}
	if full {
		n, accuracies, sets = many, manyAccuracies, []int{built, frozen}
	}
	for _, first := range sets {
		for _, accuracy := range accuracies {
			t.Run(fmt.Sprintf("from %d, accuracy %v", first, accuracy), func(t *testing.T) {
				t.Parallel()
				f := playDefault(first, n, accuracy)
				t.Log(f)
				require.NoError(t, f.judge(accuracy))
			})
		}
	}
}

// judge checks what is promised: of claims that know nothing at most 4 % pass, with a confidence of 95 %; the mean
// share of false ones among those that pass is at most 10 %; and of true claims three quarters pass within twenty
// outcomes.
func (f *figures) judge(accuracy float64) error {
	var faults []error
	if most := claims.Chance(f.falsely, f.nulls, .95); most > .04 {
		faults = append(faults, fmt.Errorf("up to %.1f %% of claims that know nothing pass", 100*most))
	}
	if mean := f.proportion / float64(f.worlds); mean > .10 {
		faults = append(faults, fmt.Errorf("%.1f %% of the claims that pass are false", 100*mean))
	}
	power := share(f.soon, f.able)
	if !full { // few worlds: what the power is at most, with a confidence of 95 %
		power = claims.Chance(f.soon, f.able, .95)
	}
	if accuracy >= powerful && power < .75 {
		faults = append(faults, fmt.Errorf("%.1f %% of true claims pass within 20 outcomes", 100*power))
	}
	return errors.Join(faults...)
}

func TestTheGateNeedsItsDecoysAndIndependentOutcomes(t *testing.T) {
	t.Parallel()
	n := 4
	if full {
		n = 30
	}
	for name, g := range map[string]worlds.Gate{
		"chance is not measured":          {NoDecoys: true},
		"outcomes are counted repeatedly": {Dependent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := play(frozen, n, .2, through(g))
			t.Log(f)
			require.ErrorContains(t, f.judge(.2), "of claims that know nothing pass")
			require.ErrorContains(t, f.judge(.2), "of the claims that pass are false")
		})
	}
}
