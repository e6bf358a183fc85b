package selfcommand

import (
	"fmt"
	"strings"
	"time"
)

// clocks are the forms of a time of day.
var clocks = []string{"15:04", "3pm", "3:04pm"}

// dates are the forms of a day with a time of day, in the zone of the agent.
var dates = []string{"2006-01-02t15:04", "2006-01-02t15:04:05", "2006-01-02 15:04", "2006-01-02 3pm", "2006-01-02 3:04pm"}

// Until reads a time as a person writes it, in the zone of now: what a command may name after "until". A time of
// RFC 3339 may be as far away as one likes.
func Until(text string, now time.Time) (time.Time, error) {
	moment, err := time.Parse(time.RFC3339, text)
	if err == nil && !moment.After(now) {
		return time.Time{}, fmt.Errorf("until %q is past; it must lie ahead", short(text))
	}
	if err == nil {
		return moment, nil
	}
	return until(strings.ToLower(strings.Join(strings.Fields(text), " ")), now)
}

// until reads a time: "5pm", "17:00", "noon", "midnight", "tomorrow 9am", "2026-03-02 17:00", or ISO 8601 with a zone.
// A time of day is the next one, today or tomorrow; any other time must lie ahead, at most LongestDormancy away.
func until(text string, now time.Time) (time.Time, error) {
	moment, err := read(text, now)
	switch {
	case err != nil:
		return time.Time{}, err
	case !moment.After(now):
		return time.Time{}, fmt.Errorf("until %q is past; it must lie ahead", short(text))
	case moment.Sub(now) > LongestDormancy:
		return time.Time{}, fmt.Errorf("until %q is more than %d days away", short(text),
			LongestDormancy/(24*time.Hour))
	}
	return moment, nil
}

func read(text string, now time.Time) (time.Time, error) {
	moment, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err == nil {
		return moment.In(now.Location()), nil
	}
	for _, form := range dates {
		wall, err := time.Parse(form, text)
		if err == nil {
			return next(wall, now), nil
		}
	}
	clock, tomorrow := strings.CutPrefix(text, "tomorrow ")
	wall, ok := timeOfDay(clock)
	if !ok {
		return time.Time{}, fmt.Errorf("until %q must be a time such as 5pm, 17:00, tomorrow 9am or 2026-03-02 17:00",
			short(text))
	}
	for days := range 3 {
		if days == 0 && tomorrow {
			continue
		}
		day := time.Date(now.Year(), now.Month(), now.Day()+days, wall.Hour(), wall.Minute(), 0, 0, time.UTC)
		moment = next(day, now)
		if tomorrow || moment.After(now) {
			break
		}
	}
	return moment, nil
}

// timeOfDay reads a time of day; "5 pm" is "5pm".
func timeOfDay(text string) (time.Time, bool) {
	text = strings.ReplaceAll(text, " ", "")
	switch text {
	case "noon":
		text = "12:00"
	case "midnight":
		text = "00:00"
	}
	for _, form := range clocks {
		wall, err := time.Parse(form, text)
		if err == nil {
			return wall, true
		}
	}
	return time.Time{}, false
}

// next is the first moment after now at which the clocks of now's zone show what wall shows. When they are set back
// there may be two; of those that are past the last one is returned. When they are set forward and never show it, it
// is meant as before the change (RFC 5545, section 3.3.5): 02:30 is then what they show as 03:30.
func next(wall, now time.Time) time.Time {
	const day = 24 * time.Hour // no zone is changed twice within two days
	_, before := wall.Add(-day).In(now.Location()).Zone()
	_, after := wall.Add(day).In(now.Location()).Zone()
	wall = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
	asBefore := wall.Add(-time.Duration(before) * time.Second).In(now.Location())
	asAfter := wall.Add(-time.Duration(after) * time.Second).In(now.Location())
	switch {
	case !shows(asBefore, wall) && shows(asAfter, wall):
		return asAfter
	case shows(asBefore, wall) && shows(asAfter, wall) && !asBefore.After(now):
		return asAfter
	}
	return asBefore
}

// shows says whether the clocks show at a moment what wall shows.
func shows(moment, wall time.Time) bool {
	return moment.Format(time.DateTime) == wall.Format(time.DateTime)
}
