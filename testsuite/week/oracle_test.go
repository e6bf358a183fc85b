package week

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// autumn is before every zone's changes of the winter and spring that follow.
var autumn = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// perfect is a correct week.
func perfect(t *testing.T, zone string, hours Hours) (*Sleeper, *Observed, []ObservedDream) {
	t.Helper()
	s, err := sleeper("s", zone, hours, 7, autumn)
	require.NoError(t, err)
	l := &Observed{End: s.End}
	return s, l, expectedDreams(s, l)
}

func TestTheOracleAcceptsOnlyACorrectWeek(t *testing.T) {
	t.Parallel()
	for _, zone := range Zones {
		for _, hours := range Kinds {
			s, l, nights := perfect(t, zone, hours)
			require.NoError(t, s.CheckTimes(l, nights))
			require.GreaterOrEqual(t, len(nights), 6)
			for name, spoil := range map[string]func([]ObservedDream) []ObservedDream{
				"the last is missing": func(n []ObservedDream) []ObservedDream { return n[:len(n)-1] },
				"one is missing":      func(n []ObservedDream) []ObservedDream { return append(n[:2:2], n[3:]...) },
				"one is too late":     func(n []ObservedDream) []ObservedDream { n[2].Stretches = later(n[2], 2*late); return n },
				"one is too early":    func(n []ObservedDream) []ObservedDream { n[2].Stretches = later(n[2], -2*early); return n },
			} {
				_, _, spoilt := perfect(t, zone, hours)
				require.Error(t, s.CheckTimes(l, spoil(spoilt)), "%s, %s: %s", zone, hours.Name, name)
			}
		}
	}
}

// visited is a week with a client each evening, who leaves early, and an alarm during which another client connects.
func visited(t *testing.T) (*Sleeper, *Observed, []ObservedDream) {
	t.Helper()
	s, err := sleeper("s", "UTC", Kinds[5], 7, autumn)
	require.NoError(t, err)
	l := &Observed{End: s.End}
	for day := range 7 {
		at := s.Start.AddDate(0, 0, day).Add(9 * time.Hour)
		// the client stays for longer than the idle time
		came, left, alarm := at, at.Add(3*time.Hour), at.Add(8*time.Hour)
		l.Held = append(
			l.Held, Held{Who: "guest", From: came, To: left, rises: true},
			Held{Who: "guest", From: left, To: left.Add(time.Second), locks: true},
			Held{Who: "alarm/feed/rule", From: alarm, To: alarm.Add(time.Hour)},
			Held{Who: "passer-by", From: alarm.Add(30 * time.Minute), To: alarm.Add(34 * time.Minute), rises: true},
		)
		l.Actives = append(l.Actives, came, left, alarm, alarm.Add(30*time.Minute), alarm.Add(34*time.Minute))
		l.Asleep = append(l.Asleep, left.Add(3*time.Second), alarm.Add(time.Hour+time.Minute))
	}
	return s, l, expectedDreams(s, l)
}

// expectedDreams are dreams that begin exactly when they are due.
func expectedDreams(s *Sleeper, l *Observed) []ObservedDream {
	var nights []ObservedDream
	for last := (time.Time{}); ; {
		due := s.expected(l, s.Start, last, len(nights))
		if due.After(s.End) {
			return nights
		}
		last = due.Add(4 * time.Second)
		n := &dream.Record{Head: dream.Head{ID: fmt.Sprintf("dream/s/%04d", len(nights)+1)}, Run: "run"}
		nights = append(nights, ObservedDream{Record: n, Stretches: []Stretch{{From: due, To: last}}})
	}
}

func TestTheOracleUsesTheLeasesInTheStore(t *testing.T) {
	t.Parallel()
	s, l, nights := visited(t)
	require.NoError(t, s.CheckTimes(l, nights))
	require.GreaterOrEqual(t, len(nights), 7)
	idle := s.Hours.Idle + circadian.Jitter(s.Agent.ID, 1, s.Hours.Jitter)
	require.Equal(t, l.Asleep[0].Add(idle), nights[1].Begin(), "idleness counts from when it fell asleep")
	for name, spoil := range map[string]func(*Sleeper, *Observed){
		"it never falls asleep again": func(_ *Sleeper, l *Observed) { l.Asleep = l.Asleep[1:] },
		"it falls asleep while it is held": func(_ *Sleeper, l *Observed) {
			l.Asleep[1] = l.Asleep[1].Add(-time.Hour / 2)
		},
		"it falls asleep too late": func(_ *Sleeper, l *Observed) { l.Asleep[0] = l.Asleep[0].Add(2 * late) },
		"it falls asleep without being awake": func(_ *Sleeper, l *Observed) {
			l.Asleep = append(l.Asleep, l.Asleep[0].Add(time.Hour))
		},
		"it does not wait until it was idle": func(s *Sleeper, _ *Observed) { s.Hours.Idle += 2 * early },
	} {
		judge, lived, _ := visited(t)
		spoil(judge, lived)
		require.Error(t, judge.CheckTimes(lived, nights), name)
	}
	l.Asleep[0], l.Held[1].behind = l.Asleep[0].Add(2*late), 2*late
	require.NoError(t, s.CheckTimes(l, expectedDreams(s, l)), "the server skipped while the client was leaving")
}

