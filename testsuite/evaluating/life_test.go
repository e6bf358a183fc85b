package evaluating_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// Sizes of a planted life.
const (
	lifeDays   = 90
	judgeDays  = 30 // the last of them
	lifeRules  = 6
	causeDaily = .25 // share of days on which a cause comes up
	ruleRate   = .85 // share of causes that bring their effects
	otherDaily = .15 // share of days on which a thing comes up that no rule names
	stateDaily = .6  // share of days on which the web states something
)

// lifeBegins is the first midnight of each planted life.
var lifeBegins = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// things are what comes up in a life.
var things = strings.Fields("kettle vane lantern anchor bugle cradle ferry goose hammer icicle jacket kite ladder mitten " +
	"needle orchid pebble quilt ribbon saddle teapot urchin violin walnut")

// history is the history of an agent whose truth is known.
type history struct {
	seed  uint64
	rules bool // the causes bring their effects; else these come up as often, by chance
}

// named are the things in the order of this life: causes, then their effects, then others.
func (l history) named() []string {
	named := slices.Clone(things)
	rand.New(rand.NewPCG(l.seed, 20)).Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	return named
}

// held are claims of all rules.
func (l history) held(*rand.Rand) []dream.Check {
	var all []dream.Check
	for i, cause := range l.named()[:lifeRules] {
		all = append(all, dream.Check{When: cause, Then: l.named()[i+lifeRules], Within: 12 * time.Hour})
	}
	return all
}

// madeUp are claims of pairs by chance.
func (l history) madeUp(dice *rand.Rand) []dream.Check {
	named := l.named()
	dice.Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	var all []dream.Check
	for i := range lifeRules {
		all = append(all, dream.Check{When: named[2*i], Then: named[2*i+1], Within: 12 * time.Hour})
	}
	return all
}

// items are the entries, oldest first: what a person said came up, and each day a statement from the web. Every entry
// has words of its own, by which it can be asked for.
func (l history) items(agent dream.Agent) []dream.Item {
	dice, named := rand.New(rand.NewPCG(l.seed, 21)), l.named()
	var all []dream.Item
	own := &coinage{dice: dice, taken: map[string]bool{}}
	head := func(kind dream.Kind, at time.Time, taint dream.Taint) dream.Head {
		return dream.Head{
			ID:    fmt.Sprintf("e%04d", len(all)),
			Agent: agent.ID,
			Kind:  kind,
			At:    at,
			State: dream.Live,
			Taint: taint,
		}
	}
	entry := func(thing string, at time.Time) {
		all = append(all, &dream.Episode{
			Head:     head(dream.KindEpisode, at, dream.FromHuman),
			Content:  fmt.Sprintf("There was the %s. %s %s %s came along.", thing, own.word(), own.word(), own.word()),
			Salience: .5,
		})
	}
	for day := range lifeDays {
		midnight := lifeBegins.AddDate(0, 0, day)
		between := func(from, until int) time.Time {
			return midnight.Add(time.Duration(from)*time.Hour + time.Duration(dice.Int64N(int64(until-from)*int64(time.Hour))))
		}
		for i, thing := range named {
			switch {
			case i < lifeRules:
				came := dice.Float64() < causeDaily
				if came {
					entry(thing, between(6, 10))
				}
				// Without rules effects come up on as many days, and know nothing of their causes.
				if !l.rules {
					came = dice.Float64() < causeDaily
				}
				if came && dice.Float64() < ruleRate {
					entry(named[i+lifeRules], between(11, 17))
				}
			case i >= 2*lifeRules && dice.Float64() < otherDaily:
				entry(thing, between(6, 20))
			}
		}
		if dice.Float64() >= stateDaily {
			continue
		}
		at := between(20, 22)
		all = append(all, &dream.Semantic{
			Head: head(dream.KindSemantic, at, dream.FromWeb), Strength: .25, Due: at.Add(10 * 24 * time.Hour),
			Content: fmt.Sprintf("Parliament ratified the municipal %s tariff of the %s province under the %s treaty.",
				own.word(), own.word(), own.word()),
		})
	}
	slices.SortStableFunc(all, func(a, b dream.Item) int { return a.Header().At.Compare(b.Header().At) })
	return all
}

// coinage makes words that no entry has had before.
type coinage struct {
	dice  *rand.Rand
	taken map[string]bool
}

func (c *coinage) word() string {
	const consonants, vowels = "bdfgklmnprtvz", "aeiou"
	for {
		var b strings.Builder
		for range 3 {
			b.WriteByte(consonants[c.dice.IntN(len(consonants))])
			b.WriteByte(vowels[c.dice.IntN(len(vowels))])
		}
		word := b.String() + "k"
		if !c.taken[word] {
			c.taken[word] = true
			return word
		}
	}
}

// lived stores a life and returns the agent that has lived it.
func (l history) lived(ctx context.Context, store memory.Store) (dream.Agent, error) {
	agent := sample.Diarist("planted", lifeBegins)
	if err := store.PutAgent(ctx, agent); err != nil {
		return agent, err
	}
	_, err := store.Commit(ctx, memory.Write{Agent: agent.ID, Cause: "import", Add: l.items(agent)})
	return agent, err
}
