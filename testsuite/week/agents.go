package week

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Sleeper is one agent and what is to happen to it on its days.
type Sleeper struct {
	Agent      dream.Agent
	Zone       *time.Location
	Hours      Hours
	Start, End time.Time     // noon by its wall clock
	Turn       time.Time     // when its wall clock changes in between
	TurnBy     time.Duration // 0: never

	Visits      []Visit       // by time
	Connections []*Connection // during dreams, by dream
	Restless    bool          // its workflow does not wait for the idle time: the judge must notice
	// whether a client comes while it dreams: then the ledger may count more than the provider billed
	Visited bool
}

// Visit is a client that connects, or an alarm, while the agent does not dream.
type Visit struct {
	At    time.Time
	Who   string
	Cause presence.Cause
	For   time.Duration // how long the lease holds
	Stays time.Duration // 0: it never disconnects
}

// Manner is what follows a connect during a dream.
type Manner string

// The manners.
const (
	Briefly Manner = "briefly"  // leaves at once; the dream resumes
	ForLong Manner = "for long" // stays longer than the dream may wait; it ends
	AsAlarm Manner = "as an alarm"
)

// Connection is a client that comes while an agent dreams: at the first call of its n-th dream whose step contains
// At.
type Connection struct {
	Dream  int
	At     string
	Manner Manner

	reached chan string // receives the id of the dream when it is there
}

// DrawAgents draws that many agents, each with its zone, hours and clients. The same seed draws the same.
func DrawAgents(seed uint64, agents, days int, now time.Time) ([]*Sleeper, error) {
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
		s.drawVisits(dice, i, days)
		cast[i] = s
	}
	return cast, nil
}

// UnvisitedAgents are agents without clients whose dreams are far apart, with dream hours on every day.
func UnvisitedAgents(agents int, now time.Time) ([]*Sleeper, error) {
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

// sleeper is an agent whose days lie around the next change of its wall clock.
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

// drawVisits decides who comes: a quarter of the agents gets no client, a quarter clients by day and night, a quarter
// connects during dreams, a quarter alarms. Of those without clients some can hardly pay.
func (s *Sleeper) drawVisits(dice *rand.Rand, i, days int) {
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
		k.reached = make(chan string, 1)
		s.Hours.Jitter = 0 // a waiting dream runs in real time
	}
}

// shallow is a step of the onset, and deep one of the dream that follows it; an agent of the core tier has only the
// first step.
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
				// a client connects while the alarm holds the agent awake: the wake is the alarm's
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