func later(n ObservedDream, by time.Duration) []Stretch {
	return []Stretch{{From: n.Stretches[0].From.Add(by), To: n.Stretches[0].To.Add(by)}}
}

func TestTheNightThatSkipsItsHourHasNoDream(t *testing.T) {
	t.Parallel()
	s, _, nights := perfect(t, "Europe/Berlin", Kinds[4])
	require.Equal(t, "sliver", s.Hours.Name)
	require.Equal(t, time.Hour, s.TurnBy)
	var days []string
	for _, n := range nights {
		days = append(days, n.Begin().In(s.Zone).Format("Mon 02.01."))
	}
	require.Equal(t, []string{"Thu 25.03.", "Fri 26.03.", "Sat 27.03.", "Mon 29.03.", "Tue 30.03.", "Wed 31.03."}, days)
}

func TestDreamHoursAgreeWithTheWallClock(t *testing.T) {
	t.Parallel()
	for _, name := range Zones {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		turn, _ := Turn(zone, autumn)
		for _, hours := range Kinds {
			windows, err := circadian.ParseHours(hours.Windows)
			require.NoError(t, err)
			quiet, err := circadian.ParseHours(hours.Quiet)
			require.NoError(t, err)
			for at := turn.AddDate(0, 0, -4); at.Before(turn.AddDate(0, 0, 4)); at = at.Add(5 * time.Minute) {
				open, _ := circadian.Open(at, zone, windows, quiet)
				require.Equal(t, hours.open(at, zone), open, "%s at %s", hours.Name, at.In(zone))
			}
		}
	}
}

func TestInconsistentEventsAreFound(t *testing.T) {
	t.Parallel()
	record := func(id string) *dream.Record {
		return &dream.Record{Head: dream.Head{ID: id}, Run: "run", Outcome: dream.Completed}
	}
	tell := func(payloads ...any) []event.Event {
		var events []event.Event
		for i := 0; i < len(payloads); i += 2 {
			e := event.New(fmt.Sprint(i), "a", payloads[i].(string), autumn.Add(time.Duration(i)*time.Minute),
				payloads[i+1].(event.Payload))
			e.Seq = int64(len(events) + 1)
			events = append(events, e)
		}
		return events
	}
	started, ended := event.DreamStarted{}, event.DreamEnded{Outcome: dream.Completed}
	woken, resumed := event.DreamInterrupted{}, event.DreamResumed{}
	two := []*dream.Record{record("one"), record("two")}
	nights, err := Reconstruct(two,
		tell("one", started, "one", woken, "one", resumed, "one", ended, "two", started, "two", ended))
	require.NoError(t, err)
	require.Len(t, nights[0].Stretches, 2)
	for name, events := range map[string][]event.Event{
		"two at once":        tell("one", started, "two", started, "one", ended, "two", ended),
		"one without an end": tell("one", started, "one", ended, "two", started),
		"one ends twice":     tell("one", started, "one", ended, "one", ended, "two", started, "two", ended),
		"one is never begun": tell("one", started, "one", ended, "two", ended),
		"one goes on meanwhile": tell("one", started, "one", woken, "two", started, "one", resumed, "one", ended,
			"two", ended),
		"another one is woken": tell("one", started, "two", woken, "one", ended, "two", started, "two", ended),
		"it ends another way": tell("one", started, "one", event.DreamEnded{Outcome: dream.Aborted}, "two",
			started, "two", ended),
		"nothing is told of one":   tell("two", started, "two", ended),
		"the last one never ended": tell("one", started, "one", ended, "two", started, "two", woken),
	} {
		_, err := Reconstruct(two, events)
		require.Error(t, err, name)
	}
}
