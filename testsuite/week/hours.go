package week

import (
	"time"
	_ "time/tzdata" // the zones are the same on every machine
)

// Hours are when an agent may dream by itself: once as a deployment configures them, and once as a plain question
// about the wall clock, so that the code under test does not judge itself.
type Hours struct {
	Name           string
	Windows, Quiet []string
	Open           func(day time.Weekday, minute int) bool

	Idle, Gap, Jitter time.Duration
}

func clock(hour, minute int) int { return 60*hour + minute }

// Kinds of hours: across midnight with a quiet part, across the hours when clocks change, other hours at weekends,
// quiet hours alone, a short window that the clock skips once a year, and none at all.
var Kinds = []Hours{
	{
		Name:    "nights",
		Windows: []string{"22:00-07:00"},
		Quiet:   []string{"02:00-03:30"},
		Idle:    30 * time.Minute,
		Gap:     16 * time.Hour,
		Jitter:  20 * time.Minute,
		Open: func(_ time.Weekday, m int) bool {
			return (m >= clock(22, 0) || m < clock(7, 0)) && (m < clock(2, 0) || m >= clock(3, 30))
		},
	},
	{
		Name:    "small hours",
		Windows: []string{"01:00-04:00"},
		Idle:    time.Hour,
		Gap:     16 * time.Hour,
		Jitter:  15 * time.Minute,
		Open:    func(_ time.Weekday, m int) bool { return m >= clock(1, 0) && m < clock(4, 0) },
	},
	{
		Name: "shifts", Windows: []string{"mon-fri 22:00-06:00", "sat,sun 00:00-10:00"}, Quiet: []string{"23:00-23:30"},
		Idle: 45 * time.Minute, Gap: 14 * time.Hour, Jitter: 10 * time.Minute,
		Open: func(d time.Weekday, m int) bool {
			works := func(d time.Weekday) bool { return d >= time.Monday && d <= time.Friday }
			open := works(d) && m >= clock(22, 0) || works((d+6)%7) && m < clock(6, 0) || !works(d) && m < clock(10, 0)
			return open && (m < clock(23, 0) || m >= clock(23, 30))
		},
	},
	{
		Name:   "quiet days",
		Quiet:  []string{"07:00-21:00"},
		Idle:   45 * time.Minute,
		Gap:    20 * time.Hour,
		Jitter: 30 * time.Minute,
		Open:   func(_ time.Weekday, m int) bool { return m < clock(7, 0) || m >= clock(21, 0) },
	},
	{
		Name:    "sliver",
		Windows: []string{"02:10-02:50"},
		Idle:    20 * time.Minute,
		Gap:     12 * time.Hour,
		Jitter:  10 * time.Minute,
		Open:    func(_ time.Weekday, m int) bool { return m >= clock(2, 10) && m < clock(2, 50) },
	},
	{
		Name: "any time", Idle: 2 * time.Hour, Gap: 9 * time.Hour, Jitter: 20 * time.Minute,
		Open: func(time.Weekday, int) bool { return true },
	},
}

// open says whether a dream may begin by itself then.
func (h Hours) open(at time.Time, zone *time.Location) bool {
	local := at.In(zone)
	return h.Open(local.Weekday(), clock(local.Hour(), local.Minute()))
}

// opens is the first whole minute from at on, or at itself, when a dream may begin.
func (h Hours) opens(at time.Time, zone *time.Location) time.Time {
	for !h.open(at, zone) {
		at = at.Truncate(time.Minute).Add(time.Minute)
	}
	return at
}

// Zones of the agents: clocks that change forward and back, north and south, by an hour and by half of one, or never.
var Zones = []string{
	"Europe/Berlin", "Australia/Sydney", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
	"Pacific/Auckland", "America/Santiago", "UTC",
}

// Turn is when the clock of a zone changes next, and by how much; where it never does, noon a month later, by
// nothing.
func Turn(zone *time.Location, after time.Time) (at time.Time, by time.Duration) {
	_, change := after.In(zone).ZoneBounds()
	if change.IsZero() {
		return after.AddDate(0, 1, 0).Truncate(24 * time.Hour).Add(12 * time.Hour), 0
	}
	_, before := change.Add(-time.Second).In(zone).Zone()
	_, then := change.In(zone).Zone()
	return change, time.Duration(then-before) * time.Second
}
