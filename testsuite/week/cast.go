package week

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Sleeper is one agent and the days it is to live.
type Sleeper struct {
	Agent      dream.Agent
	Zone       *time.Location
	Hours      Hours
	Start, End time.Time     // noon by its clock on the wall
	Turn       time.Time     // when its clock is changed in between
	TurnBy     time.Duration // 0: never

	Visits      []Visit       // by time
	Connections []*Connection // in the midst of dreams, by dream
	Restless    bool          // its life does not wait until it has been idle for long enough: the judge must see that
	// whether anybody comes while it dreams: then the ledger may count more than the till took
	Visited bool
}

// Visit is somebody who comes, or an alarm, at a time when the agent does not dream.
type Visit struct {
	At    time.Time
	Who   string
	Cause presence.Cause
	For   time.Duration // how long the lease holds
	Stays time.Duration // 0: it never says that it leaves
}

// Manner is what a knock in the midst of a dream is followed by.
type Manner string

// The manners.
const (
	Briefly Manner = "briefly"  // leaves at once; the dream goes on
	ForLong Manner = "for long" // stays longer than the dream may wait; it ends
	AsAlarm Manner = "as an alarm"
)

// Connection comes while an agent dreams: at the first call of its n-th dream whose step contains At.
type Connection struct {
	Dream  int
	At     string
	Manner Manner

	met chan string // the dream, when it is there
}

// Cast draws that many agents, each with its zone, hours and visitors. The same seed draws the same.
func Cast(seed uint64, agents, days int, now time.Time) ([]*Sleeper, error) {
	dice := rand.New(rand.NewPCG(seed, 0))
	cast := make([]*Sleeper, agents)
	for i := range cast {
		s, err := sleeper(fmt.Sprintf("s%03d", i), Zones[i%len(Zones)], Kinds[(i+i/len(Zones))%len(Kinds)], days, now)
		if err != nil {
			return nil, err
		}
		if i%3 == 2 {
			s.Agent.Tier = dream.Core
		}
		s.people(dice, i, days)
		cast[i] = s
	}
	return cast, nil
}

// Hermits are agents whom nobody visits and whose nights are far apart, of a kind whose hours come every day.
func Hermits(agents int, now time.Time) ([]*Sleeper, error) {
	cast := make([]*Sleeper, agents)
	for i := range cast {
		s, err := sleeper(fmt.Sprintf("h%03d", i), Zones[i%len(Zones)], Kinds[i%2], 7, now)
		if err != nil {
			return nil, err
		}
		s.Agent.Tier = dream.Core
		cast[i] = s
	}
	return cast, nil
}

// sleeper is an agent whose days lie around the next change of its clock.
func sleeper(name, in string, hours Hours, days int, now time.Time) (*Sleeper, error) {
	zone, err := time.LoadLocation(in)
	if err != nil {
		return nil, err
	}
	s := &Sleeper{Zone: zone, Hours: hours}
	s.Turn, s.TurnBy = Turn(zone, now.AddDate(0, 0, days))
	turn := s.Turn.In(zone)
	s.Start = time.Date(turn.Year(), turn.Month(), turn.Day()-(days+1)/2, 12, 0, 0, 0, zone)
	s.End = s.Start.AddDate(0, 0, days)
	s.Agent = dream.Agent{
		ID:      "id-" + name,
		Handle:  name,
		Zone:    zone.String(),
		Tier:    dream.Hardened,
		Auto:    true,
		Persona: "Keeps a diary of small things.",
		Caps:    dream.Caps{Dream: budget.Dollar / 10, Day: budget.Dollar / 2, Month: 10 * budget.Dollar},
		Created: now,
	}
	return s, nil
}

// people decides who comes: to a quarter of the agents nobody, to a quarter visitors by day and night, to a quarter
// knocks in the midst of dreams, to a quarter alarms. Of those that nobody visits, some can hardly pay.
func (s *Sleeper) people(dice *rand.Rand, i, days int) {
	first, last := 1, max(2, days-2)
	switch i % 4 {
	case 0:
		if i%8 == 4 {
			s.Agent.Caps = dream.Caps{Dream: budget.Dollar / 25, Day: budget.Dollar / 25, Month: budget.Dollar}
		}
	case 1:
		s.visits(dice, days, presence.Connect)
	case 2:
		s.Visited = true
		s.Connections = []*Connection{
			{Dream: first, At: s.shallow(), Manner: Briefly},
			{Dream: last, At: s.deep(), Manner: ForLong},
		}
	case 3:
		s.Visited = true
		s.visits(dice, days, presence.Alarm)
		s.Connections = []*Connection{{Dream: first, At: s.shallow(), Manner: AsAlarm}}
		if i%8 == 7 {
			s.Connections = append(s.Connections, &Connection{Dream: last, At: s.shallow(), Manner: Briefly})
		}
	}
	for _, k := range s.Connections {
		k.met = make(chan string, 1)
		s.Hours.Jitter = 0 // a dream that waits goes on in step with the wall
	}
}

// shallow is a step of the onset, and deep one of the dream that follows it; an agent of the core tier has the first
// step only.
func (s *Sleeper) shallow() string {
	if s.Agent.Tier == dream.Hardened {
		return "/onset/1/partial-"
	}
	return "/onset/induction#"
}

func (s *Sleeper) deep() string {
	if s.Agent.Tier == dream.Hardened {
		return "/rem/branch-"
	}
	return "/onset/induction#"
}

// visits draws about two a day, some of them overlapping.
func (s *Sleeper) visits(dice *rand.Rand, days int, cause presence.Cause) {
	for d := range days {
		for n := range 1 + dice.IntN(2) {
			v := Visit{
				At:  s.Start.Add(time.Duration(d)*24*time.Hour + time.Duration(dice.Int64N(int64(22*time.Hour)))),
				Who: fmt.Sprintf("guest-%d", n), Cause: cause,
				For: 5*time.Minute + time.Duration(dice.Int64N(int64(3*time.Hour))),
			}
			if cause == presence.Alarm {
				v.Who, v.For = "alarm/feed/rule", min(v.For, time.Hour)
				// somebody looks in while the alarm holds the agent awake: the wake is the alarm's
				if dice.IntN(2) == 0 {
					s.Visits = append(s.Visits, Visit{
						At:    v.At.Add(v.For / 2),
						Who:   "passer-by",
						Cause: presence.Connect,
						For:   v.For,
						Stays: 4 * time.Minute,
					})
				}
			} else if dice.IntN(2) == 0 {
				v.Stays = v.For / 2
			}
			s.Visits = append(s.Visits, v)
		}
	}
	slices.SortFunc(s.Visits, func(a, b Visit) int { return a.At.Compare(b.At) })
}
